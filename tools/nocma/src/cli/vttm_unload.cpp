// SPDX-License-Identifier: GPL-2.0-only
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/vttm_cases.hpp"
#include "cli/vttm_checks.hpp"
#include "drm/vttm.hpp"
#include "kernel/cma.hpp"
#include "kernel/parameters.hpp"
#include "util/error.hpp"
#include "util/process.hpp"

namespace nocma::cli
{

namespace
{

constexpr std::string_view module = "vttm";
constexpr std::uint64_t bytes = 3 << 20;

/* 0 or an errno; EAGAIN when the module is in use. */
int unload()
{
	return ::syscall(SYS_delete_module, module.data(), O_NONBLOCK) == 0 ? 0 : errno;
}

void expect_busy(std::string_view user)
{
	const int error = unload();

	if (error == EPERM)
		throw SkipError("a module may not be unloaded: needs CAP_SYS_MODULE");
	if (error == 0)
		throw Error(fmt::format("the module was unloaded under {}", user));
	if (error != EAGAIN)
		throw SystemError("delete_module", std::string(module), error);
}

/*
 * Unloads the module and sees to it that it is loaded again, with its parameters, when the case
 * is over.
 */
class Unloaded
{
public:
	Unloaded() : parameters_(read_parameters(module))
	{
		const int error = unload();

		if (error == EPERM)
			throw SkipError("a module may not be unloaded: needs CAP_SYS_MODULE");
		if (error != 0)
			throw SystemError("delete_module", std::string(module), error);
	}
	Unloaded(const Unloaded &) = delete;
	Unloaded &operator=(const Unloaded &) = delete;
	Unloaded(Unloaded &&) = delete;
	Unloaded &operator=(Unloaded &&) = delete;
	~Unloaded()
	{
		try {
			load();
		} catch (const Error &) {
			/* The cases that follow skip: there is no vttm. */
		}
	}

	void load()
	{
		std::vector<std::string> argv = {"modprobe", std::string(module)};

		if (loaded_)
			return;
		for (const auto &[name, value] : parameters_)
			argv.push_back(fmt::format("{}={}", name, value));
		run_or_throw(argv);
		loaded_ = true;
	}

private:
	std::map<std::string, std::string> parameters_;
	bool loaded_ = false;
};

/* Nothing of the module's is left behind, and it works when it is back. */
void expect_clean_unload(const Areas &before)
{
	Unloaded unloaded;

	expect_areas_as_before(before);
	unloaded.load();
	const VttmInstance instance({});
	const DrmDevice device = instance.open();
	VttmObject(device, bytes, DRM_VTTM_CACHING_CACHED).populate();
	expect_no_leak(device);
}

void while_a_folder_exists(KtapWriter & /*ktap*/)
{
	const Areas before = read_cma_areas();

	{
		const VttmInstance instance({});

		expect_busy("a folder in configfs");
		instance.remove();
		expect_busy("a folder in configfs without a device");
	}
	expect_clean_unload(before);
}

void while_open(KtapWriter & /*ktap*/)
{
	const Areas before = read_cma_areas();

	{
		const DrmDevice device = DrmDevice::open(module);

		expect_busy("an open file");
		const VttmObject object(device, bytes, DRM_VTTM_CACHING_WRITE_COMBINED);
		object.populate();
		expect_busy("an object with pages");
	}
	expect_clean_unload(before);
}

void while_mapped(KtapWriter & /*ktap*/)
{
	const Areas before = read_cma_areas();

	{
		std::optional<DrmDevice> device = DrmDevice::open(module);
		const VttmObject object(*device, bytes, DRM_VTTM_CACHING_CACHED);

		object.populate();
		/* The mapping alone stays. Its object then has no handle to close. */
		device.reset();
		expect_busy("a mapping");
		object.bytes().front() = std::byte{1};
	}
	expect_clean_unload(before);
}

void after_removal(KtapWriter & /*ktap*/)
{
	const Areas before = read_cma_areas();

	{
		std::optional<VttmInstance> instance(std::in_place, VttmConfig{});
		const DrmDevice device = instance->open();
		const VttmObject object(device, bytes, DRM_VTTM_CACHING_WRITE_COMBINED);

		object.populate();
		instance.reset();
		expect_busy("an open file and a mapping of a device that is gone");
	}
	expect_clean_unload(before);
}

void while_bound(KtapWriter & /*ktap*/)
{
	const Areas before = read_cma_areas();
	const VttmPciFunction function;

	{
		const DrmDevice device = function.open();

		VttmObject(device, bytes, DRM_VTTM_CACHING_CACHED).populate();
		expect_busy("an open file of a PCI function");
	}
	/* Its pool has kept pages. */
	expect_clean_unload(before);
}

} // namespace

std::vector<VttmCase> vttm_unload_cases()
{
	return {
		{"vttm-unload-while-a-folder-exists", while_a_folder_exists},
		{"vttm-unload-while-open", while_open},
		{"vttm-unload-while-mapped", while_mapped},
		{"vttm-unload-after-removal", after_removal},
		{"vttm-unload-while-bound", while_bound},
	};
}

} // namespace nocma::cli
