/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "trace/call_tree.hpp"

namespace nocma::trace
{

struct FunctionFigures {
	std::string name;
	std::uint64_t calls = 0;
	std::uint64_t unfinished = 0; /* of the calls; they have no duration */
	/* Of the finished calls, nothing without one. */
	std::optional<std::chrono::nanoseconds> total;
	std::optional<std::chrono::nanoseconds> p50; /* nearest rank, exact */
	std::optional<std::chrono::nanoseconds> max;
};

/* What populating a buffer object took, and what of that was spent in CMA. */
struct PopulateShare {
	std::uint64_t calls = 0; /* whole populates; pages, where the trace shows no more */
	std::chrono::nanoseconds total{};
	std::chrono::nanoseconds cma{};
	std::chrono::nanoseconds longest_cma{};
	std::uint64_t cma_calls = 0;
	std::string cma_function; /* the outermost one; empty without calls */
	/* Where most of the time outside CMA was spent, its callees left out. */
	std::string other_function;
	std::chrono::nanoseconds other{};

	/* In tenths of a percent, rounded down: 1000 is "nothing else at all". */
	[[nodiscard]] std::uint64_t per_mille() const;
};

enum class Cause : std::uint8_t {
	cma,	  /* most of populate is CMA, and long enough to be felt */
	part,	  /* a part that counts */
	quick,	  /* most of populate is CMA, and populate is quick */
	other,	  /* something else */
	not_told, /* the trace holds no populate that was traced to its end */
};

struct Analysis {
	std::vector<FunctionFigures> functions; /* the longest total first */
	std::optional<PopulateShare> populate;	/* nothing: none in the trace */
	Cause cause = Cause::not_told;
	std::string series; /* of the kernel that made the trace, as far as names tell */
	std::string verdict;
	std::vector<std::string> absent; /* figures that the trace cannot give, and why */
};

/*
 * `series` is that of the kernel when it is known; else the functions' names tell which it was,
 * or which it may have been.
 */
Analysis analyse(const CallTree &tree, const std::optional<std::string> &series = std::nullopt);

std::string to_text(const Analysis &analysis);

/* Members of "nocma-trace-1"; figures that are absent are null. */
nlohmann::json to_json(const Analysis &analysis);

} // namespace nocma::trace
