/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>

namespace nocma::guest
{

/* Which ttm.ko the guest loads: passing __GFP_NOCMA, or as the base kernel has it. */
enum class TtmVariant { nocma, stock };

std::string_view name_of(TtmVariant variant);

/* A kernel that scripts/kernel has built: a folder out/TARGET[-FLAVOUR] in the cache. */
struct KernelBuild {
	std::string target;
	std::string flavour; /* empty: the plain one */
	std::filesystem::path folder;
	std::string release; /* `uname -r` of the guest */

	[[nodiscard]] std::string name() const
	{
		return flavour.empty() ? target : target + "-" + flavour;
	}
	[[nodiscard]] std::filesystem::path image() const { return folder / "bzImage"; }
	[[nodiscard]] std::filesystem::path modules() const
	{
		return folder / "lib" / "modules" / release;
	}
	[[nodiscard]] std::filesystem::path ttm(TtmVariant variant) const;

	/* i915.ko as the base kernel has it. Throws Error where the series do not change it. */
	[[nodiscard]] std::filesystem::path stock_i915() const;
};

/* Throws Error, naming the command that builds it, when it is not there or not whole. */
KernelBuild find_kernel_build(const std::filesystem::path &cache, const std::string &target,
			      const std::string &flavour = "");

} // namespace nocma::guest
