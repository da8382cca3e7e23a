// SPDX-License-Identifier: GPL-2.0-only
#include "util/file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/number.hpp"

namespace nocma
{

namespace
{

UniqueFd open_or_throw(const std::filesystem::path &path, int flags, mode_t mode = 0)
{
	UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));

	if (!fd)
		throw SystemError("open", path.native(), errno);
	return fd;
}

void write_all(const UniqueFd &fd, const std::filesystem::path &path, std::string_view text)
{
	while (!text.empty()) {
		const ssize_t written = ::write(fd.get(), text.data(), text.size());

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			throw SystemError("write", path.native(), errno);
		text.remove_prefix(static_cast<std::size_t>(written));
	}
}

} // namespace

std::string read_file(const std::filesystem::path &path)
{
	const UniqueFd fd = open_or_throw(path, O_RDONLY);
	std::string text;
	std::array<char, 65536> buffer{};

	for (;;) {
		const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			throw SystemError("read", path.native(), errno);
		if (got == 0)
			return text;
		text.append(buffer.data(), static_cast<std::size_t>(got));
	}
}

std::optional<std::string> try_read_file(const std::filesystem::path &path)
{
	try {
		return read_file(path);
	} catch (const SystemError &) {
		return std::nullopt;
	}
}

std::uint64_t read_number(const std::filesystem::path &path)
{
	const std::string text = read_file(path);
	std::string_view digits = trim(text);
	int base = 10;

	if (digits.starts_with("0x")) {
		digits.remove_prefix(2);
		base = 16;
	}
	const std::optional<std::uint64_t> value = parse_number(digits, base);
	if (!value)
		throw Error(fmt::format("{}: not a number: '{}'", path.native(), trim(text)));
	return *value;
}

void write_existing(const std::filesystem::path &path, std::string_view text)
{
	const UniqueFd fd = open_or_throw(path, O_WRONLY | O_TRUNC);

	write_all(fd, path, text);
}

void write_atomic(const std::filesystem::path &path, std::string_view text)
{
	std::string name = path.native() + ".XXXXXX";
	const UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));

	if (!fd)
		throw SystemError("create", name, errno);
	try {
		write_all(fd, name, text);
		if (::fchmod(fd.get(), 0644) < 0)
			throw SystemError("fchmod", name, errno);
		if (::fsync(fd.get()) < 0)
			throw SystemError("fsync", name, errno);
		if (::rename(name.c_str(), path.c_str()) < 0)
			throw SystemError("rename", path.native(), errno);
	} catch (...) {
		::unlink(name.c_str());
		throw;
	}
}

void write_output(const std::filesystem::path &path, std::string_view text)
{
	std::error_code missing;
	const std::filesystem::file_status status = std::filesystem::symlink_status(path, missing);

	if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
		write_existing(path, text);
	else
		write_atomic(path, text);
}

std::vector<std::string> split_lines(std::string_view text)
{
	std::vector<std::string> lines = split(text, '\n');

	if (!lines.empty() && lines.back().empty())
		lines.pop_back();
	return lines;
}

std::vector<std::string> split(std::string_view text, char separator)
{
	std::vector<std::string> parts;

	for (;;) {
		const std::size_t end = text.find(separator);

		parts.emplace_back(text.substr(0, end));
		if (end == std::string_view::npos)
			return parts;
		text.remove_prefix(end + 1);
	}
}

std::string_view trim(std::string_view text)
{
	constexpr std::string_view blanks = " \t\r\n";
	const std::size_t begin = text.find_first_not_of(blanks);

	if (begin == std::string_view::npos)
		return {};
	return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

TempDir::TempDir(std::string_view prefix)
{
	std::string name =
		(std::filesystem::temp_directory_path() / fmt::format("{}.XXXXXX", prefix))
			.native();

	if (::mkdtemp(name.data()) == nullptr)
		throw SystemError("mkdtemp", name, errno);
	path_ = name;
}

TempDir::~TempDir()
{
	std::error_code ignored;

	std::filesystem::remove_all(path_, ignored);
}

} // namespace nocma
