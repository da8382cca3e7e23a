// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/smaps.hpp"

#include <charconv>
#include <optional>
#include <string>

#include "util/file.hpp"

namespace nocma
{

namespace
{

/* Whether the address is in the mapping that the line heads, "55d0-55e0 rw-p ..."; no head: none.
 */
std::optional<bool> heads(std::string_view line, std::uint64_t address)
{
	constexpr int hexadecimal = 16;
	const char *const end = line.data() + line.size();
	std::uint64_t first = 0;
	std::uint64_t last = 0;
	const auto [dash, error] = std::from_chars(line.data(), end, first, hexadecimal);

	if (error != std::errc() || dash == end || *dash != '-' ||
	    std::from_chars(dash + 1, end, last, hexadecimal).ec != std::errc())
		return std::nullopt;
	return address >= first && address < last;
}

} // namespace

Counters parse_smaps(std::string_view text, std::uint64_t address)
{
	std::string fields;
	bool inside = false;

	for (const std::string &line : split_lines(text)) {
		if (const std::optional<bool> head = heads(line, address))
			inside = *head;
		else if (inside && line.ends_with(" kB"))
			fields += line + '\n';
	}
	return parse_meminfo(fields);
}

Counters read_smaps(const void *address, const std::filesystem::path &proc)
{
	return parse_smaps(read_file(proc / "self/smaps"),
			   reinterpret_cast<std::uint64_t>(address));
}

} // namespace nocma
