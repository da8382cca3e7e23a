// SPDX-License-Identifier: GPL-2.0-only
#include "util/cache.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

#include "util/error.hpp"

namespace nocma
{

namespace
{

std::string environment(const char *name)
{
	const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)

	return value != nullptr ? value : "";
}

} // namespace

std::filesystem::path cache_folder()
{
	const std::string own = environment("NOCMA_CACHE");
	const std::string xdg = environment("XDG_CACHE_HOME");
	const std::string home = environment("HOME");

	if (!own.empty())
		return std::filesystem::absolute(own);
	if (!xdg.empty())
		return std::filesystem::path(xdg) / "ttm-nocma";
	if (home.empty())
		throw Error("neither NOCMA_CACHE nor HOME is set: where is the cache?");
	return std::filesystem::path(home) / ".cache" / "ttm-nocma";
}

std::filesystem::path own_patches()
{
	std::error_code missing;
	const std::filesystem::path program =
		std::filesystem::read_symlink("/proc/self/exe", missing);
	const std::filesystem::path installed =
		program.parent_path().parent_path() / "share/ttm-nocma/patches";

	return std::filesystem::exists(installed / "targets.conf", missing) ? installed
									    : NOCMA_PATCHES_DIR;
}

} // namespace nocma
