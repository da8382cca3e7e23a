// SPDX-License-Identifier: GPL-2.0-only
#include "drm/vttm.hpp"

#include <atomic>
#include <cerrno>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>
#include <xf86drm.h>

#include "kernel/iommu.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint64_t page_bytes = 4096;

std::uint32_t create_object(const DrmDevice &device, std::uint64_t bytes, std::uint32_t caching,
			    std::uint32_t flags)
{
	drm_vttm_create request{};

	request.size = bytes;
	request.flags = flags;
	request.caching = caching;
	if (drmIoctl(device.fd(), DRM_IOCTL_VTTM_CREATE, &request) != 0)
		throw SystemError("VTTM_CREATE", device.path().native(), errno);
	return request.handle;
}

std::uint64_t offset_of(const DrmDevice &device, std::uint32_t handle)
{
	drm_vttm_mmap request{};

	request.handle = handle;
	if (drmIoctl(device.fd(), DRM_IOCTL_VTTM_MMAP, &request) != 0)
		throw SystemError("VTTM_MMAP", device.path().native(), errno);
	return request.offset;
}

/* A folder that no other test, of this process or another, has. */
fs::path fresh_name(const fs::path &folder)
{
	static std::atomic<unsigned int> number{0};

	return folder / fmt::format("nocma-{}-{}", ::getpid(), number++);
}

/* configfs is not necessarily mounted: it is where it belongs, or there is no test. */
fs::path instances_folder(const fs::path &configfs)
{
	fs::path folder = configfs / "vttm";
	std::error_code error;

	if (!fs::is_directory(folder, error))
		throw SkipError(fmt::format("no {}: needs the module vttm, configfs mounted, root",
					    folder.native()));
	return folder;
}

constexpr std::string_view testdev_vendor = "0x1b36";
constexpr std::string_view testdev_device = "0x0005";

/* Folder of the function that QEMU's -device pci-testdev makes. */
fs::path find_testdev(const fs::path &bus)
{
	std::error_code missing;

	for (const fs::directory_entry &entry : fs::directory_iterator(bus / "devices", missing)) {
		const std::string vendor = try_read_file(entry.path() / "vendor").value_or("");
		const std::string device = try_read_file(entry.path() / "device").value_or("");

		if (trim(vendor) == testdev_vendor && trim(device) == testdev_device)
			return entry.path();
	}
	throw SkipError(fmt::format("no PCI function {}:{} in {}: needs QEMU's -device pci-testdev",
				    testdev_vendor, testdev_device, bus.native()));
}

} // namespace

std::uint32_t VttmBackend::create(const DrmDevice &device, std::uint64_t bytes) const
{
	return create_object(device, bytes, DRM_VTTM_CACHING_CACHED, DRM_VTTM_CREATE_ZEROED);
}

std::uint64_t VttmBackend::map_offset(const DrmDevice &device, std::uint32_t handle,
				      std::uint64_t /*bytes*/) const
{
	return offset_of(device, handle);
}

VttmInstance::VttmInstance(const VttmConfig &config, const fs::path &configfs)
	: folder_(fresh_name(instances_folder(configfs)))
{
	fs::create_directory(folder_);
	try {
		write_existing(folder_ / "dma_bits", std::to_string(config.dma_bits));
		write_existing(folder_ / "coherent", config.coherent ? "1" : "0");
		write_existing(folder_ / "node", std::to_string(config.node));
		write_existing(folder_ / "own_cma", config.own_cma ? "1" : "0");
		write_existing(folder_ / "tt_mib", std::to_string(config.tt_mib));
		enable();
	} catch (const SystemError &error) {
		fs::remove(folder_);
		/* No zone for such a mask, no area to call one's own: not what is tested. */
		if (error.error() == EIO || error.error() == EOPNOTSUPP)
			throw SkipError(fmt::format(
				"this machine has no device with a mask of {} bits{}: {}",
				config.dma_bits, config.own_cma ? " and an area of its own" : "",
				errno_text(error.error())));
		throw;
	} catch (...) {
		fs::remove(folder_);
		throw;
	}
}

VttmInstance::~VttmInstance()
{
	std::error_code ignored;

	fs::remove(folder_, ignored);
}

DrmDevice VttmInstance::open() const
{
	return DrmDevice::open_path(
		fmt::format("/dev/dri/renderD{}", read_number(folder_ / "minor")));
}

void VttmInstance::enable() const
{
	write_existing(folder_ / "enabled", "1");
}

void VttmInstance::remove() const
{
	write_existing(folder_ / "enabled", "0");
}

VttmPciFunction::VttmPciFunction(const fs::path &bus) : bus_(bus), function_(find_testdev(bus))
{
	if (!fs::is_directory(bus_ / "drivers" / "vttm"))
		throw SkipError("the module vttm is not loaded");
	write_existing(function_ / "driver_override", "vttm");
	write_existing(bus_ / "drivers_probe", function_.filename().native());
	if (fs::is_directory(function_ / "drm"))
		return;
	write_existing(function_ / "driver_override", "\n");
	throw Error(fmt::format("{}: vttm did not take it, see the kernel's log",
				function_.filename().native()));
}

VttmPciFunction::~VttmPciFunction()
{
	/* A destructor has nobody to tell. Nor is it bound any more if the module is gone. */
	const auto try_write = [](const fs::path &file, const std::string &text) {
		try {
			write_existing(file, text);
		} catch (const Error &) {
			return;
		}
	};

	try_write(function_ / "driver_override", "\n");
	try_write(bus_ / "drivers" / "vttm" / "unbind", function_.filename().native());
}

DrmDevice VttmPciFunction::open() const
{
	for (const fs::directory_entry &entry : fs::directory_iterator(function_ / "drm"))
		if (entry.path().filename().native().starts_with("renderD"))
			return DrmDevice::open_path("/dev/dri" / entry.path().filename());
	throw Error(fmt::format("{}: no render node", function_.native()));
}

bool VttmPciFunction::translated() const
{
	return is_translated(function_);
}

drm_vttm_device vttm_device_info(const DrmDevice &device)
{
	drm_vttm_device info{};

	if (drmIoctl(device.fd(), DRM_IOCTL_VTTM_DEVICE, &info) != 0)
		throw SystemError("VTTM_DEVICE", device.path().native(), errno);
	return info;
}

void vttm_drain(const DrmDevice &device)
{
	drm_vttm_drain request{};

	if (drmIoctl(device.fd(), DRM_IOCTL_VTTM_DRAIN, &request) != 0)
		throw SystemError("VTTM_DRAIN", device.path().native(), errno);
}

std::string format_orders(std::span<const std::uint32_t> chunks)
{
	std::string text;

	for (std::size_t order = chunks.size(); order-- > 0;)
		if (chunks[order] != 0)
			text += fmt::format("{}{}:{}", text.empty() ? "" : " ", order,
					    chunks[order]);
	return text.empty() ? "none" : text;
}

VttmObject::VttmObject(const DrmDevice &device, std::uint64_t bytes, std::uint32_t caching,
		       std::uint32_t flags)
	: handle_(device, create_object(device, bytes, caching, flags)),
	  mapping_(map_object(device, offset_of(device, handle_.get()), bytes))
{
}

drm_vttm_populate VttmObject::populate() const
{
	drm_vttm_populate request{};

	request.handle = handle_.get();
	if (drmIoctl(handle_.device(), DRM_IOCTL_VTTM_POPULATE, &request) != 0)
		throw SystemError("VTTM_POPULATE", fmt::format("{} bytes", mapping_.size()), errno);
	return request;
}

drm_vttm_populate VttmObject::unpopulate() const
{
	drm_vttm_populate request{};

	request.handle = handle_.get();
	if (drmIoctl(handle_.device(), DRM_IOCTL_VTTM_UNPOPULATE, &request) != 0)
		throw SystemError("VTTM_UNPOPULATE", fmt::format("{} bytes", mapping_.size()),
				  errno);
	return request;
}

VttmLayout VttmObject::layout() const
{
	VttmLayout layout;

	layout.chunks.resize(mapping_.size() / page_bytes + 1);
	layout.info.handle = handle_.get();
	layout.info.nr_chunks = static_cast<std::uint32_t>(layout.chunks.size());
	layout.info.chunks_ptr = reinterpret_cast<std::uintptr_t>(layout.chunks.data());
	if (drmIoctl(handle_.device(), DRM_IOCTL_VTTM_INFO, &layout.info) != 0)
		throw SystemError("VTTM_INFO", fmt::format("{} bytes", mapping_.size()), errno);
	layout.chunks.resize(layout.info.nr_chunks);
	return layout;
}

} // namespace nocma
