/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nocma
{

/* The whole file; works for /proc and /sys, whose sizes read as 0. Throws SystemError. */
std::string read_file(const std::filesystem::path &path);

/* As read_file(), but nothing when the file cannot be opened or read. */
std::optional<std::string> try_read_file(const std::filesystem::path &path);

/* One unsigned number, decimal or with 0x; throws Error naming the file when it is none. */
std::uint64_t read_number(const std::filesystem::path &path);

/* write(2) of the text to an existing file (sysfs, debugfs): never creates one. */
void write_existing(const std::filesystem::path &path, std::string_view text);

/* Replaces the file atomically: a temporary beside it, fsync, rename. */
void write_atomic(const std::filesystem::path &path, std::string_view text);

/*
 * A file that a user named for a result: replaced atomically if it is a regular one or not there.
 * Anything else (a device, a pipe, /dev/stdout) is written to, for rename() would put a file in its
 * place.
 */
void write_output(const std::filesystem::path &path, std::string_view text);

std::vector<std::string> split_lines(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/* A directory under TMPDIR that goes away, contents included, with the object. */
class TempDir
{
public:
	explicit TempDir(std::string_view prefix);
	TempDir(const TempDir &) = delete;
	TempDir &operator=(const TempDir &) = delete;
	TempDir(TempDir &&) = delete;
	TempDir &operator=(TempDir &&) = delete;
	~TempDir();

	[[nodiscard]] const std::filesystem::path &path() const noexcept { return path_; }

private:
	std::filesystem::path path_;
};

} // namespace nocma
