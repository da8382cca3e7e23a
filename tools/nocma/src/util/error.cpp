// SPDX-License-Identifier: GPL-2.0-only
#include "util/error.hpp"

#include <system_error>

#include <fmt/format.h>

namespace nocma
{

std::string errno_text(int error)
{
	return std::generic_category().message(error);
}

SystemError::SystemError(std::string_view call, std::string_view path, int error)
	: Error(path.empty() ? fmt::format("{}: {}", call, errno_text(error))
			     : fmt::format("{} {}: {}", call, path, errno_text(error))),
	  error_(error)
{
}

} // namespace nocma
