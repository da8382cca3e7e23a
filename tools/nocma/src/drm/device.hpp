/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "util/fd.hpp"

namespace nocma
{

/* A node of /dev/dri as far as it could be identified. */
struct DrmNode {
	std::filesystem::path path;
	std::string driver;  /* name from DRM_IOCTL_VERSION; empty if that failed */
	std::string problem; /* why it failed, "open: Permission denied" */
};

/* Render nodes first, then card nodes, each kind in the order of its numbers. */
std::vector<DrmNode> enumerate_drm(const std::filesystem::path &folder = "/dev/dri");

/* "card0 is i915, renderD128: open: Permission denied", or that there is no node at all. */
std::string describe_drm(const std::vector<DrmNode> &nodes, const std::filesystem::path &folder);

/* An open DRM device. Closing it closes all buffer objects made on it. */
class DrmDevice
{
public:
	/* The first node of that driver that opens; SkipError says what there is instead. */
	static DrmDevice open(std::string_view driver,
			      const std::filesystem::path &folder = "/dev/dri");

	/* That node. Throws SystemError. */
	static DrmDevice open_path(const std::filesystem::path &path);

	[[nodiscard]] int fd() const noexcept { return fd_.get(); }
	[[nodiscard]] const std::filesystem::path &path() const noexcept { return path_; }
	/* Folder in sysfs of what the node belongs to: a PCI function, for one. */
	[[nodiscard]] std::filesystem::path sysfs_folder() const;
	[[nodiscard]] const std::string &driver() const noexcept { return driver_; }
	[[nodiscard]] const std::string &version() const noexcept { return version_; }

private:
	DrmDevice(UniqueFd fd, std::filesystem::path path);

	UniqueFd fd_;
	std::filesystem::path path_;
	std::string driver_;
	std::string version_;
};

} // namespace nocma
