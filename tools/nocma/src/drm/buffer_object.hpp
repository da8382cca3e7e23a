/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drm/backend.hpp"
#include "drm/device.hpp"
#include "drm/gem.hpp"
#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/mapping.hpp"

namespace nocma
{

/* The first touch found no memory: a result of its own under memory pressure. */
class PopulateFailed : public Error
{
public:
	using Error::Error;
};

/*
 * Makes the kernel touch one byte of ours for us, by reading a zero into it: a fault that
 * cannot be served is then the error EFAULT instead of a SIGBUS.
 */
class Toucher
{
public:
	Toucher();

	/* Throws SystemError; the byte is 0 afterwards. */
	void touch(std::byte &byte) const;

private:
	UniqueFd zero_;
};

/* CLOCK_MONOTONIC, which the trace is stamped with too. */
using Nanoseconds = std::chrono::nanoseconds;
Nanoseconds monotonic_now();

struct Interval {
	Nanoseconds begin{};
	Nanoseconds end{};

	[[nodiscard]] Nanoseconds length() const noexcept { return end - begin; }
};

/* A mapped buffer object. The device must outlive it. */
class BufferObject
{
public:
	BufferObject(const DrmDevice &device, const Backend &backend, std::uint64_t bytes);

	/* First touch: TTM allocates every page of the object. Throws PopulateFailed. */
	[[nodiscard]] Interval populate(const Toucher &toucher) const;

	/* The whole object; accesses beyond the first touch map what is there already. */
	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return mapping_.bytes(); }

private:
	GemHandle handle_;
	Mapping mapping_; /* unmapped before the handle is closed */
};

} // namespace nocma
