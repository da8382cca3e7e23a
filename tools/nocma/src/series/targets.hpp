/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nocma::series
{

/* One line of patches/targets.conf; the file explains its columns. */
struct Target {
	std::string name;
	std::string package;		   /* empty: no Debian package */
	std::vector<std::string> versions; /* "6.12": VERSION.PATCHLEVEL */
	std::vector<std::string> suites;
	std::string status;
	std::string note;

	/* A series exists, it is not merely planned. */
	[[nodiscard]] bool ready() const { return status == "ready"; }
};

/* Throws UsageError with `name` and the line's number when a line is malformed. */
std::vector<Target> parse_targets(std::string_view text, std::string_view name);

/* DIR/targets.conf. Throws UsageError that says where patches are looked for. */
std::vector<Target> load_targets(const std::filesystem::path &patches);

/* Throw UsageError that lists what is served. */
const Target &find_target(const std::vector<Target> &targets, std::string_view name);
const Target &target_for_version(const std::vector<Target> &targets, std::string_view version);

/*
 * The target that serves a running kernel by its release ("6.12.94-amd64"), or nullptr. As
 * patches/targets.conf was when nocma was built: it has to work where no patches are.
 */
const Target *served_target(std::string_view release);

/* The text of patches/targets.conf, built in. */
extern const std::string_view built_in_targets;

} // namespace nocma::series
