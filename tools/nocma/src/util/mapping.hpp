/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <span>

namespace nocma
{

/* Owns what mmap() returned and unmaps it. */
class Mapping
{
public:
	Mapping() noexcept = default;
	explicit Mapping(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
	Mapping(Mapping &&other) noexcept;
	Mapping(const Mapping &) = delete;
	Mapping &operator=(Mapping &&other) noexcept;
	Mapping &operator=(const Mapping &) = delete;
	~Mapping();

	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
	[[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

private:
	std::span<std::byte> bytes_;
};

} // namespace nocma
