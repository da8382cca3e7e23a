/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace nocma
{

/* Sets a module parameter (or any other file of one line) and puts the old value back. */
class SavedParameter
{
public:
	/* Throws SystemError when the file cannot be read or written. */
	SavedParameter(std::filesystem::path file, std::string_view value);
	SavedParameter(const SavedParameter &) = delete;
	SavedParameter &operator=(const SavedParameter &) = delete;
	SavedParameter(SavedParameter &&) = delete;
	SavedParameter &operator=(SavedParameter &&) = delete;
	~SavedParameter();

private:
	std::filesystem::path file_;
	std::string saved_;
};

std::filesystem::path parameter_file(std::string_view module, std::string_view name);

/* All readable parameters of a loaded module; empty when it has none. */
std::map<std::string, std::string> read_parameters(std::string_view module,
						   const std::filesystem::path &sys = "/sys");

} // namespace nocma
