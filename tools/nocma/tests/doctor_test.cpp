// SPDX-License-Identifier: GPL-2.0-only
/* Each rule by itself; doctor_record_test.cpp has whole machines. */
#include "doctor/diagnosis.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "doctor/rules.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::doctor
{
namespace
{

namespace fs = std::filesystem;
using testing::HasSubstr;

/* A record of a machine: the few files of /proc, /sys and /boot that tell. */
class Record
{
public:
	explicit Record(const std::string &release) : release_(release)
	{
		write("proc/sys/kernel/osrelease", release + "\n");
		write("proc/cmdline", "root=/dev/sda1 quiet\n");
		write("proc/cpuinfo", "flags\t\t: fpu sse\n");
		meminfo("");
		memory(8);
		fs::create_directories(folder_.path() / "sys/class");
	}

	Record &write(const fs::path &file, std::string_view text)
	{
		fs::create_directories((folder_.path() / file).parent_path());
		std::ofstream(folder_.path() / file) << text;
		return *this;
	}

	Record &config(std::string_view text) { return write("boot/config-" + release_, text); }

	Record &cma(unsigned int mib)
	{
		return meminfo(fmt::format("CmaTotal:      {} kB\nCmaFree:      {} kB\n",
					   mib * 1024, mib * 512));
	}

	/* Memory that ends at so many GiB, as everybody may read it. */
	Record &memory(std::uint64_t gib)
	{
		return write("proc/zoneinfo",
			     fmt::format("Node 0, zone   Normal\n  pages free     1000\n"
					 "        spanned  {}\n        present  1000\n"
					 "  start_pfn:           1048576\n",
					 (gib - 4) * 262144));
	}

	/* As root reads it. */
	Record &iomem(std::string_view last)
	{
		return write(
			"proc/iomem",
			fmt::format("00001000-0009ffff : System RAM\n"
				    "100000000-{} : System RAM\n  100000000-ffffffffffff : x\n",
				    last));
	}

	Record &gpu(std::string_view driver, std::string_view pci_id, unsigned int bits)
	{
		const std::string device = "sys/class/drm/card0/device/";

		fs::create_directories(folder_.path() / "sys/class/drm/card0-HDMI-A-1");
		write(device + "uevent", fmt::format("DRIVER={}\nPCI_CLASS=30000\nPCI_ID={}\n"
						     "PCI_SLOT_NAME=0000:00:02.0\n",
						     driver, pci_id));
		return write(device + "dma_mask_bits", fmt::format("{}\n", bits));
	}

	/* Kernels before 4.20 do not tell the domain. */
	Record &vtd(std::string_view domain = "DMA")
	{
		const fs::path group = "sys/class/drm/card0/device/iommu_group";

		fs::create_directories(folder_.path() / "sys/class/iommu/dmar0");
		fs::create_directories(folder_.path() / group);
		return domain.empty() ? *this : write(group / "type", domain);
	}

	Record &thp()
	{
		return write("sys/kernel/mm/transparent_hugepage/enabled",
			     "always [madvise] never\n");
	}

	[[nodiscard]] Facts facts() const { return read_facts(folder_.path()); }
	[[nodiscard]] Diagnosis diagnosis() const { return diagnose(facts()); }

	[[nodiscard]] Finding finding(std::string_view topic) const
	{
		for (const Finding &found : diagnosis().findings)
			if (found.topic == topic)
				return found;
		ADD_FAILURE() << "nothing about " << topic;
		return {};
	}

private:
	Record &meminfo(const std::string &cma)
	{
		return write("proc/meminfo", "MemTotal:     8000000 kB\nMemFree:      4000000 kB\n"
					     "ShmemHugePages:   4096 kB\n" +
						     cma);
	}

	TempDir folder_{"nocma-doctor"};
	std::string release_;
};

constexpr std::string_view with_cma =
	"CONFIG_X86_64=y\nCONFIG_CMA=y\nCONFIG_DMA_CMA=y\nCONFIG_CMA_SIZE_MBYTES=16\n";

/*
 * Debian's 7.2.13+deb14-amd64, as its guest with a radeon and cma=256M was seen by doctor: CMA is
 * built in, an area is there only when it is asked for. What of its configuration is about CMA is
 * as it is.
 */
TEST(Doctor, DebianAmd64WithCmaBuiltIn)
{
	Record record("7.2.13+deb14-amd64");

	record.config("CONFIG_X86_64=y\nCONFIG_CMA=y\n# CONFIG_CMA_DEBUGFS is not set\n"
		      "CONFIG_CMA_SYSFS=y\nCONFIG_CMA_AREAS=20\nCONFIG_DMA_CMA=y\n"
		      "CONFIG_DMA_NUMA_CMA=y\nCONFIG_CMA_SIZE_PERNUMA=y\nCONFIG_CMA_SIZE_MBYTES="
		      "0\n")
		.cma(0)
		.gpu("radeon", "1002:5159", 32)
		.iomem("ffffffffff")
		.thp();
	EXPECT_EQ(record.diagnosis().status(), Status::not_affected);
	EXPECT_THAT(record.finding("cma stall").why, HasSubstr("no CMA area"));
	record.cma(256);
	EXPECT_EQ(record.finding("cma stall").status, Status::affected);
	EXPECT_THAT(record.finding("cma stall").help, HasSubstr("series v7.2"));
}

/* Where addresses end decides; only root is shown. */
TEST(Doctor, RadeonByAddresses)
{
	Record record("6.12.94");

	record.config(with_cma).cma(64).gpu("radeon", "1002:6779", 40);
	EXPECT_EQ(record.finding("cma stall").status, Status::cannot_tell);
	record.iomem("87fffffff");
	EXPECT_EQ(record.finding("cma stall").status, Status::not_affected);
	record.iomem("3bfffffffffff");
	EXPECT_EQ(record.finding("cma stall").status, Status::affected);
	EXPECT_THAT(record.finding("cma stall").help, HasSubstr("series v6.12"));
}

/* The ways out of the reports' fault: no bounce buffers, no area, DMA without CMA. */
TEST(Doctor, OldKernelWithRadeonThatIsNotAffected)
{
	Record record("4.15.18");

	record.config(with_cma).cma(16).gpu("radeon", "1002:6779", 40);
	EXPECT_EQ(record.diagnosis().status(), Status::affected);
	EXPECT_EQ(Record("4.15.18")
			  .config(with_cma)
			  .cma(16)
			  .memory(4)
			  .gpu("radeon", "1002:6779", 40)
			  .diagnosis()
			  .status(),
		  Status::not_affected);
	EXPECT_EQ(record.vtd().diagnosis().status(), Status::not_affected);
	EXPECT_EQ(Record("4.15.18")
			  .config("CONFIG_CMA=y\n")
			  .cma(16)
			  .gpu("radeon", "1002:6779", 40)
			  .diagnosis()
			  .status(),
		  Status::not_affected);
	EXPECT_THAT(Record("4.15.18")
			    .config(with_cma)
			    .cma(0)
			    .gpu("radeon", "1002:6779", 40)
			    .finding("cma stall")
			    .why,
		    HasSubstr("no CMA area"));
}

TEST(Doctor, KnowsAKernelThatHasTheSeries)
{
	Record record("6.12.94");
	const std::string file = "sys/kernel/tracing/events/kmem/mm_page_alloc/format";

	record.config(with_cma).cma(64).gpu("radeon", "1002:6779", 32).memory(16);
	EXPECT_EQ(record.diagnosis().status(), Status::affected);
	record.write(file, "print fmt: \"...\", { 0x100, \"__GFP_ZERO\" }\n");
	EXPECT_EQ(record.diagnosis().status(), Status::affected);
	record.write(file, "print fmt: \"...\", { 0x200, \"__GFP_NOCMA\" }\n");
	EXPECT_EQ(record.diagnosis().status(), Status::not_affected);
}

/* i915 asks for huge pages behind VT-d from 5.16 on; before, that is the series' doing. */
TEST(Doctor, HugePagesByKernel)
{
	const auto laptop = [](const std::string &release, bool vtd,
			       std::string_view pci_id = "8086:1916") {
		Record record(release);

		record.gpu("i915", pci_id, 39).thp();
		if (vtd)
			record.vtd();
		return record.finding("huge pages");
	};

	EXPECT_EQ(laptop("4.15.18", true).status, Status::affected);
	EXPECT_THAT(laptop("4.15.18", true).why, HasSubstr("huge=never"));
	EXPECT_EQ(laptop("5.10.262", true).status, Status::affected);
	EXPECT_EQ(laptop("5.10.262", false).status, Status::not_affected);
	EXPECT_THAT(laptop("6.12.94", true).why, HasSubstr("may use them"));
	EXPECT_THAT(laptop("6.12.94", false).why, HasSubstr("graphics version below 11"));
	EXPECT_THAT(laptop("6.12.94", false, "8086:9A49").why, HasSubstr("graphics version 11"));
	/* Small folios behind a mount that says otherwise. */
	EXPECT_EQ(laptop("6.15.9", true).status, Status::affected);
	EXPECT_THAT(laptop("6.15.9", true).help, HasSubstr("no series"));
	EXPECT_EQ(laptop("6.15.10", true).status, Status::not_affected);
	EXPECT_EQ(laptop("6.16.3", true).status, Status::affected);
	EXPECT_EQ(laptop("6.17.0", true).status, Status::not_affected);
}

/* A GPU that VT-d does not translate costs nothing; who says so depends on the kernel. */
TEST(Doctor, VtdThatSparesTheGpu)
{
	const auto status = [](std::string_view asked, std::string_view config,
			       std::string_view domain) {
		Record record("5.10.262");

		record.gpu("i915", "8086:1916", 39).thp().vtd(domain).config(config);
		record.write("proc/cmdline", fmt::format("intel_iommu={}\n", asked));
		return record.finding("huge pages").status;
	};
	constexpr std::string_view debian = "CONFIG_INTEL_IOMMU_DEFAULT_ON_INTGPU_OFF=y\n";

	EXPECT_EQ(status("on,igfx_off", "", ""), Status::not_affected);
	EXPECT_EQ(status("on,intgpu_off", "", ""), Status::not_affected);
	EXPECT_EQ(status("intgpu_off,on", "", ""), Status::affected);
	EXPECT_EQ(status("", debian, ""), Status::not_affected);
	EXPECT_EQ(status("on", debian, ""), Status::affected);
	/* The domain is what came of it. */
	EXPECT_EQ(status("on", "", "identity"), Status::not_affected);
	EXPECT_EQ(status("", debian, "DMA"), Status::affected);
}

TEST(Doctor, WithoutHugePagesNoPatchHelps)
{
	Record record("5.10.262");

	record.gpu("i915", "8086:1916", 39).vtd();
	EXPECT_EQ(record.finding("huge pages").status, Status::not_affected);
	EXPECT_THAT(record.finding("huge pages").why, HasSubstr("no transparent huge pages"));
}

TEST(Doctor, VirtualMachine)
{
	Record record("6.12.94");

	record.config(with_cma).cma(64).gpu("virtio_gpu", "1AF4:1050", 64).thp();
	record.write("proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n");
	EXPECT_EQ(record.diagnosis().status(), Status::not_affected);
	EXPECT_THAT(record.finding("cma stall").why, HasSubstr("virtio_gpu is none of"));

	/* An encrypted one has its pages bounced. */
	record.gpu("amdgpu", "1002:744C", 44);
	record.write("proc/cpuinfo", "flags\t\t: fpu hypervisor sev sse\n");
	EXPECT_EQ(record.finding("cma stall").status, Status::affected);
	EXPECT_THAT(record.finding("cma stall").why, HasSubstr("memory is encrypted"));

	record.gpu("vmwgfx", "15AD:0405", 44);
	record.write("proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n");
	EXPECT_EQ(record.finding("cma stall").status, Status::cannot_tell);
	EXPECT_THAT(record.finding("cma stall").help, HasSubstr("force_coherent"));
	record.write("sys/module/vmwgfx/parameters/force_coherent", "1\n");
	EXPECT_EQ(record.finding("cma stall").status, Status::affected);
}

TEST(Doctor, XenPvGuest)
{
	Record record("6.1.100");

	record.config(with_cma).cma(64).gpu("nouveau", "10DE:1180", 40).iomem("1ffffffff");
	record.write("sys/kernel/debug/swiotlb/io_tlb_nslabs", "0\n");
	EXPECT_EQ(record.finding("cma stall").status, Status::not_affected);
	record.write("sys/kernel/debug/swiotlb/io_tlb_nslabs", "32768\n");
	EXPECT_EQ(record.finding("cma stall").status, Status::affected);

	record.gpu("radeon", "1002:6779", 40);
	EXPECT_EQ(record.finding("cma stall").status, Status::not_affected);
	record.write("sys/hypervisor/type", "xen\n");
	record.write("sys/hypervisor/guest_type", "PV\n");
	EXPECT_EQ(record.finding("cma stall").status, Status::affected);
	record.write("sys/hypervisor/guest_type", "HVM\n");
	EXPECT_EQ(record.finding("cma stall").status, Status::not_affected);
}

/* Single pages have been spared since 5.3, so the DMA32 pool of an old device is, too. */
TEST(Doctor, KernelBetweenSinglePagesAndTheNewPool)
{
	Record record("5.10.262");

	record.config(with_cma).cma(64).thp().iomem("3bfffffffffff");
	EXPECT_EQ(record.gpu("radeon", "1002:5159", 32).finding("cma stall").status,
		  Status::not_affected);
	EXPECT_EQ(record.gpu("amdgpu", "1002:744C", 44).finding("cma stall").status,
		  Status::affected);
	EXPECT_THAT(record.finding("cma stall").why, HasSubstr("2 MiB"));
}

TEST(Doctor, WithoutGpuOrWithoutSys)
{
	Record record("6.12.94");

	record.config(with_cma).cma(64);
	EXPECT_EQ(record.diagnosis().status(), Status::not_affected);

	const TempDir folder("nocma-doctor");
	EXPECT_THROW(read_facts(folder.path()), UsageError);
	fs::create_directories(folder.path() / "proc");
	const Diagnosis nothing = diagnose(read_facts(folder.path()));
	EXPECT_EQ(nothing.status(), Status::cannot_tell);
}

/* An error's usual 1 would say "affected". */
TEST(Doctor, CannotTellFromADamagedFile)
{
	Record record("6.12.94");

	record.write("proc/config.gz", "not packed");
	EXPECT_THROW(static_cast<void>(record.facts()), SkipError);
}

TEST(Doctor, NamesAKernelWithoutASeries)
{
	Record record("6.8.0-45-generic");

	record.config(with_cma).cma(64).gpu("radeon", "1002:5159", 32).memory(16);
	EXPECT_THAT(record.finding("cma stall").help,
		    HasSubstr("none is ready for 6.8.0-45-generic"));
}

TEST(Doctor, PrintsAbsentFiguresByNameAndAsNull)
{
	Record record("6.12.94");

	record.config(with_cma).cma(64).gpu("radeon", "1002:5159", 32).memory(16);
	const Facts facts = record.facts();
	const std::string text = to_text(facts, diagnose(facts));
	const nlohmann::json json = to_json(facts, diagnose(facts));

	EXPECT_THAT(text, HasSubstr("64 MiB, 32 MiB of it free"));
	EXPECT_THAT(text, HasSubstr("areas absent"));
	EXPECT_THAT(text, HasSubstr("ShmemHugePages 4 MiB"));
	EXPECT_THAT(text, HasSubstr("verdict: affected"));
	EXPECT_TRUE(json["cma"]["areas"].is_null());
	EXPECT_TRUE(json["kernel"]["has_flag"].is_null());
	EXPECT_EQ(json["cma"]["total_bytes"], 64 * 1024 * 1024);
	EXPECT_EQ(json["devices"][0]["pool_uses_dma_api"], true);
	EXPECT_EQ(json["kernel"]["series"], "v6.12");
	EXPECT_EQ(json["status"], "affected");
}

TEST(Facts, ParseParameters)
{
	EXPECT_EQ(parameter("quiet cma=64M cma=16M nocma=1", "cma"), "16M");
	EXPECT_EQ(parameter("quiet", "quiet"), "");
	EXPECT_FALSE(parameter("cmax=1", "cma"));
}

TEST(Facts, ReadAPackedConfig)
{
	/* printf 'CONFIG_A=y\nCONFIG_B="x"\n' | gzip -n */
	constexpr std::string_view packed(
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x73\xf6\xf7\x73\xf3\x74\x8f\x77\xb4\xad"
		"\xe4\x72\x86\x30\x9d\x6c\x95\x2a\x94\xb8\x00\x9e\x01\x20\x58\x18\x00\x00\x00",
		39);
	const KernelConfig config(gunzip(packed, "x"), "x");

	EXPECT_TRUE(config.has("CONFIG_A"));
	EXPECT_EQ(config.value("CONFIG_B"), "x");
	EXPECT_FALSE(config.has("CONFIG_C"));
	EXPECT_THROW(gunzip(packed.substr(0, 20), "x"), Error);
	EXPECT_THROW(gunzip("not packed", "x"), Error);
}

TEST(Rules, KnowGraphicsVersions)
{
	EXPECT_EQ(is_graphics_11(0x80861916), false);
	EXPECT_EQ(is_graphics_11(0x80868a52), true);
	EXPECT_EQ(is_graphics_11(0x80869a49), true);
	EXPECT_FALSE(is_graphics_11(0x8086ffff));
	EXPECT_FALSE(is_graphics_11(0x10029a49));
}

} // namespace
} // namespace nocma::doctor
