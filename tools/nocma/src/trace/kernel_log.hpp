/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace nocma::trace
{

/* What a line of a kernel's log says about contiguous memory or huge pages. */
enum class Finding : std::uint8_t {
	busy_range,	    /* CMA gave a range up: a page in it could not be moved */
	cma_busy,	    /* an allocation failed after all ranges were tried */
	cma_exhausted,	    /* an allocation failed, no free range is that long */
	cma_too_big,	    /* more than the whole area was asked for */
	cma_failed,	    /* another error */
	swiotlb_too_big,    /* more than one bounce buffer can ever hold */
	swiotlb_exhausted,  /* all, or too many, bounce buffers in use */
	swiotlb_fragmented, /* enough are free, not in one run */
	swiotlb_full,	    /* this kernel does not print how many are in use */
	tmpfs_no_huge,	    /* tmpfs does not take huge=: no huge pages on this machine */
	huge_in_use,
	huge_advised, /* a driver wanted them and did not get them */
};

struct FindingCount {
	Finding finding;
	std::string source; /* device, driver or area that the lines name; may be empty */
	std::uint64_t lines = 0;
	std::string example; /* the first of the lines, without its time */
};

struct KernelLog {
	std::uint64_t lines = 0; /* that are a kernel's log, whatever they say */
	std::vector<FindingCount> findings;

	[[nodiscard]] bool has(Finding finding) const;
};

/* dmesg, journalctl -k, or lines cut out of either. */
KernelLog parse_kernel_log(std::string_view text);

/* "busy sweep", "exhausted" and so on, in a sentence each, with what removes it. */
std::vector<std::string> verdicts(const KernelLog &log);

std::string to_text(const KernelLog &log);

/* Members of "nocma-trace-1" of the kind "kernel_log". */
nlohmann::json to_json(const KernelLog &log);

} // namespace nocma::trace
