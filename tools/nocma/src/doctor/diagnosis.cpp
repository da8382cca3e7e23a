// SPDX-License-Identifier: GPL-2.0-only
#include "doctor/diagnosis.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "doctor/rules.hpp"
#include "series/targets.hpp"

namespace nocma::doctor
{

namespace
{

constexpr const char *stall = "cma stall";
constexpr const char *huge_pages = "huge pages";

/* A mount with huge pages gave small ones. */
constexpr KernelVersion small_folios{6, 14, 0};
constexpr KernelVersion small_folios_fixed_in_6_15{6, 15, 10};
constexpr KernelVersion next_after_6_15{6, 16, 0};
constexpr KernelVersion small_folios_fixed{6, 17, 0};

std::string device_name(const Gpu &gpu)
{
	const std::string driver = gpu.driver.value_or("");

	return driver.empty() ? gpu.card : fmt::format("{} ({})", gpu.card, driver);
}

/* "series v6.12, patches mm, dma, drm/ttm" */
std::string patches(const Facts &facts, const std::string &which)
{
	const series::Target *const target = series::served_target(facts.release);

	if (target == nullptr)
		return fmt::format("the series' {}; none is ready for {}, see nocma series status",
				   which, facts.release.empty() ? "this kernel" : facts.release);
	return fmt::format("series {}: {}", target->name, which);
}

std::string size_text(std::uint64_t bytes)
{
	constexpr std::uint64_t mib = 1U << 20U;

	return fmt::format("{} MiB", bytes / mib);
}

/* What holds whatever GPU there is; no findings when it depends. */
std::vector<Finding> without_shared_cma(const Facts &facts)
{
	const auto not_affected = [](std::string why) {
		return Finding{Status::not_affected, stall, "", std::move(why), ""};
	};

	if (!facts.has_meminfo)
		return {{Status::cannot_tell, stall, "", "whether there is a CMA area",
			 "/proc/meminfo tells"}};
	if (!facts.cma.total_bytes)
		return {not_affected("the kernel is built without CONFIG_CMA")};
	if (*facts.cma.total_bytes == 0)
		return {not_affected("there is no CMA area; cma=SIZE would make one")};
	if (facts.config && !facts.config->has("CONFIG_DMA_CMA"))
		return {not_affected("the DMA API does not use CMA: CONFIG_DMA_CMA is not set")};
	if (facts.has_flag == true)
		return {not_affected("this kernel has __GFP_NOCMA: the series is in it")};
	return {};
}

Finding stall_of(const Facts &facts, const Gpu &gpu)
{
	Finding finding{Status::cannot_tell, stall, device_name(gpu), "", ""};
	const Reason pool = uses_dma_api(facts, gpu);
	const Reason reach = reaches_cma(facts, gpu);

	if (pool.answer == Answer::no) {
		finding.status = Status::not_affected;
		finding.why =
			fmt::format("its pool does not allocate through the DMA API: {}", pool.why);
		return finding;
	}
	if (reach.answer == Answer::no) {
		finding.status = Status::not_affected;
		finding.why =
			fmt::format("this kernel does not take its pages from CMA: {}", reach.why);
		return finding;
	}
	if (pool.answer == Answer::unknown || reach.answer == Answer::unknown) {
		finding.why = "whether its pool allocates through the DMA API";
		finding.help = pool.answer == Answer::unknown ? pool.why : reach.why;
		return finding;
	}
	if (!facts.config) {
		finding.why = "whether the DMA API uses the CMA area (CONFIG_DMA_CMA)";
		finding.help =
			fmt::format("/proc/config.gz or /boot/config-{} would tell", facts.release);
		return finding;
	}
	finding.status = Status::affected;
	finding.why = fmt::format("its pool allocates through the DMA API ({}), and this kernel "
				  "takes {} from the CMA area of {}",
				  pool.why, reach.why, size_text(*facts.cma.total_bytes));
	finding.help = patches(facts, "mm, dma and drm/ttm keep it out") +
		       "; until then cma=0 does, if nothing else needs the area";
	return finding;
}

/* Kernels whose i915 asks for huge pages by itself. */
Finding huge_pages_wanted(const Facts &facts, const Gpu &gpu)
{
	Finding finding{Status::not_affected, huge_pages, device_name(gpu), "", ""};
	const Reason wanted = wants_huge_pages(facts, gpu);
	const bool small =
		*facts.version >= small_folios && *facts.version < small_folios_fixed &&
		(*facts.version < small_folios_fixed_in_6_15 || *facts.version >= next_after_6_15);

	if (wanted.answer == Answer::unknown) {
		finding.status = Status::cannot_tell;
		finding.why = "whether its objects get huge pages";
		finding.help = wanted.why;
		return finding;
	}
	if (wanted.answer == Answer::no) {
		finding.why = fmt::format("its objects get none, and need none: {}", wanted.why);
		return finding;
	}
	finding.why = fmt::format("its objects may use them: {}", wanted.why);
	if (small) {
		finding.status = Status::affected;
		finding.why += ", but kernels 6.14 to 6.16 hand out small ones all the same";
		finding.help = "no series: update to 6.15.10 or to 6.17 and later";
	}
	return finding;
}

Finding huge_pages_of(const Facts &facts, const Gpu &gpu)
{
	Finding finding{Status::cannot_tell, huge_pages, device_name(gpu), "", ""};
	const Reason wanted = wants_huge_pages(facts, gpu);

	if (!facts.version) {
		finding.why = "what this kernel's i915 does";
		finding.help = wanted.why;
		return finding;
	}
	if (wanted.answer != Answer::no || *facts.version >= KernelVersion{5, 16, 0})
		return huge_pages_wanted(facts, gpu);

	const Reason vtd = vtd_counts(facts, gpu);
	if (facts.huge_pages && vtd.answer == Answer::unknown) {
		finding.why = "whether the GPU is behind VT-d";
		finding.help = vtd.why;
		return finding;
	}
	finding.status = Status::not_affected;
	if (!facts.huge_pages || vtd.answer != Answer::yes) {
		finding.why = fmt::format("its objects get none, and need none: {}",
					  facts.huge_pages ? vtd.why : wanted.why);
		return finding;
	}
	finding.status = Status::affected;
	finding.why = fmt::format("{}, but {}: each page costs an entry of the IOTLB", vtd.why,
				  wanted.why);
	finding.help = patches(facts, "drm/i915 mounts its memory with huge pages");
	return finding;
}

std::string_view name_of(Status status)
{
	switch (status) {
	case Status::not_affected:
		return "not affected";
	case Status::affected:
		return "affected";
	case Status::cannot_tell:
		break;
	}
	return "cannot tell";
}

std::string known_or(const std::string &text, const std::string &otherwise)
{
	return text.empty() ? otherwise : text;
}

std::string cma_text(const Facts &facts)
{
	if (!facts.has_meminfo)
		return "absent: /proc/meminfo cannot be read";
	if (!facts.cma.total_bytes)
		return "none: no CmaTotal in /proc/meminfo";
	std::string text = size_text(*facts.cma.total_bytes);

	if (facts.cma.free_bytes)
		text += fmt::format(", {} of it free", size_text(*facts.cma.free_bytes));
	if (const std::optional<std::string> asked = parameter(facts.command_line, "cma"))
		text += fmt::format(", cma={}", *asked);
	if (facts.config)
		text += fmt::format(
			", CONFIG_DMA_CMA={}, CONFIG_CMA_SIZE_MBYTES={}",
			facts.config->value("CONFIG_DMA_CMA").value_or("n"),
			facts.config->value("CONFIG_CMA_SIZE_MBYTES").value_or("absent"));
	if (!facts.cma.areas && *facts.cma.total_bytes != 0)
		return text + "; areas absent: /sys/kernel/debug/cma cannot be read (root, "
			      "CONFIG_CMA_DEBUGFS)";
	return text;
}

std::string gpu_text(const Gpu &gpu)
{
	std::string text = known_or(gpu.driver.value_or("driver absent"), "no driver");

	if (gpu.pci_id)
		text += fmt::format(" {:04x}:{:04x}", *gpu.pci_id >> 16U, *gpu.pci_id & 0xffffU);
	if (!gpu.slot.empty())
		text += fmt::format(" at {}", gpu.slot);
	text += gpu.dma_bits ? fmt::format(", DMA mask of {} bits", *gpu.dma_bits)
			     : ", DMA mask absent";
	text += gpu.in_iommu_group ? fmt::format(", IOMMU group, domain {}",
						 known_or(gpu.iommu_domain, "absent"))
				   : ", no IOMMU group";
	return text;
}

template <typename T> nlohmann::json or_null(const std::optional<T> &value)
{
	return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json json_of(const Facts &facts, const Gpu &gpu)
{
	const Reason pool = uses_dma_api(facts, gpu);
	nlohmann::json uses_dma;

	if (pool.answer != Answer::unknown)
		uses_dma = pool.answer == Answer::yes;
	return {{"card", gpu.card},
		{"driver", or_null(gpu.driver)},
		{"slot", gpu.slot},
		{"pci_id", gpu.pci_id ? nlohmann::json(fmt::format("{:08x}", *gpu.pci_id))
				      : nlohmann::json()},
		{"dma_mask_bits", or_null(gpu.dma_bits)},
		{"in_iommu_group", gpu.in_iommu_group},
		{"iommu_domain", gpu.iommu_domain},
		{"pool_uses_dma_api", uses_dma},
		{"pool_why", pool.why}};
}

nlohmann::json json_of(const CmaState &cma)
{
	nlohmann::json areas;

	if (cma.areas) {
		areas = nlohmann::json::array();
		for (const CmaArea &area : *cma.areas)
			areas.push_back({{"name", area.name},
					 {"pages", area.count},
					 {"used_pages", area.used},
					 {"largest_free_run_pages", area.maxchunk}});
	}
	return {{"total_bytes", or_null(cma.total_bytes)},
		{"free_bytes", or_null(cma.free_bytes)},
		{"areas", areas}};
}

} // namespace

Status Diagnosis::status() const
{
	const auto has = [this](Status status) {
		return std::any_of(findings.begin(), findings.end(), [&](const Finding &finding) {
			return finding.status == status;
		});
	};

	if (has(Status::affected))
		return Status::affected;
	return has(Status::cannot_tell) ? Status::cannot_tell : Status::not_affected;
}

Diagnosis diagnose(const Facts &facts)
{
	Diagnosis diagnosis{.findings = without_shared_cma(facts)};
	const bool depends = diagnosis.findings.empty();

	if (facts.gpus.empty())
		diagnosis.findings.push_back(
			facts.has_drm_class
				? Finding{Status::not_affected, "devices", "",
					  "no DRM device, so no TTM and no i915", ""}
				: Finding{Status::cannot_tell, "devices", "",
					  "which GPUs there are", "/sys/class/drm tells"});
	for (const Gpu &gpu : facts.gpus) {
		if (!gpu.driver) {
			diagnosis.findings.push_back({Status::cannot_tell, "devices", gpu.card,
						      "which driver it has",
						      uses_dma_api(facts, gpu).why});
			continue;
		}
		if (depends)
			diagnosis.findings.push_back(stall_of(facts, gpu));
		if (gpu.driver == "i915")
			diagnosis.findings.push_back(huge_pages_of(facts, gpu));
	}
	return diagnosis;
}

std::string to_text(const Facts &facts, const Diagnosis &diagnosis)
{
	std::string text;

	text += fmt::format("kernel:   {}, {}, configuration {}\n",
			    known_or(facts.release, "release absent"),
			    known_or(facts.architecture, "architecture absent"),
			    facts.config ? facts.config->source() : "absent");
	text += fmt::format("cma:      {}\n", cma_text(facts));
	if (facts.cma.areas)
		for (const CmaArea &area : *facts.cma.areas)
			text += fmt::format("cma area: {}: {} of {} pages used, longest free run "
					    "{}\n",
					    area.name, area.used, area.count, area.maxchunk);
	text += fmt::format("huge:     transparent huge pages {}, ShmemHugePages {}\n",
			    facts.huge_pages ? "offered" : "not offered",
			    facts.shmem_huge_bytes ? size_text(*facts.shmem_huge_bytes) : "absent");
	for (const Gpu &gpu : facts.gpus)
		text += fmt::format("{:<9} {}\n", gpu.card + ":", gpu_text(gpu));
	text += '\n';
	for (const Finding &finding : diagnosis.findings) {
		text += fmt::format("{}: {}: {}{}{}\n", finding.topic, name_of(finding.status),
				    finding.device, finding.device.empty() ? "" : ": ",
				    finding.why);
		if (!finding.help.empty())
			text += fmt::format("    {}\n", finding.help);
	}
	return text + fmt::format("verdict: {}\n", name_of(diagnosis.status()));
}

nlohmann::json to_json(const Facts &facts, const Diagnosis &diagnosis)
{
	nlohmann::json devices = nlohmann::json::array();
	nlohmann::json findings = nlohmann::json::array();
	const series::Target *const target = series::served_target(facts.release);

	for (const Gpu &gpu : facts.gpus)
		devices.push_back(json_of(facts, gpu));
	for (const Finding &finding : diagnosis.findings)
		findings.push_back({{"topic", finding.topic},
				    {"status", name_of(finding.status)},
				    {"device", finding.device},
				    {"why", finding.why},
				    {"help", finding.help}});
	return {{"format", "nocma-doctor-1"},
		{"kernel",
		 {{"release", facts.release},
		  {"architecture", facts.architecture},
		  {"config",
		   facts.config ? nlohmann::json(facts.config->source()) : nlohmann::json()},
		  {"command_line", facts.command_line},
		  {"series", target != nullptr ? nlohmann::json(target->name) : nlohmann::json()},
		  {"has_flag", or_null(facts.has_flag)}}},
		{"cma", json_of(facts.cma)},
		{"huge_pages",
		 {{"offered", facts.huge_pages}, {"shmem_bytes", or_null(facts.shmem_huge_bytes)}}},
		{"devices", devices},
		{"findings", findings},
		{"status", name_of(diagnosis.status())}};
}

ExitCode exit_code(Status status)
{
	switch (status) {
	case Status::not_affected:
		return ExitCode::pass;
	case Status::affected:
		return ExitCode::fail;
	case Status::cannot_tell:
		break;
	}
	return ExitCode::skip;
}

} // namespace nocma::doctor
