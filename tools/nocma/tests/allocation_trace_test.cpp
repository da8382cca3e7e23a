// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/allocation_trace.hpp"

#include <array>
#include <cstring>
#include <memory>

#include <event-parse.h>
#include <gtest/gtest.h>

#include "kernel/counters.hpp"
#include "kernel/ttm_pool.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

using namespace nocma;

namespace
{

std::string recorded(const std::string &name)
{
	return read_file(std::filesystem::path(TEST_DATA_DIR) / name);
}

/* Decodes raw events by a `format` file that Linux 6.12 made for a probe of ours. */
class Decoder
{
public:
	explicit Decoder(const std::string &format)
	{
		const std::string text = recorded(format);

		tep_parse_event(tep_.get(), text.c_str(), text.size(), "nocma");
		events_ = tep_list_events(tep_.get(), TEP_EVENT_SORT_ID);
	}

	template <std::size_t Size> ProbeHit decode(std::array<std::byte, Size> &data) const
	{
		tep_record record{};

		record.ts = 4550576000;
		record.size = static_cast<int>(data.size());
		record.data = data.data();
		return decode_hit(events_[0], &record);
	}

private:
	struct Free {
		void operator()(tep_handle *tep) const { tep_free(tep); }
	};
	std::unique_ptr<tep_handle, Free> tep_{tep_alloc()};
	tep_event **events_ = nullptr; /* tep_'s */
};

} // namespace

TEST(AllocationTrace, DecodesAnEntry)
{
	std::array<std::byte, 24> data{};
	const std::uint64_t pages = 1024;

	std::memcpy(&data[16], &pages, sizeof(pages));
	const ProbeHit hit = Decoder("cma_entry.format").decode(data);
	EXPECT_EQ(hit.function, Traced::cma);
	EXPECT_TRUE(hit.entry);
	EXPECT_EQ(hit.value, pages);
	EXPECT_EQ(hit.time, std::chrono::nanoseconds(4550576000));
}

TEST(AllocationTrace, DecodesReturnsOfPointersAndErrors)
{
	std::array<std::byte, 32> data{};
	const std::uint64_t page = 0xffffea0000400000;
	const std::int32_t error = -12;

	std::memcpy(&data[24], &page, sizeof(page));
	EXPECT_EQ(Decoder("cma_return.format").decode(data).value, page);
	EXPECT_FALSE(Decoder("cma_return.format").decode(data).entry);

	std::array<std::byte, 28> short_data{};
	std::memcpy(&short_data[24], &error, sizeof(error));
	EXPECT_NE(Decoder("ttm_return.format").decode(short_data).value, 0U);
	EXPECT_EQ(Decoder("ttm_return.format").decode(short_data).function, Traced::ttm);
}

TEST(AllocationTrace, FindsFunctionsOfKernelAndModulesByWholeName)
{
	const std::string kallsyms = "ffffffff81000000 T cma_alloc_folio\n"
				     "ffffffff81000010 t cma_alloc\n"
				     "ffffffff81000020 d ttm_dma_populate\n"
				     "ffffffffc0000000 T ttm_pool_alloc_page\t[ttm]\n"
				     "ffffffffc0000010 T ttm_pool_alloc\t[ttm]\n";

	EXPECT_EQ(find_function(kallsyms, {"cma_alloc"}), "cma_alloc");
	EXPECT_EQ(find_function(kallsyms, {"ttm_dma_populate", "ttm_pool_alloc"}),
		  "ttm_pool_alloc");
	EXPECT_FALSE(find_function(kallsyms, {"ttm_dma_populate"})); /* data */
	EXPECT_FALSE(find_function(kallsyms, {"cma_all"}));
	EXPECT_FALSE(find_function("", {"cma_alloc"}));
}

TEST(AllocationTrace, ArgumentsByNameOrRegister)
{
	EXPECT_EQ(probe_argument(2, true), "$arg2");
#ifdef __x86_64__
	EXPECT_EQ(probe_argument(1, false), "%di");
	EXPECT_EQ(probe_argument(2, false), "%si");
	EXPECT_EQ(probe_argument(3, false), "%dx");
#endif
}

TEST(AllocationTrace, MissedHitsOfOneEvent)
{
	EXPECT_EQ(missed_hits(recorded("kprobe_profile-6.12"), "cma_entry_42"), 0U);

	const std::string profile = "  cma_entry_4       17               3\n"
				    "  cma_entry_42      19               5\n";
	EXPECT_EQ(missed_hits(profile, "cma_entry_4"), 3U);
	EXPECT_EQ(missed_hits(profile, "cma_entry_42"), 5U);
	EXPECT_EQ(missed_hits(profile, "cma_entry"), 0U);
}

TEST(AllocationTrace, LostEventsOfEveryKind)
{
	EXPECT_EQ(lost_events(recorded("stats-6.12")), 0U);
	EXPECT_EQ(lost_events("entries: 9\noverrun: 100\ncommit overrun: 20\nbytes: 64\n"
			      "dropped events: 3\nread events: 7\n"),
		  123U);
}

TEST(Recorded, TablesOfARealKernel)
{
	const Counters meminfo = parse_meminfo(recorded("meminfo-6.12"));

	EXPECT_EQ(find_counter(meminfo, "CmaTotal"), 262144U * 1024);
	EXPECT_EQ(find_counter(meminfo, "CmaFree"), 252320U * 1024);
	EXPECT_EQ(parse_pool_total(recorded("page_pool-6.12")), 1U);
	EXPECT_GT(parse_per_cpu_pages(recorded("zoneinfo-6.12")), 0U);
}
