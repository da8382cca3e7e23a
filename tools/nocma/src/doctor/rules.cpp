// SPDX-License-Identifier: GPL-2.0-only
#include "doctor/rules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "util/file.hpp"

/*
 * What kernels do, by version; the sources read are those of the targets (patches/targets.conf).
 * Between two of them that differ, and where the change was not looked up, the answer is unknown
 * unless both give the same.
 */
namespace nocma::doctor
{

namespace
{

constexpr KernelVersion gemfs{4, 15, 0};
/* drm_need_swiotlb(): the pool depends on where memory ends. */
constexpr KernelVersion need_swiotlb{4, 17, 0};
/* Single pages no longer come from shared areas. */
constexpr KernelVersion single_pages_spared{5, 3, 0};
constexpr KernelVersion new_pool{5, 11, 0};
/* i915 asks for huge pages behind VT-d, and counts it for the GPU alone. */
constexpr KernelVersion i915_huge{5, 16, 0};
constexpr KernelVersion beneficial_order{6, 19, 0};
/* nouveau's pool: as swiotlb is until here, as where memory ends from there. */
constexpr KernelVersion nouveau_by_swiotlb{6, 2, 0};
constexpr KernelVersion nouveau_by_address{6, 12, 0};

constexpr const char *guest_counts = "a guest counts as behind VT-d";

Reason yes(std::string why)
{
	return {Answer::yes, std::move(why)};
}

Reason no(std::string why)
{
	return {Answer::no, std::move(why)};
}

Reason unknown(std::string why)
{
	return {Answer::unknown, std::move(why)};
}

Reason version_missing()
{
	return unknown("/proc/sys/kernel/osrelease tells no version");
}

bool before(const Facts &facts, const KernelVersion &version)
{
	return *facts.version < version;
}

/* The answer, unless what is only known with /proc/cpuinfo would change it. */
Reason unless(const std::optional<bool> &known, Reason answer, std::string_view changed_by)
{
	return known ? std::move(answer)
		     : unknown(fmt::format("whether {} is in /proc/cpuinfo", changed_by));
}

/* Until 5.10 VT-d switched bounce buffers off for the whole machine. */
Reason swiotlb_active(const Facts &facts)
{
	if (facts.swiotlb)
		return *facts.swiotlb ? yes("swiotlb is in use")
				      : no("swiotlb is not in use (debugfs)");
	if (parameter(facts.command_line, "swiotlb").value_or("").starts_with("force"))
		return yes("swiotlb=force");
	if (before(facts, new_pool) && facts.dmar)
		return no("VT-d is on, which switches swiotlb off");
	if (!facts.memory_above_4g)
		return unknown("whether memory lies above 4 GiB is in /proc/zoneinfo");
	return *facts.memory_above_4g ? yes("memory above 4 GiB, so swiotlb is in use")
				      : no("no memory above 4 GiB, so swiotlb is not in use");
}

Reason memory_above_mask(const Facts &facts, const Gpu &gpu)
{
	if (!gpu.dma_bits)
		return unknown(fmt::format("{}: no dma_mask_bits in sysfs", gpu.card));
	if (*gpu.dma_bits >= 64)
		return no("the device reaches all addresses");
	const std::string mask = fmt::format("the device's DMA mask of {} bits", *gpu.dma_bits);
	const std::string end = fmt::format("{:#x}", facts.highest_address);

	if (facts.highest_address > std::uint64_t{1} << *gpu.dma_bits)
		return yes(fmt::format("addresses up to {} lie above {}", end, mask));
	if (facts.highest_is_certain)
		return no(fmt::format("addresses end at {}, within {}", end, mask));
	return unknown(
		fmt::format("whether addresses lie above {} is in /proc/iomem, for root", mask));
}

/* radeon and amdgpu; nouveau from 6.12 on. */
Reason needs_swiotlb(const Facts &facts, const Gpu &gpu)
{
	if (facts.xen_pv)
		return yes("a Xen PV guest has its pages bounced");
	if (facts.memory_encryption == true)
		return yes("memory is encrypted");
	const Reason by_address = memory_above_mask(facts, gpu);

	return by_address.answer == Answer::no
		       ? unless(facts.memory_encryption, by_address, "memory is encrypted")
		       : by_address;
}

/* Both have to be. */
Reason both(const Reason &first, const Reason &second)
{
	if (first.answer == Answer::no || second.answer == Answer::no)
		return first.answer == Answer::no ? first : second;
	if (first.answer == Answer::unknown || second.answer == Answer::unknown)
		return first.answer == Answer::unknown ? first : second;
	return yes(fmt::format("{}; {}", first.why, second.why));
}

Reason nouveau_uses_dma_api(const Facts &facts, const Gpu &gpu)
{
	if (before(facts, nouveau_by_swiotlb))
		return swiotlb_active(facts);
	Reason by_address = needs_swiotlb(facts, gpu);

	if (!before(facts, nouveau_by_address))
		return by_address;
	const Reason by_swiotlb = swiotlb_active(facts);

	if (by_swiotlb.answer == by_address.answer)
		return by_address;
	return unknown(fmt::format("nouveau's rule changed between 6.1 ({}) and 6.12 ({}); nocma "
				   "trace --live shows which one this kernel has",
				   by_swiotlb.why, by_address.why));
}

Reason vmwgfx_uses_dma_api(const Facts &facts)
{
	if (facts.force_coherent == true)
		return yes("force_coherent is set");
	if (facts.memory_encryption == true && !before(facts, new_pool))
		return yes("memory is encrypted");
	if (facts.force_coherent == false)
		return before(facts, new_pool)
			       ? no("force_coherent is not set")
			       : unless(facts.memory_encryption, no("force_coherent is not set"),
					"memory is encrypted");
	return unknown("/sys/module/vmwgfx/parameters/force_coherent, for root, tells");
}

struct Generation {
	std::uint32_t first_byte; /* of the PCI device id */
	bool is_11;		  /* or later */
};

/* i915's device ids, by their upper half. */
constexpr std::array generations = {
	Generation{0x00, false}, /* Ironlake */
	Generation{0x01, false}, /* Sandy Bridge, Ivy Bridge */
	Generation{0x04, false}, /* Haswell */
	Generation{0x0a, false}, /* Haswell, Broxton */
	Generation{0x0c, false}, Generation{0x0d, false}, Generation{0x0f, false}, /* Valley View */
	Generation{0x16, false},						   /* Broadwell */
	Generation{0x22, false},						   /* Cherry View */
	Generation{0x19, false},						   /* Skylake */
	Generation{0x1a, false},						   /* Broxton */
	Generation{0x5a, false}, /* Broxton, Cannon Lake */
	Generation{0x31, false}, /* Gemini Lake */
	Generation{0x59, false}, /* Kaby Lake */
	Generation{0x87, false}, /* Amber Lake */
	Generation{0x3e, false}, /* Coffee Lake, Whiskey Lake */
	Generation{0x9b, false}, /* Comet Lake */
	Generation{0x8a, true},	 /* Ice Lake */
	Generation{0x45, true},	 /* Elkhart Lake */
	Generation{0x4e, true},	 /* Jasper Lake */
	Generation{0x9a, true},	 /* Tiger Lake */
	Generation{0x4c, true},	 /* Rocket Lake */
	Generation{0x49, true},	 /* DG1 */
	Generation{0x46, true},	 /* Alder Lake */
	Generation{0xa7, true},	 /* Raptor Lake */
	Generation{0x56, true},	 /* DG2 */
	Generation{0x7d, true},	 /* Meteor Lake, Arrow Lake */
	Generation{0xb6, true},	 /* Arrow Lake */
};

/* The last of "on" and "intgpu_off" counts; Debian builds its kernels with the latter. */
bool spares_integrated_gpus(const Facts &facts, std::string_view asked)
{
	bool spared = facts.config && facts.config->has("CONFIG_INTEL_IOMMU_DEFAULT_ON_INTGPU_OFF");

	for (const std::string &option : split(asked, ','))
		if (option == "on" || option == "intgpu_off")
			spared = option == "intgpu_off";
	return spared;
}

/*
 * 4.15 and 5.10 ask whether VT-d maps graphics on this machine, not which GPU; to one that is not
 * translated it makes no difference, whatever they take it for.
 */
Reason vtd_of_the_machine(const Facts &facts, const Gpu &gpu)
{
	const std::string asked = parameter(facts.command_line, "intel_iommu").value_or("");

	if (facts.guest == true)
		return yes(guest_counts);
	if (!facts.dmar)
		return no("VT-d is off");
	if (asked.find("igfx_off") != std::string::npos)
		return no(fmt::format("VT-d is on, but intel_iommu={} spares the GPU", asked));
	if (gpu.iommu_domain == "identity")
		return no("VT-d is on, but the GPU's IOMMU domain is identity");
	/* Before 4.20 sysfs does not tell the domain. */
	if (gpu.iommu_domain.empty() && spares_integrated_gpus(facts, asked))
		return no("VT-d is on, but spares integrated GPUs (intgpu_off, or configured so)");
	return yes("VT-d is on; this kernel asks for the whole machine");
}

Reason vtd_of_the_gpu(const Facts &facts, const Gpu &gpu)
{
	if (gpu.in_iommu_group)
		return yes(gpu.iommu_domain.empty()
				   ? "the GPU is in an IOMMU group"
				   : fmt::format("the GPU is in an IOMMU group ({})",
						 gpu.iommu_domain));
	return facts.guest == true ? yes(guest_counts) : no("the GPU is in no IOMMU group");
}

} // namespace

std::optional<bool> is_graphics_11(std::uint32_t pci_id)
{
	constexpr std::uint32_t intel = 0x8086;
	const auto found = std::find_if(
		generations.begin(), generations.end(), [pci_id](const Generation &generation) {
			return generation.first_byte == ((pci_id & 0xffffU) >> 8U);
		});

	if (pci_id >> 16U != intel || found == generations.end())
		return std::nullopt;
	return found->is_11;
}

Reason uses_dma_api(const Facts &facts, const Gpu &gpu)
{
	const bool by_swiotlb = gpu.driver == "radeon" || gpu.driver == "amdgpu";

	if (!gpu.driver)
		return unknown(
			fmt::format("/sys/class/drm/{}/device/uevent tells the driver", gpu.card));
	if (gpu.driver == "")
		return no("no driver");
	if (!by_swiotlb && gpu.driver != "nouveau" && gpu.driver != "vmwgfx")
		return no(fmt::format("{} is none of the drivers whose TTM pool can (amdgpu, "
				      "nouveau, radeon, vmwgfx)",
				      *gpu.driver));
	if (!facts.version)
		return version_missing();
	if (gpu.driver == "vmwgfx")
		return vmwgfx_uses_dma_api(facts);
	if (gpu.driver == "nouveau")
		return nouveau_uses_dma_api(facts, gpu);
	if (before(facts, need_swiotlb))
		return swiotlb_active(facts);
	if (before(facts, new_pool))
		return both(needs_swiotlb(facts, gpu), swiotlb_active(facts));
	return needs_swiotlb(facts, gpu);
}

Reason reaches_cma(const Facts &facts, const Gpu &gpu)
{
	constexpr unsigned int dma32 = 32;

	if (!facts.version)
		return version_missing();
	if (before(facts, single_pages_spared))
		return yes("every single page");
	if (!before(facts, beneficial_order))
		return yes("chunks of 2 pages and more, up to the size that suits the device");
	if (!before(facts, new_pool))
		return yes("chunks of 2 pages and more");
	if (gpu.dma_bits.value_or(64) <= dma32)
		return no("a device limited to 4 GiB gets single pages, and those come from "
			  "elsewhere since 5.3");
	return facts.huge_pages ? yes("chunks of 2 MiB")
				: no("without huge pages TTM asks for single pages, and those come "
				     "from elsewhere since 5.3");
}

Reason vtd_counts(const Facts &facts, const Gpu &gpu)
{
	if (!facts.version)
		return version_missing();
	Reason vtd = before(facts, i915_huge) ? vtd_of_the_machine(facts, gpu)
					      : vtd_of_the_gpu(facts, gpu);

	return vtd.answer == Answer::no ? unless(facts.guest, vtd, "this is a guest") : vtd;
}

Reason wants_huge_pages(const Facts &facts, const Gpu &gpu)
{
	if (!facts.version)
		return version_missing();
	if (!facts.huge_pages)
		return no("this kernel or CPU offers no transparent huge pages");
	if (before(facts, gemfs))
		return unknown("kernels before 4.15 were not looked at");
	if (before(facts, i915_huge))
		return no(before(facts, need_swiotlb) ? "this kernel switches them off (huge=never)"
						      : "this kernel never asks for them");
	Reason vtd = vtd_counts(facts, gpu);

	if (vtd.answer == Answer::yes)
		return vtd;
	const std::optional<bool> is_11 = gpu.pci_id ? is_graphics_11(*gpu.pci_id) : std::nullopt;

	if (!is_11)
		return unknown("the GPU's graphics version: its PCI id is not in nocma's list");
	if (!*is_11 && vtd.answer == Answer::unknown)
		return vtd;
	return *is_11 ? yes("graphics version 11 or later")
		      : no(fmt::format("graphics version below 11, and {}", vtd.why));
}

} // namespace nocma::doctor
