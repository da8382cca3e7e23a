/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/cma.hpp"
#include "pressure/pressure.hpp"

namespace nocma
{

/*
 * Cuts the CMA areas into free and used pieces of equal length through their debugfs files, so
 * that no long free run is left. The pieces are an area's 1024th part, since each one costs an
 * allocation.
 */
class Checkerboard : public Pressure
{
public:
	Checkerboard();
	Checkerboard(const Checkerboard &) = delete;
	Checkerboard &operator=(const Checkerboard &) = delete;
	Checkerboard(Checkerboard &&) = delete;
	Checkerboard &operator=(Checkerboard &&) = delete;
	~Checkerboard() override;

	Effect apply() override;

	static std::uint64_t piece_pages(const CmaArea &area) noexcept;

private:
	struct Board {
		CmaArea area;
		std::uint64_t held_pages = 0;
	};

	std::vector<Board> boards_;
	bool present_ = false;
};

} // namespace nocma
