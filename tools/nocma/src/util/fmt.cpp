// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debian ships libfmt as a shared library only, and nocma is static. The header-only variant
 * would compile the library into every file, which triples the build time: here it is compiled
 * once, with the instantiations that the headers declare as external.
 */
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail
{

template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char *, const char *);
template void vformat_to(buffer<char> &, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
			 locale_ref);

} // namespace detail
FMT_END_NAMESPACE
