/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "util/fd.hpp"

namespace nocma
{

/* Loads of this thread, in user space, that the data TLB had no entry for, as the CPU counts them.
 */
class TlbCounter
{
public:
	TlbCounter();

	/* Empty, or why this machine does not count them: a guest, no permission. */
	[[nodiscard]] const std::string &problem() const noexcept { return problem_; }

	void start() const;

	/* Since start(); nothing where they are not counted, or had no counter all the time. */
	[[nodiscard]] std::optional<std::uint64_t> stop() const;

private:
	UniqueFd event_;
	std::string problem_;
};

} // namespace nocma
