// SPDX-License-Identifier: GPL-2.0-only
#include "drm/device.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fmt/format.h>
#include <xf86drm.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

using VersionPointer = std::unique_ptr<drmVersion, decltype(&drmFreeVersion)>;

VersionPointer query_version(const UniqueFd &fd)
{
	return {drmGetVersion(fd.get()), &drmFreeVersion};
}

std::string driver_name(const drmVersion &version)
{
	return {version.name, static_cast<std::size_t>(version.name_len)};
}

UniqueFd open_node(const std::filesystem::path &path)
{
	return UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

DrmNode identify(const std::filesystem::path &path)
{
	const UniqueFd fd = open_node(path);

	if (!fd)
		return {.path = path, .driver = {}, .problem = "open: " + errno_text(errno)};
	const VersionPointer version = query_version(fd);
	if (!version)
		return {.path = path,
			.driver = {},
			.problem = "DRM_IOCTL_VERSION: " + errno_text(errno)};
	return {.path = path, .driver = driver_name(*version), .problem = {}};
}

/* Sort key of renderD128 or card0; other names are no devices. */
bool node_key(const std::string &name, std::pair<int, int> &key)
{
	const std::string_view prefix = name.starts_with("renderD") ? "renderD" : "card";

	if (!name.starts_with(prefix))
		return false;
	const char *const digits = name.data() + prefix.size();
	const char *const last = name.data() + name.size();
	const auto [end, error] = std::from_chars(digits, last, key.second);

	key.first = prefix == "card" ? 1 : 0;
	return error == std::errc() && end == last;
}

} // namespace

std::vector<DrmNode> enumerate_drm(const std::filesystem::path &folder)
{
	std::vector<std::pair<std::pair<int, int>, std::filesystem::path>> paths;
	std::vector<DrmNode> nodes;
	std::error_code missing;

	for (const std::filesystem::directory_entry &entry :
	     std::filesystem::directory_iterator(folder, missing)) {
		std::pair<int, int> key;

		if (node_key(entry.path().filename(), key))
			paths.emplace_back(key, entry.path());
	}
	std::sort(paths.begin(), paths.end());
	nodes.reserve(paths.size());
	for (const auto &[key, path] : paths)
		nodes.push_back(identify(path));
	return nodes;
}

std::string describe_drm(const std::vector<DrmNode> &nodes, const std::filesystem::path &folder)
{
	std::string text;

	if (nodes.empty())
		return fmt::format("no card or render node in {}", folder.native());
	for (const DrmNode &node : nodes)
		text += fmt::format(
			"{}{}{}", text.empty() ? "" : ", ", node.path.filename().native(),
			node.problem.empty() ? " is " + node.driver : ": " + node.problem);
	return text;
}

DrmDevice DrmDevice::open(std::string_view driver, const std::filesystem::path &folder)
{
	const std::vector<DrmNode> nodes = enumerate_drm(folder);

	for (const DrmNode &node : nodes) {
		if (node.driver != driver)
			continue;
		UniqueFd fd = open_node(node.path);

		if (fd)
			return {std::move(fd), node.path};
	}
	throw SkipError(
		fmt::format("no usable {} device: {}", driver, describe_drm(nodes, folder)));
}

DrmDevice DrmDevice::open_path(const std::filesystem::path &path)
{
	UniqueFd fd = open_node(path);

	if (!fd)
		throw SystemError("open", path.native(), errno);
	return {std::move(fd), path};
}

std::filesystem::path DrmDevice::sysfs_folder() const
{
	struct stat status {
	};

	if (::fstat(fd(), &status) != 0)
		throw SystemError("fstat", path_.native(), errno);
	return std::filesystem::canonical(fmt::format(
		"/sys/dev/char/{}:{}/device", major(status.st_rdev), minor(status.st_rdev)));
}

DrmDevice::DrmDevice(UniqueFd fd, std::filesystem::path path)
	: fd_(std::move(fd)), path_(std::move(path))
{
	const VersionPointer version = query_version(fd_);

	if (!version)
		throw SystemError("DRM_IOCTL_VERSION", path_.native(), errno);
	driver_ = driver_name(*version);
	version_ = fmt::format("{}.{}.{}", version->version_major, version->version_minor,
			       version->version_patchlevel);
}

} // namespace nocma
