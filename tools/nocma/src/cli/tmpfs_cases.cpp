// SPDX-License-Identifier: GPL-2.0-only
#include "cli/tmpfs_cases.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statfs.h>

#include <fmt/format.h>

#include "cli/contents.hpp"
#include "cli/shmem_pages.hpp"
#include "kernel/counters.hpp"
#include "kernel/kernel_version.hpp"
#include "kernel/machine.hpp"
#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/file.hpp"
#include "util/mapping.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint64_t huge_bytes = 2 << 20;
constexpr std::string_view within_size = "huge=within_size";

/* The namespace hides the mount from others and takes it along when this process dies. */
class PrivateTmpfs
{
public:
	explicit PrivateTmpfs(std::string_view options) : folder_("nocma-tmpfs")
	{
		if (::unshare(CLONE_NEWNS) != 0) {
			if (errno == EPERM)
				throw SkipError("a mount namespace of its own needs root");
			throw SystemError("unshare", "CLONE_NEWNS", errno);
		}
		if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
			throw SystemError("mount --make-rprivate", "/", errno);
		if (::mount("nocma", path().c_str(), "tmpfs", 0, std::string(options).c_str()) != 0)
			throw SystemError("mount", fmt::format("tmpfs with {}", options), errno);
	}

	PrivateTmpfs(const PrivateTmpfs &) = delete;
	PrivateTmpfs &operator=(const PrivateTmpfs &) = delete;
	PrivateTmpfs(PrivateTmpfs &&) = delete;
	PrivateTmpfs &operator=(PrivateTmpfs &&) = delete;
	~PrivateTmpfs() { ::umount2(path().c_str(), MNT_DETACH); }

	[[nodiscard]] const fs::path &path() const noexcept { return folder_.path(); }

	/* Bytes that its files take, in memory or swap. */
	[[nodiscard]] std::uint64_t used() const
	{
		struct statfs status {
		};

		if (::statfs(path().c_str(), &status) != 0)
			throw SystemError("statfs", path().native(), errno);
		return (status.f_blocks - status.f_bfree) *
		       static_cast<std::uint64_t>(status.f_bsize);
	}

private:
	TempDir folder_;
};

/* A file without a name, and all of it mapped. */
class TmpfsFile : public ShmemObject
{
public:
	TmpfsFile(const PrivateTmpfs &mount, std::uint64_t bytes)
		: file_(::open(mount.path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600))
	{
		if (!file_)
			throw SystemError("open O_TMPFILE", mount.path().native(), errno);
		resize(bytes);
		void *const address =
			::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
		if (address == MAP_FAILED)
			throw SystemError("mmap", mount.path().native(), errno);
		mapping_ = Mapping({static_cast<std::byte *>(address), bytes});
	}

	[[nodiscard]] std::span<std::byte> bytes() const override { return mapping_.bytes(); }

	void resize(std::uint64_t bytes) const
	{
		if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0)
			throw SystemError("ftruncate", "file in tmpfs", errno);
	}

	void punch(std::uint64_t offset, std::uint64_t bytes) const
	{
		if (::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0)
			throw SystemError("fallocate PUNCH_HOLE", "file in tmpfs", errno);
	}

	/* By read(2), which gives zeros for a hole and leaves it one; a mapping would fill it. */
	[[nodiscard]] std::vector<std::byte> read(std::uint64_t offset, std::uint64_t bytes) const
	{
		std::vector<std::byte> data(bytes);
		const ssize_t got =
			::pread(file_.get(), data.data(), data.size(), static_cast<off_t>(offset));

		if (got < 0)
			throw SystemError("pread", "file in tmpfs", errno);
		data.resize(static_cast<std::size_t>(got));
		if (data.size() != bytes)
			throw Error(
				fmt::format("{} bytes at {} instead of {}", got, offset, bytes));
		return data;
	}

private:
	UniqueFd file_;
	Mapping mapping_;
};

KernelVersion kernel_version()
{
	return parse_kernel_version(read_machine().kernel_release);
}

void require_huge_pages()
{
	const std::string chosen = selected_word(
		try_read_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled").value_or(""));

	if (chosen.empty())
		throw SkipError("no huge pages in tmpfs: needs CONFIG_TRANSPARENT_HUGEPAGE and a "
				"CPU that has them");
	if (chosen == "deny" || chosen == "force")
		throw SkipError(fmt::format("shmem_enabled is {}: mounts have no say", chosen));
}

void expect_used(const PrivateTmpfs &mount, std::uint64_t expected, std::string_view when)
{
	if (mount.used() != expected)
		throw Error(fmt::format("{}: the file takes {} KiB, not {}", when,
					mount.used() >> 10, expected >> 10));
}

void file_pages(KtapWriter &ktap, std::string_view options, std::uint64_t bytes,
		const ObjectPages &expected)
{
	require_huge_pages();
	const PrivateTmpfs mount(options);

	expect_pages(
		ktap, [&] { return std::make_unique<TmpfsFile>(mount, bytes); }, expected);
	expect_used(mount, 0, "closed");
}

/* One page is touched, and the huge page around it is all that there is. */
void hole_takes_no_pages(KtapWriter & /*ktap*/)
{
	constexpr std::uint64_t place = 2 * huge_bytes;

	require_huge_pages();
	const PrivateTmpfs mount(within_size);
	const TmpfsFile file(mount, 4 * huge_bytes);
	write_new_pages(file.bytes().subspan(place + page_bytes, page_bytes));
	expect_used(mount, huge_bytes, "one page written");
	expect_zero(file.read(0, place + page_bytes));
	expect_zero(file.read(place + 2 * page_bytes, 2 * huge_bytes - 2 * page_bytes));
	expect_pattern(file.bytes().subspan(place + page_bytes, page_bytes));
	expect_used(mount, huge_bytes, "holes read");
}

/* Cut inside a huge page, at the end of one, to nothing. */
void truncation_gives_back(KtapWriter &ktap)
{
	constexpr std::uint64_t cut = huge_bytes + page_bytes;

	require_huge_pages();
	const PrivateTmpfs mount(within_size);
	const TmpfsFile file(mount, 2 * huge_bytes);
	write_new_pages(file.bytes());
	file.resize(cut);
	ktap.diagnostic(
		fmt::format("cut to {} KiB it takes {} KiB", cut >> 10, mount.used() >> 10));
	if (mount.used() < cut || mount.used() > 2 * huge_bytes)
		throw Error(fmt::format("cut to {} KiB, the file takes {} KiB", cut >> 10,
					mount.used() >> 10));
	file.resize(2 * huge_bytes);
	expect_pattern(file.read(0, cut));
	expect_zero(file.read(cut, 2 * huge_bytes - cut));
	file.resize(huge_bytes);
	expect_used(mount, huge_bytes, "cut to one huge page");
	expect_pattern(file.bytes().first(huge_bytes));
	file.resize(0);
	expect_used(mount, 0, "cut to nothing");
}

void punched_hole_gives_back(KtapWriter & /*ktap*/)
{
	require_huge_pages();
	const PrivateTmpfs mount(within_size);
	const TmpfsFile file(mount, 3 * huge_bytes);
	write_new_pages(file.bytes());
	file.punch(huge_bytes, huge_bytes);
	expect_used(mount, 2 * huge_bytes, "a huge page punched out");
	expect_zero(file.read(huge_bytes, huge_bytes));
	/* A part of a huge page: whether that is given back is the kernel's affair. */
	file.punch(2 * huge_bytes + page_bytes, page_bytes);
	expect_zero(file.read(2 * huge_bytes + page_bytes, page_bytes));
	expect_pattern(file.read(0, huge_bytes));
	expect_pattern(file.read(2 * huge_bytes, page_bytes), 0, 2 * huge_bytes);
	expect_pattern(file.read(2 * huge_bytes + 2 * page_bytes, huge_bytes - 2 * page_bytes), 0,
		       2 * huge_bytes + 2 * page_bytes);
}

/* Runs the shrinkers as a shortage of memory does, until the file takes that much. */
void shrink_to(const PrivateTmpfs &mount, std::uint64_t expected)
{
	constexpr int most_rounds = 50;

	for (int round = 0; round < most_rounds && mount.used() > expected; round++) {
		write_existing("/proc/sys/vm/drop_caches", "2");
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
	expect_used(mount, expected, "the shrinkers have run");
}

/*
 * What a huge page has beyond the end of its file goes when memory gets short; the rest stays. Not
 * every kernel lets a page within_size have such a tail, so this mount gives huge pages always.
 */
void shrinker_splits_tail(KtapWriter & /*ktap*/)
{
	constexpr std::uint64_t size = huge_bytes + page_bytes;

	require_huge_pages();
	const ShmemUsage before = read_shmem_usage();
	const PrivateTmpfs mount("huge=always");
	const TmpfsFile file(mount, size);
	write_new_pages(file.bytes());
	if (mount.used() == size)
		throw SkipError(
			"this kernel puts no huge page over the end of a file, or has none left");
	expect_used(mount, 2 * huge_bytes, "written");
	shrink_to(mount, size);
	const std::uint64_t huge = read_shmem_usage().huge - before.huge;
	if (huge != huge_bytes)
		throw Error(fmt::format("{} KiB are in huge pages, not {}", huge >> 10,
					huge_bytes >> 10));
	expect_pattern(file.bytes());
}

std::uint64_t vmstat(std::string_view name)
{
	return find_counter(read_vmstat(), name).value_or(0);
}

void page_out(std::span<std::byte> data)
{
	if (::madvise(data.data(), data.size(), MADV_PAGEOUT) == 0)
		return;
	if (errno == EINVAL)
		throw SkipError("no MADV_PAGEOUT: needs Linux 5.4");
	throw SystemError("madvise", "MADV_PAGEOUT", errno);
}

/* A huge page goes to swap, whole or in pieces, and comes back with what was in it. */
void survives_swap(KtapWriter &ktap)
{
	require_huge_pages();
	if (find_counter(read_meminfo(), "SwapFree").value_or(0) < huge_bytes)
		throw SkipError("no 2 MiB of swap");
	const PrivateTmpfs mount(within_size);
	const TmpfsFile file(mount, huge_bytes);
	write_new_pages(file.bytes());
	const std::uint64_t in_memory = read_shmem_usage().total;
	const std::uint64_t out = vmstat("pswpout");
	page_out(file.bytes());
	const std::uint64_t now = read_shmem_usage().total;
	ktap.diagnostic(fmt::format(
		"pswpout +{}, Shmem {:+} KiB", vmstat("pswpout") - out,
		(static_cast<std::int64_t>(now) - static_cast<std::int64_t>(in_memory)) / 1024));
	if (vmstat("pswpout") == out || now >= in_memory)
		throw Error("nothing was swapped out");
	expect_used(mount, huge_bytes, "swapped out");
	expect_pattern(file.bytes());
}

} // namespace

std::vector<TestCase> tmpfs_cases()
{
	std::vector<TestCase> cases;

	for (const NamedSize &size : shmem_sizes)
		cases.push_back({fmt::format("tmpfs-{}-pages", size.name),
				 [bytes = size.bytes](KtapWriter &ktap) {
					 file_pages(ktap, within_size, bytes,
						    pages_within_size(kernel_version(), bytes));
				 }});
	/* The same files where the cases above must not pass. */
	cases.push_back({"tmpfs-never-4MiB-pages", [](KtapWriter &ktap) {
				 file_pages(ktap, "huge=never", 2 * huge_bytes,
					    {.huge = 0, .total = 2 * huge_bytes});
			 }});
	cases.push_back({"tmpfs-hole-takes-no-pages", hole_takes_no_pages});
	cases.push_back({"tmpfs-truncation-gives-back", truncation_gives_back});
	cases.push_back({"tmpfs-punched-hole-gives-back", punched_hole_gives_back});
	cases.push_back({"tmpfs-shrinker-splits-tail", shrinker_splits_tail});
	cases.push_back({"tmpfs-survives-swap", survives_swap});
	return cases;
}

} // namespace nocma::cli
