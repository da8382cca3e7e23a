// SPDX-License-Identifier: GPL-2.0-only
#include "util/mapping.hpp"

#include <utility>

#include <sys/mman.h>

namespace nocma
{

Mapping::Mapping(Mapping &&other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping::~Mapping()
{
	if (!bytes_.empty())
		::munmap(bytes_.data(), bytes_.size());
}

Mapping &Mapping::operator=(Mapping &&other) noexcept
{
	/* What was here is unmapped with the other. */
	std::swap(bytes_, other.bytes_);
	return *this;
}

} // namespace nocma
