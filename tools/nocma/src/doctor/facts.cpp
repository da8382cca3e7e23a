// SPDX-License-Identifier: GPL-2.0-only
#include "doctor/facts.hpp"

#include <algorithm>
#include <system_error>

#include <sys/utsname.h>

#include <fmt/format.h>

#include "kernel/counters.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/number.hpp"

namespace nocma::doctor
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t four_gib = std::uint64_t{1} << 32U;

std::string line_of(const fs::path &file)
{
	return std::string(trim(try_read_file(file).value_or("")));
}

std::optional<std::uint64_t> hex(std::string_view text)
{
	text = trim(text);
	return parse_number(text.starts_with("0x") ? text.substr(2) : text, 16);
}

/* The word behind `label` on the first line that begins with it. */
std::optional<std::string> field(std::string_view text, std::string_view label)
{
	for (const std::string &line : split_lines(text))
		if (trim(line).starts_with(label))
			return std::string(trim(trim(line).substr(label.size())));
	return std::nullopt;
}

std::string architecture_of(const Facts &facts, const fs::path &root)
{
	/* 6.1 and later */
	const std::string told = line_of(root / "proc/sys/kernel/arch");

	if (!told.empty())
		return told == "aarch64" ? "arm64" : told;
	if (facts.config && facts.config->has("CONFIG_X86_64"))
		return "x86_64";
	if (facts.config && facts.config->has("CONFIG_ARM64"))
		return "arm64";
	if (root != "/")
		return "";
	utsname names{};

	::uname(&names);
	return std::string_view(names.machine) == "aarch64" ? "arm64" : names.machine;
}

/* Ends of memory, from the zones that pages are in; readable by everybody. */
std::uint64_t end_of_memory(std::string_view zoneinfo)
{
	std::uint64_t spanned = 0;
	std::uint64_t end = 0;

	for (const std::string &line : split_lines(zoneinfo)) {
		const std::string_view text = trim(line);

		if (text.starts_with("Node "))
			spanned = 0;
		if (text.starts_with("spanned "))
			spanned = parse_number(trim(text.substr(8))).value_or(0);
		if (text.starts_with("start_pfn:") && spanned != 0)
			end = std::max(end,
				       (parse_number(trim(text.substr(10))).value_or(0) + spanned) *
					       page_bytes);
	}
	return end;
}

/* "c0000000-ffffffff : name" or, in PCI's files, "0xc0000000 0xffffffff 0x40200". */
std::uint64_t highest_end(std::string_view text, char separator)
{
	std::uint64_t end = 0;

	for (const std::string &line : split_lines(text)) {
		/* Children of a resource lie within it. */
		const std::vector<std::string> parts = split(line, separator);

		if (parts.size() >= 2 && !line.starts_with(' '))
			end = std::max(
				end,
				hex(split(std::string(trim(parts[1])), ' ').front()).value_or(0));
	}
	return end;
}

void read_addresses(Facts &facts, const fs::path &root)
{
	std::error_code missing;
	const std::optional<std::string> zones = try_read_file(root / "proc/zoneinfo");
	const std::uint64_t memory = end_of_memory(zones.value_or(""));

	if (zones)
		facts.memory_above_4g = memory > four_gib;
	facts.highest_address = highest_end(try_read_file(root / "proc/iomem").value_or(""), '-');
	/* For others than root all addresses read as 0. */
	facts.highest_is_certain = facts.highest_address != 0;
	if (facts.highest_is_certain)
		return;
	facts.highest_address = memory;
	for (const fs::directory_entry &device :
	     fs::directory_iterator(root / "sys/bus/pci/devices", missing))
		facts.highest_address = std::max(
			facts.highest_address,
			highest_end(try_read_file(device.path() / "resource").value_or(""), ' '));
}

bool has_cpu_flag(std::string_view cpuinfo, std::string_view wanted)
{
	const std::string flags = field(cpuinfo, "flags").value_or("");
	const std::vector<std::string> words = split(flags, ' ');

	return std::find(words.begin(), words.end(), wanted) != words.end();
}

/* SEV and TDX guests, or a host that turned SME on. */
bool has_memory_encryption(std::string_view cpuinfo, const Facts &facts)
{
	const bool confidential = facts.guest == true && (has_cpu_flag(cpuinfo, "sev") ||
							  has_cpu_flag(cpuinfo, "tdx_guest"));
	const std::optional<std::string> asked = parameter(facts.command_line, "mem_encrypt");
	const bool by_default =
		facts.config && facts.config->has("CONFIG_AMD_MEM_ENCRYPT_ACTIVE_BY_DEFAULT");

	return confidential ||
	       (has_cpu_flag(cpuinfo, "sme") && (asked == "on" || (by_default && asked != "off")));
}

std::optional<bool> read_swiotlb(const fs::path &root)
{
	const std::optional<std::uint64_t> slots =
		parse_number(line_of(root / "sys/kernel/debug/swiotlb/io_tlb_nslabs"));

	return slots ? std::optional(*slots != 0) : std::nullopt;
}

std::optional<bool> read_flag(const fs::path &root)
{
	for (const char *const folder : {"sys/kernel/tracing", "sys/kernel/debug/tracing"})
		if (const std::optional<std::string> format =
			    try_read_file(root / folder / "events/kmem/mm_page_alloc/format"))
			return format->find("__GFP_NOCMA") != std::string::npos;
	return std::nullopt;
}

std::optional<bool> read_force_coherent(const Facts &facts, const fs::path &root)
{
	const std::optional<std::uint64_t> value =
		parse_number(line_of(root / "sys/module/vmwgfx/parameters/force_coherent"));
	const std::optional<std::string> asked =
		parameter(facts.command_line, "vmwgfx.force_coherent");

	if (value)
		return *value != 0;
	return asked ? std::optional(*asked != "0") : std::nullopt;
}

std::optional<std::uint32_t> pci_id_of(std::string_view uevent)
{
	const std::vector<std::string> parts = split(field(uevent, "PCI_ID=").value_or(""), ':');
	const std::optional<std::uint64_t> vendor = hex(parts.front());
	const std::optional<std::uint64_t> device = hex(parts.back());

	if (parts.size() != 2 || !vendor || !device)
		return std::nullopt;
	return static_cast<std::uint32_t>(*vendor << 16U | *device);
}

Gpu read_gpu(const fs::path &card)
{
	const fs::path device = card / "device";
	const std::optional<std::string> told = try_read_file(device / "uevent");
	const std::string uevent = told.value_or("");
	std::error_code missing;
	Gpu gpu;

	gpu.card = card.filename();
	if (told)
		gpu.driver = field(uevent, "DRIVER=").value_or("");
	gpu.slot = field(uevent, "PCI_SLOT_NAME=").value_or("");
	gpu.pci_id = pci_id_of(uevent);
	if (const auto bits = parse_number(line_of(device / "dma_mask_bits")))
		gpu.dma_bits = static_cast<unsigned int>(*bits);
	gpu.in_iommu_group = fs::exists(device / "iommu_group", missing);
	gpu.iommu_domain = line_of(device / "iommu_group/type");
	return gpu;
}

/* "card0", not its connectors "card0-HDMI-A-1". */
bool is_card(std::string_view name)
{
	constexpr std::string_view prefix = "card";

	return name.starts_with(prefix) && parse_number(name.substr(prefix.size()));
}

void read_gpus(Facts &facts, const fs::path &root)
{
	const fs::path folder = root / "sys/class/drm";
	std::error_code missing;

	for (const fs::directory_entry &entry : fs::directory_iterator(folder, missing))
		if (is_card(entry.path().filename().native()))
			facts.gpus.push_back(read_gpu(entry.path()));
	std::sort(facts.gpus.begin(), facts.gpus.end(),
		  [](const Gpu &a, const Gpu &b) { return a.card < b.card; });
	/* Without a DRM driver the class is not there, but others are. */
	facts.has_drm_class = fs::exists(root / "sys/class", missing);
}

bool has_dmar(const fs::path &root)
{
	std::error_code missing;

	for (const fs::directory_entry &entry :
	     fs::directory_iterator(root / "sys/class/iommu", missing))
		if (entry.path().filename().native().starts_with("dmar"))
			return true;
	return false;
}

Facts read_all(const fs::path &root)
{
	std::error_code missing;
	Facts facts;
	const std::optional<std::string> cpuinfo = try_read_file(root / "proc/cpuinfo");

	facts.release = line_of(root / "proc/sys/kernel/osrelease");
	facts.version = try_parse_kernel_version(facts.release);
	facts.config = read_config(root, facts.release);
	facts.architecture = architecture_of(facts, root);
	facts.command_line = line_of(root / "proc/cmdline");
	/* An empty file is one that could not be copied: it says nothing of an area. */
	facts.has_meminfo = !trim(try_read_file(root / "proc/meminfo").value_or("")).empty();
	if (facts.has_meminfo) {
		facts.cma = read_cma_state(root / "proc", root / "sys/kernel/debug");
		facts.shmem_huge_bytes =
			find_counter(read_meminfo(root / "proc"), "ShmemHugePages");
	}
	facts.has_flag = read_flag(root);
	if (cpuinfo) {
		facts.guest = has_cpu_flag(*cpuinfo, "hypervisor");
		facts.memory_encryption = has_memory_encryption(*cpuinfo, facts);
	}
	facts.xen_pv = line_of(root / "sys/hypervisor/type") == "xen" &&
		       line_of(root / "sys/hypervisor/guest_type") != "HVM" &&
		       line_of(root / "sys/hypervisor/guest_type") != "PVH";
	read_addresses(facts, root);
	facts.swiotlb = read_swiotlb(root);
	facts.force_coherent = read_force_coherent(facts, root);
	facts.dmar = has_dmar(root);
	facts.huge_pages = fs::exists(root / "sys/kernel/mm/transparent_hugepage", missing);
	read_gpus(facts, root);
	return facts;
}

} // namespace

std::optional<std::string> parameter(std::string_view command_line, std::string_view name)
{
	std::optional<std::string> value;

	for (const std::string &word : split(trim(command_line), ' ')) {
		if (word == name)
			value = "";
		if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=')
			value = word.substr(name.size() + 1);
	}
	return value;
}

Facts read_facts(const fs::path &root)
{
	std::error_code missing;

	if (!fs::exists(root / "proc", missing) && !fs::exists(root / "sys", missing))
		throw UsageError(fmt::format(
			"{}: neither proc nor sys in it: not a machine nor a record of one",
			root.native()));
	try {
		return read_all(root);
	} catch (const Error &error) {
		throw SkipError(error.what());
	}
}

} // namespace nocma::doctor
