// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/parameters.hpp"

#include <optional>
#include <system_error>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

SavedParameter::SavedParameter(std::filesystem::path file, std::string_view value)
	: file_(std::move(file)), saved_(read_file(file_))
{
	write_existing(file_, value);
}

SavedParameter::~SavedParameter()
{
	try {
		write_existing(file_, saved_);
	} catch (const Error &) {
		/* The module has gone, and its parameter with it. */
	}
}

std::filesystem::path parameter_file(std::string_view module, std::string_view name)
{
	return std::filesystem::path("/sys/module") / module / "parameters" / name;
}

std::map<std::string, std::string> read_parameters(std::string_view module,
						   const std::filesystem::path &sys)
{
	std::map<std::string, std::string> parameters;
	std::error_code missing;

	for (const std::filesystem::directory_entry &entry :
	     std::filesystem::directory_iterator(sys / "module" / module / "parameters", missing)) {
		const std::optional<std::string> value = try_read_file(entry.path());

		if (value)
			parameters[entry.path().filename()] = trim(*value);
	}
	return parameters;
}

} // namespace nocma
