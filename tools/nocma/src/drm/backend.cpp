// SPDX-License-Identifier: GPL-2.0-only
#include "drm/backend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "drm/i915.hpp"
#include "drm/radeon.hpp"
#include "drm/vttm.hpp"
#include "util/error.hpp"

namespace nocma
{

std::vector<std::string> backend_names()
{
	return {"radeon", "vttm", "i915"};
}

std::unique_ptr<Backend> make_backend(std::string_view name)
{
	if (name == "radeon")
		return std::make_unique<RadeonBackend>();
	if (name == "vttm")
		return std::make_unique<VttmBackend>();
	if (name == "i915")
		return std::make_unique<I915Backend>();
	throw UsageError(fmt::format("back-end '{}': not one of {}", name,
				     fmt::join(backend_names(), ", ")));
}

} // namespace nocma
