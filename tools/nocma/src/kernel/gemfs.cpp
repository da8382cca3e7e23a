// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/gemfs.hpp"

#include <charconv>

#include "kernel/iommu.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace fs = std::filesystem;

namespace
{

constexpr std::uint64_t huge_bytes = 2 << 20;

/* From here on the driver asks for the GPU's own group, and GPUs of version 11 have no choice. */
constexpr KernelVersion asks_for_group = {6, 0};
constexpr unsigned int always_huge = 11;

/* "graphics version: 5" of i915_capabilities, "gen: 5" before 5.14; 0 when it is neither. */
unsigned int parse_graphics_version(std::string_view capabilities)
{
	for (const std::string &line : split_lines(capabilities))
		for (const std::string_view label : {"graphics version: ", "gen: "})
			if (line.starts_with(label)) {
				unsigned int version = 0;

				std::from_chars(line.data() + label.size(),
						line.data() + line.size(), version);
				return version;
			}
	return 0;
}

/* Of all cards: debugfs has a folder per minor, and one i915 is what a machine has. */
unsigned int read_graphics_version(const fs::path &dri)
{
	std::error_code missing;

	for (const fs::directory_entry &entry : fs::directory_iterator(dri, missing))
		if (const auto text = try_read_file(entry.path() / "i915_capabilities"))
			return parse_graphics_version(*text);
	return 0;
}

bool has_entries(const fs::path &folder)
{
	std::error_code missing;

	return fs::directory_iterator(folder, missing) != fs::directory_iterator();
}

/* The option may be one of several: "intel_iommu=on,igfx_off". */
bool exempts_graphics(std::string_view command_line)
{
	constexpr std::string_view label = "intel_iommu=";

	for (const std::string &word : split(trim(command_line), ' '))
		if (word.starts_with(label))
			for (const std::string &option : split(word.substr(label.size()), ','))
				if (option == "igfx_off")
					return true;
	return false;
}

/* Hypervisors that the kernel has a type for: TCG is none of them. */
bool is_known_hypervisor(std::string_view accelerator)
{
	return accelerator != "tcg" && accelerator != "none" && accelerator != "unknown";
}

} // namespace

bool GemfsState::vtd_active() const
{
	if (guest)
		return true;
	return kernel < asks_for_group ? iommu && !graphics_exempt : !group_type.empty();
}

bool GemfsState::wants_huge() const
{
	return vtd_active() || (kernel >= asks_for_group && graphics_version >= always_huge);
}

bool GemfsState::mounts_huge() const
{
	return wants_huge() && !shmem_enabled.empty();
}

bool GemfsState::gets_huge() const
{
	return mounts_huge() && shmem_enabled != "deny";
}

std::string selected_word(std::string_view text)
{
	const std::size_t begin = text.find('[');
	const std::size_t end = text.find(']', begin);

	if (begin == std::string_view::npos || end == std::string_view::npos)
		return "";
	return std::string(text.substr(begin + 1, end - begin - 1));
}

GemfsState read_gemfs_state(const fs::path &device, std::string_view accelerator,
			    const fs::path &root)
{
	const fs::path sys = root / "sys";
	const fs::path proc = root / "proc";

	return {.kernel = parse_kernel_version(read_file(proc / "sys/kernel/osrelease")),
		.graphics_version = read_graphics_version(sys / "kernel/debug/dri"),
		.group_type = iommu_domain_type(device),
		.iommu = has_entries(sys / "class/iommu"),
		.graphics_exempt = exempts_graphics(read_file(proc / "cmdline")),
		.guest = is_known_hypervisor(accelerator),
		.shmem_enabled = selected_word(
			try_read_file(sys / "kernel/mm/transparent_hugepage/shmem_enabled")
				.value_or(""))};
}

ObjectPages pages_within_size(KernelVersion kernel, std::uint64_t bytes)
{
	constexpr KernelVersion leaves_tail_small = {5, 16};
	const bool rounds_up = kernel < leaves_tail_small && bytes >= huge_bytes;
	const std::uint64_t huge = rounds_up ? (bytes + huge_bytes - 1) / huge_bytes * huge_bytes
					     : bytes / huge_bytes * huge_bytes;

	return {.huge = huge, .total = huge > bytes ? huge : bytes};
}

} // namespace nocma
