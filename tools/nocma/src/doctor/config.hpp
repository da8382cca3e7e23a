/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nocma::doctor
{

/* A kernel's .config. */
class KernelConfig
{
public:
	KernelConfig(std::string_view text, std::string source);

	/* "y", "m", a number or a string without its quotes; nothing when it is not set. */
	[[nodiscard]] std::optional<std::string> value(std::string_view option) const;
	/* y or m */
	[[nodiscard]] bool has(std::string_view option) const;
	/* The file it was read from. */
	[[nodiscard]] const std::string &source() const noexcept { return source_; }

private:
	std::map<std::string, std::string, std::less<>> values_;
	std::string source_;
};

/* What gzip packed. Throws Error that names `name` when it is damaged. */
std::string gunzip(std::string_view data, std::string_view name);

/* Of the running kernel: /proc/config.gz, else where distributions put it; below `root`. */
std::optional<KernelConfig> read_config(const std::filesystem::path &root,
					const std::string &release);

} // namespace nocma::doctor
