// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/kernel_log.hpp"

#include <array>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/file.hpp"
#include "util/number.hpp"

namespace nocma
{

namespace
{

/* Facility and level share a number. */
constexpr unsigned int level_mask = 7;

std::uint64_t number(std::string_view field, std::string_view record)
{
	const std::optional<std::uint64_t> value = parse_number(field);

	if (!value)
		throw Error(fmt::format("kernel log: '{}' is no record", record));
	return *value;
}

} // namespace

LogRecord parse_log_record(std::string_view text)
{
	const std::size_t end = text.find(';');
	const std::vector<std::string> fields = split(text.substr(0, end), ',');

	if (end == std::string_view::npos || fields.size() < 3)
		throw Error(fmt::format("kernel log: '{}' is no record", text));
	/* After the first line come the properties of the device, if it was about one. */
	const std::string_view message = text.substr(end + 1);
	return {.level = static_cast<unsigned int>(number(fields[0], text)) & level_mask,
		.sequence = number(fields[1], text),
		.text = std::string(message.substr(0, message.find('\n')))};
}

std::vector<LogRecord> read_kernel_log(const std::filesystem::path &path)
{
	const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	std::vector<LogRecord> records;
	std::array<char, 8192> buffer{};

	if (!fd)
		throw SystemError("open", path.native(), errno);
	for (;;) {
		/* One record each time. */
		const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());

		if (got > 0)
			records.push_back(
				parse_log_record({buffer.data(), static_cast<std::size_t>(got)}));
		else if (got == 0 || errno == EAGAIN)
			return records;
		else if (errno != EINTR && errno != EPIPE) /* EPIPE: overtaken, go on */
			throw SystemError("read", path.native(), errno);
	}
}

} // namespace nocma
