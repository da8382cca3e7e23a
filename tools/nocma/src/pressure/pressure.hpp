/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nocma
{

/* What a pressure mode did to the machine, as measured after doing it. */
struct Effect {
	/* False when the machine has no CMA area, so that there is no effect to assert. */
	bool asserted = false;
	std::string text;
	std::map<std::string, std::uint64_t> values;
};

/* A state of memory under which buffers are populated. Undone with the object. */
class Pressure
{
public:
	Pressure() = default;
	Pressure(const Pressure &) = delete;
	Pressure &operator=(const Pressure &) = delete;
	Pressure(Pressure &&) = delete;
	Pressure &operator=(Pressure &&) = delete;
	virtual ~Pressure() = default;

	/*
	 * Brings the state about, or back after populates have worn it off. Throws Error when
	 * the effect is not there, SkipError when this kernel cannot tell.
	 */
	virtual Effect apply() = 0;
};

/* idle, movable, pinned, checkerboard. */
const std::vector<std::string> &pressure_modes();

/* UsageError for another name. The seed decides which pages are pinned. */
std::unique_ptr<Pressure> make_pressure(std::string_view mode, std::uint64_t seed);

} // namespace nocma
