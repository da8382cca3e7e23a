// SPDX-License-Identifier: GPL-2.0-only
#include "guest/kernel_build.hpp"

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::guest
{

namespace fs = std::filesystem;

std::string_view name_of(TtmVariant variant)
{
	return variant == TtmVariant::nocma ? "nocma" : "stock";
}

fs::path KernelBuild::ttm(TtmVariant variant) const
{
	return folder / "ttm" / name_of(variant) / "ttm.ko";
}

fs::path KernelBuild::stock_i915() const
{
	fs::path file = folder / "i915" / "stock" / "i915.ko";

	if (!fs::exists(file))
		throw Error(fmt::format("{}: no {}: only a kernel whose i915 the series change has "
					"two of them",
					name(), file.native()));
	return file;
}

KernelBuild find_kernel_build(const fs::path &cache, const std::string &target,
			      const std::string &flavour)
{
	if (target.empty() || target.front() == '.' || target.find('/') != std::string::npos)
		throw UsageError(fmt::format(
			"'{}': not the name of a target, see scripts/kernel list", target));
	if (flavour.find('/') != std::string::npos)
		throw UsageError(fmt::format(
			"'{}': not the name of a flavour, see scripts/kernel --help", flavour));

	KernelBuild build{target, flavour, "", ""};
	const std::string remedy = fmt::format("run: scripts/kernel build {}{}{}", target,
					       flavour.empty() ? "" : " --flavour ", flavour);

	build.folder = cache / "out" / build.name();

	if (!fs::is_directory(build.folder))
		throw Error(fmt::format("{}: no kernel in {}, {}", build.name(),
					build.folder.native(), remedy));
	build.release = std::string(trim(try_read_file(build.folder / "release").value_or("")));
	if (build.release.empty())
		throw Error(fmt::format("{}: {} is missing, {}", build.name(),
					(build.folder / "release").native(), remedy));
	for (const fs::path &part : {build.image(), build.modules() / "modules.dep",
				     build.ttm(TtmVariant::nocma), build.ttm(TtmVariant::stock)})
		if (!fs::exists(part))
			throw Error(fmt::format("{}: {} is missing, {}", build.name(),
						part.native(), remedy));
	return build;
}

} // namespace nocma::guest
