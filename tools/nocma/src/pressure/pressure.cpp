// SPDX-License-Identifier: GPL-2.0-only
#include "pressure/pressure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/cma.hpp"
#include "pressure/checkerboard.hpp"
#include "pressure/user_pages.hpp"
#include "util/error.hpp"

namespace nocma
{

namespace
{

/* Nothing is done: the area must be free, or the mode would not be what it says. */
class Idle : public Pressure
{
public:
	Effect apply() override
	{
		const CmaState cma = read_cma_state();

		if (!cma.present())
			return {.asserted = false, .text = "no CMA area", .values = {}};
		if (*cma.free_bytes < *cma.total_bytes / 4 * 3)
			throw Error(fmt::format("idle: only {} KiB of {} KiB CMA are free; stop "
						"what uses it or boot anew",
						*cma.free_bytes / 1024, *cma.total_bytes / 1024));
		return {.asserted = true,
			.text = fmt::format("{} of {} KiB CMA free", *cma.free_bytes / 1024,
					    *cma.total_bytes / 1024),
			.values = {{"cma_free_bytes", *cma.free_bytes}}};
	}
};

} // namespace

const std::vector<std::string> &pressure_modes()
{
	static const std::vector<std::string> modes = {"idle", "movable", "pinned", "checkerboard"};

	return modes;
}

std::unique_ptr<Pressure> make_pressure(std::string_view mode, std::uint64_t seed)
{
	if (mode == "idle")
		return std::make_unique<Idle>();
	if (mode == "movable")
		return std::make_unique<UserPages>(seed, 0);
	if (mode == "pinned")
		return std::make_unique<UserPages>(seed, pinned_stride);
	if (mode == "checkerboard")
		return std::make_unique<Checkerboard>();
	throw UsageError(
		fmt::format("mode '{}': not one of {}", mode, fmt::join(pressure_modes(), ", ")));
}

} // namespace nocma
