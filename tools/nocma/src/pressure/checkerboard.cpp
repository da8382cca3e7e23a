// SPDX-License-Identifier: GPL-2.0-only
#include "pressure/checkerboard.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"

namespace nocma
{

namespace
{

std::filesystem::path area_file(const CmaArea &area, std::string_view name)
{
	return std::filesystem::path("/sys/kernel/debug/cma") / area.name / name;
}

} // namespace

Checkerboard::Checkerboard()
{
	const CmaState cma = read_cma_state();

	present_ = cma.present();
	if (!present_)
		return;
	if (!cma.areas)
		throw SkipError("no /sys/kernel/debug/cma: needs CONFIG_CMA_DEBUGFS and root");
	for (const CmaArea &area : *cma.areas)
		boards_.push_back({.area = area});
}

Checkerboard::~Checkerboard()
{
	for (const Board &board : boards_) {
		try {
			/* The file frees what was allocated last: exactly ours. */
			write_existing(area_file(board.area, "free"),
				       std::to_string(board.held_pages));
		} catch (const Error &) {
			/* Nothing more can be done about it here. */
		}
	}
}

std::uint64_t Checkerboard::piece_pages(const CmaArea &area) noexcept
{
	return std::max<std::uint64_t>(1, area.count / 1024);
}

Effect Checkerboard::apply()
{
	Effect effect{.asserted = present_, .text = "no CMA area", .values = {}};
	std::uint64_t longest = 0;

	for (Board &board : boards_) {
		const std::uint64_t piece = piece_pages(board.area);

		/* Asked for only what must fit: a failure would be logged by the kernel. */
		while (read_number(area_file(board.area, "maxchunk")) >= 2 * piece) {
			InterruptGuard::check();
			write_existing(area_file(board.area, "alloc"), std::to_string(2 * piece));
			board.held_pages += 2 * piece;
			write_existing(area_file(board.area, "free"), std::to_string(piece));
			board.held_pages -= piece;
		}
		longest = std::max(longest, read_number(area_file(board.area, "maxchunk")));
	}
	if (!present_)
		return effect;

	const std::uint64_t free_bytes = read_cma_state().free_bytes.value_or(0);
	effect.text = fmt::format("longest free run {} pages, {} KiB CMA free", longest,
				  free_bytes / 1024);
	effect.values = {{"cma_maxchunk_pages", longest}, {"cma_free_bytes", free_bytes}};
	return effect;
}

} // namespace nocma
