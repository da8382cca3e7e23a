/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace nocma
{

/*
 * JSON for readers. Lines of logs and command lines may hold bytes that are no UTF-8, which dump()
 * throws at by default: they become U+FFFD. Not for what is read back as the name of a file.
 */
inline std::string json_text(const nlohmann::json &json, int indent = -1)
{
	return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace nocma
