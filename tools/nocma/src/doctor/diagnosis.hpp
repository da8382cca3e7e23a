/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "doctor/facts.hpp"
#include "util/error.hpp"

namespace nocma::doctor
{

enum class Status : std::uint8_t { not_affected, affected, cannot_tell };

struct Finding {
	Status status = Status::cannot_tell;
	std::string topic;  /* "cma stall" or "huge pages" */
	std::string device; /* card and driver; empty when it holds for all */
	std::string why;
	std::string help; /* which patches, or what else, or which file would tell */
};

struct Diagnosis {
	std::vector<Finding> findings;

	/* Affected by one thing is affected; cannot tell before not affected. */
	[[nodiscard]] Status status() const;
};

Diagnosis diagnose(const Facts &facts);

/* Nothing stands for a figure that is absent but its name. */
std::string to_text(const Facts &facts, const Diagnosis &diagnosis);

/* "nocma-doctor-1" */
nlohmann::json to_json(const Facts &facts, const Diagnosis &diagnosis);

ExitCode exit_code(Status status);

} // namespace nocma::doctor
