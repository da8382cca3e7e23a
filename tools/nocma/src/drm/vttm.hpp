/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <drm/vttm_drm.h>

#include "drm/backend.hpp"
#include "drm/device.hpp"
#include "drm/gem.hpp"
#include "util/mapping.hpp"

namespace nocma
{

/* Cached, cleared objects, populated by the first fault. */
class VttmBackend : public Backend
{
public:
	[[nodiscard]] std::string_view driver() const override { return "vttm"; }
	[[nodiscard]] std::uint32_t create(const DrmDevice &device,
					   std::uint64_t bytes) const override;
	[[nodiscard]] std::uint64_t map_offset(const DrmDevice &device, std::uint32_t handle,
					       std::uint64_t bytes) const override;
};

/* What a vttm device is like; the defaults are those of the module. */
struct VttmConfig {
	unsigned int dma_bits = 64;
	bool coherent = true;
	int node = -1; /* of NUMA, -1: none */
	bool own_cma = false;
	unsigned int tt_mib = 256;
};

/*
 * A vttm device that exists as long as the object, made in configfs. Throws SkipError when the
 * kernel has no vttm or cannot make such a device.
 */
class VttmInstance
{
public:
	explicit VttmInstance(const VttmConfig &config,
			      const std::filesystem::path &configfs = "/sys/kernel/config");
	VttmInstance(const VttmInstance &) = delete;
	VttmInstance &operator=(const VttmInstance &) = delete;
	VttmInstance(VttmInstance &&) = delete;
	VttmInstance &operator=(VttmInstance &&) = delete;
	~VttmInstance();

	[[nodiscard]] DrmDevice open() const;

	/* Makes the device anew after remove(). Throws SystemError. */
	void enable() const;

	/* Removes the device, as if it were unplugged; what is open stays open. */
	void remove() const;

private:
	std::filesystem::path folder_;
};

/*
 * A PCI function without a driver that is a vttm device as long as the object exists. Takes
 * QEMU's pci-testdev; throws SkipError when there is none or vttm is not loaded.
 */
class VttmPciFunction
{
public:
	explicit VttmPciFunction(const std::filesystem::path &bus = "/sys/bus/pci");
	VttmPciFunction(const VttmPciFunction &) = delete;
	VttmPciFunction &operator=(const VttmPciFunction &) = delete;
	VttmPciFunction(VttmPciFunction &&) = delete;
	VttmPciFunction &operator=(VttmPciFunction &&) = delete;
	~VttmPciFunction();

	[[nodiscard]] DrmDevice open() const;

	/* An IOMMU stands between it and memory, and not to pass addresses as they are. */
	[[nodiscard]] bool translated() const;

private:
	std::filesystem::path bus_;
	std::filesystem::path function_;
};

/* Configuration and counters of a device. */
drm_vttm_device vttm_device_info(const DrmDevice &device);

/* Frees what the device's pool keeps. Throws SystemError; EOPNOTSUPP for a plain pool. */
void vttm_drain(const DrmDevice &device);

/* What is behind an object: the summary, and each chunk in the order of the pages. */
struct VttmLayout {
	drm_vttm_info info{};
	std::vector<drm_vttm_chunk> chunks;

	[[nodiscard]] bool populated() const noexcept
	{
		return (info.flags & DRM_VTTM_INFO_POPULATED) != 0;
	}
	[[nodiscard]] bool swapped() const noexcept
	{
		return (info.flags & DRM_VTTM_INFO_SWAPPED) != 0;
	}
};

/* "10:2 4:1", highest order first; "none" for no chunks. */
std::string format_orders(std::span<const std::uint32_t> chunks);

/* A mapped object of vttm. The device must outlive it. */
class VttmObject
{
public:
	VttmObject(const DrmDevice &device, std::uint64_t bytes, std::uint32_t caching,
		   std::uint32_t flags = DRM_VTTM_CREATE_ZEROED);

	/* Each throws SystemError. */
	drm_vttm_populate populate() const;
	drm_vttm_populate unpopulate() const;
	[[nodiscard]] VttmLayout layout() const;

	/* The bytes asked for. Accesses are faults that the device serves: a SIGBUS if not. */
	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return mapping_.bytes(); }

private:
	GemHandle handle_;
	Mapping mapping_; /* unmapped before the handle is closed */
};

} // namespace nocma
