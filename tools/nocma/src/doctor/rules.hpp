/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/facts.hpp"

namespace nocma::doctor
{

enum class Answer : std::uint8_t { no, yes, unknown };

/* An answer and why it is so; when it is unknown, which file would tell. */
struct Reason {
	Answer answer = Answer::unknown;
	std::string why;
};

/* Does the driver's TTM pool allocate through the DMA API? */
Reason uses_dma_api(const Facts &facts, const Gpu &gpu);

/* Which of the pool's allocations does this kernel take from shared CMA, if there is any? */
Reason reaches_cma(const Facts &facts, const Gpu &gpu);

/* Is the GPU behind VT-d? From 5.16 on: does i915 count it so? */
Reason vtd_counts(const Facts &facts, const Gpu &gpu);

/* Does this kernel's i915 ask for huge pages for its objects? */
Reason wants_huge_pages(const Facts &facts, const Gpu &gpu);

/* Graphics version of an Intel GPU: 11 or later? Nothing for an id that is not known. */
std::optional<bool> is_graphics_11(std::uint32_t pci_id);

} // namespace nocma::doctor
