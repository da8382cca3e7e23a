// SPDX-License-Identifier: GPL-2.0-only
#include "guest/shell.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace nocma::guest
{

namespace
{

bool is_plain(const std::string &word)
{
	constexpr std::string_view harmless = "-_./=,:";

	return !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char c) {
		return std::isalnum(c) != 0 || harmless.find(static_cast<char>(c)) != harmless.npos;
	});
}

std::string quoted(const std::string &word)
{
	std::string text = "'";

	for (const char c : word)
		if (c == '\'')
			text += "'\\''";
		else
			text += c;
	return text + "'";
}

} // namespace

std::string shell_line(const std::vector<std::string> &words)
{
	std::string line;

	for (const std::string &word : words) {
		if (!line.empty())
			line += ' ';
		line += is_plain(word) ? word : quoted(word);
	}
	return line;
}

} // namespace nocma::guest
