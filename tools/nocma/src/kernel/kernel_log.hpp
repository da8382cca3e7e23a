/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nocma
{

/* A message of the kernel's; level 3 is an error, 5 a notice, 6 an info. */
struct LogRecord {
	static constexpr unsigned int error = 3;

	unsigned int level = 0;
	std::uint64_t sequence = 0;
	std::string text;
};

/* A record as /dev/kmsg gives it: "priority,sequence,time,flags;text". Throws Error. */
LogRecord parse_log_record(std::string_view text);

/*
 * All that the kernel still has; when the first one's sequence is not 0, older ones are lost.
 * Throws SystemError, for want of permission most often.
 */
std::vector<LogRecord> read_kernel_log(const std::filesystem::path &path = "/dev/kmsg");

} // namespace nocma
