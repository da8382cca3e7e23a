/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "kernel/counters.hpp"

namespace nocma
{

/* The fields in kB, as bytes, of the mapping in smaps' text that has the address; or none. */
Counters parse_smaps(std::string_view text, std::uint64_t address);

/* Of a mapping of our own. */
Counters read_smaps(const void *address, const std::filesystem::path &proc = "/proc");

} // namespace nocma
