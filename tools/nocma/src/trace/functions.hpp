/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nocma::trace
{

/* What a kernel function is to a populate. */
enum class Role : std::uint8_t {
	populate, /* of a whole object, by TTM or by a driver through it */
	part,	  /* a step of that */
	page,	  /* the step that asks for one page, of any order */
	cma,	  /* gets pages from CMA, or tries */
	none,
};

Role role_of(std::string_view function);

inline bool is_populate(Role role)
{
	return role == Role::populate || role == Role::part || role == Role::page;
}

/* What is worth recording: whole populates, what they call for pages, CMA. */
std::vector<std::string> populate_functions();
std::vector<std::string> allocation_functions();

/* The page allocator's and others that everybody calls all the time. */
std::vector<std::string> common_functions();

/* The series for the kernel in whose trace these names are, "v6.1, v6.12 or v7.2" in doubt. */
std::string series_of(const std::vector<std::string> &functions);

} // namespace nocma::trace
