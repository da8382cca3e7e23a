// SPDX-License-Identifier: GPL-2.0-only
#include "cli/vttm_cases.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <vector>

#include <sys/mman.h>

#include <fmt/format.h>
#include <xf86drm.h>

#include "cli/contents.hpp"
#include "cli/vttm_checks.hpp"
#include "cli/vttm_fuzz_mmap.hpp"
#include "drm/vttm.hpp"
#include "util/error.hpp"
#include "util/forked.hpp"
#include "util/mapping.hpp"

namespace nocma::cli
{

namespace
{

/* Enough to come across each check of each ioctl some hundred times. */
constexpr unsigned int batches = 200;
constexpr unsigned int rounds = 100;
constexpr std::size_t most_objects = 32;

/* Larger than any argument that is passed. */
using Argument = std::array<std::uint32_t, 64>;

/* What the header of the ioctls documents; EINVAL is also the answer to an unknown number. */
constexpr std::array<int, 8> documented = {EINVAL, ENOENT, EFAULT, ENOMEM,
					   EBUSY,  EPERM,  EINTR,  EOPNOTSUPP};

class Fuzzer
{
public:
	explicit Fuzzer(const DrmDevice &device) : device_(device) {}
	Fuzzer(const Fuzzer &) = delete;
	Fuzzer &operator=(const Fuzzer &) = delete;
	Fuzzer(Fuzzer &&) = delete;
	Fuzzer &operator=(Fuzzer &&) = delete;
	~Fuzzer()
	{
		while (!handles_.empty())
			close_one();
	}

	void round()
	{
		const std::uint32_t number = pick(10);
		Argument argument{};

		for (std::uint32_t &word : argument)
			word = random_word();
		if (number == DRM_VTTM_INFO)
			aim(argument);
		call(number, argument);
		if (handles_.size() > most_objects || pick(20) == 0)
			close_one();
	}

	[[nodiscard]] const std::map<int, unsigned int> &results() const noexcept
	{
		return results_;
	}

	/* Objects for the calls that follow: few random ones are right in all of their fields. */
	void stock_up()
	{
		while (handles_.size() < most_objects / 4) {
			drm_vttm_create request{};

			request.size = (1 + pick(64)) * page_bytes;
			request.flags = DRM_VTTM_CREATE_ZEROED;
			request.caching = pick(3);
			if (drmIoctl(device_.fd(), DRM_IOCTL_VTTM_CREATE, &request) != 0)
				throw SystemError("VTTM_CREATE", device_.path().native(), errno);
			handles_.push_back(request.handle);
		}
	}

	/* Where the objects can be mapped that there are now. */
	[[nodiscard]] std::vector<std::uint64_t> offsets() const
	{
		std::vector<std::uint64_t> offsets;

		for (const std::uint32_t handle : handles_) {
			drm_vttm_mmap request{};

			request.handle = handle;
			if (drmIoctl(device_.fd(), DRM_IOCTL_VTTM_MMAP, &request) == 0)
				offsets.push_back(request.offset);
		}
		return offsets;
	}

private:
	std::uint32_t pick(std::uint32_t below)
	{
		return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random_);
	}

	/* Mostly what gets far: zeroes, flags, handles, sizes that are possible. */
	std::uint32_t random_word()
	{
		switch (pick(10)) {
		case 0:
			return pick(4);
		case 1:
			return handles_.empty() ? 1
						: handles_[pick(static_cast<std::uint32_t>(
							  handles_.size()))];
		case 2:
			return pick(1 << 20);
		case 3:
			return pick(4) == 0 ? static_cast<std::uint32_t>(random_()) : 0;
		default:
			return 0;
		}
	}

	/* A pointer that is good, or one of the bad kinds. */
	void aim(Argument &argument)
	{
		drm_vttm_info info{};

		std::memcpy(&info, argument.data(), sizeof(info));
		switch (pick(4)) {
		case 0:
			info.chunks_ptr = 0;
			break;
		case 1:
			info.chunks_ptr = 0xffff888000000000ULL;
			break;
		default:
			info.chunks_ptr = reinterpret_cast<std::uintptr_t>(chunks_.data());
			info.nr_chunks = pick(static_cast<std::uint32_t>(chunks_.size()) + 1);
		}
		std::memcpy(argument.data(), &info, sizeof(info));
	}

	/* The right size, or one that is too small or too large. */
	std::uint32_t argument_size(std::uint32_t number)
	{
		constexpr std::array<std::uint32_t, 7> sizes = {
			sizeof(drm_vttm_create),   sizeof(drm_vttm_mmap), sizeof(drm_vttm_populate),
			sizeof(drm_vttm_populate), sizeof(drm_vttm_info), sizeof(drm_vttm_device),
			sizeof(drm_vttm_drain),
		};

		if (number < sizes.size() && pick(8) != 0)
			return sizes.at(number);
		return pick(sizeof(Argument));
	}

	void call(std::uint32_t number, Argument &argument)
	{
		const unsigned long request =
			DRM_IOC(DRM_IOC_READWRITE, DRM_IOCTL_BASE, DRM_COMMAND_BASE + number,
				argument_size(number));
		const int error = drmIoctl(device_.fd(), request, argument.data()) == 0 ? 0 : errno;

		results_[error]++;
		if (error != 0 &&
		    std::find(documented.begin(), documented.end(), error) == documented.end())
			throw Error(
				fmt::format("ioctl {} with {} bytes: {}, which is not documented",
					    number, _IOC_SIZE(request), errno_text(error)));
		if (number == DRM_VTTM_CREATE && error == 0 &&
		    _IOC_SIZE(request) >= sizeof(drm_vttm_create)) {
			drm_vttm_create created{};

			std::memcpy(&created, argument.data(), sizeof(created));
			handles_.push_back(created.handle);
		}
	}

	void close_one()
	{
		drm_gem_close request{};

		if (handles_.empty())
			return;
		request.handle = handles_.back();
		handles_.pop_back();
		drmIoctl(device_.fd(), DRM_IOCTL_GEM_CLOSE, &request);
	}

	const DrmDevice &device_;
	std::mt19937 random_; /* the same sequence in each run */
	std::vector<std::uint32_t> handles_;
	std::array<drm_vttm_chunk, 512> chunks_{};
	std::map<int, unsigned int> results_;
};

/* Memory that this process shares with those it forks. */
Mapping share_memory(std::size_t size)
{
	void *const memory =
		::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		throw SystemError("mmap", fmt::format("{} bytes", size), errno);
	return Mapping({static_cast<std::byte *>(memory), size});
}

/* What the kernel may end a process with that touches what it should not. */
void expect_access_signal(int signal)
{
	if (signal != 0 && signal != SIGBUS && signal != SIGSEGV)
		throw Error(fmt::format("a process that touched mappings was ended by signal {}",
					signal));
}

/* ioctls and, in another process at the same time, mappings of the same objects. */
void fuzz(KtapWriter &ktap, const DrmDevice &device)
{
	Fuzzer fuzzer(device);
	const Mapping shared = share_memory(sizeof(MappingCounts));
	MappingCounts &counts = *new (shared.bytes().data()) MappingCounts;
	std::map<int, unsigned int> signals;

	for (unsigned int batch = 0; batch < batches; batch++) {
		fuzzer.stock_up();
		const std::vector<std::uint64_t> offsets = fuzzer.offsets();
		Forked mapper([&] { random_mappings(device, offsets, batch, counts); });

		for (unsigned int i = 0; i < rounds; i++)
			fuzzer.round();
		const int signal = mapper.wait();
		expect_access_signal(signal);
		signals[signal]++;
	}
	for (const auto &[error, count] : fuzzer.results())
		ktap.diagnostic(fmt::format("{} times {}", count,
					    error == 0 ? "success" : errno_text(error)));
	ktap.diagnostic(fmt::format("{} mappings, {} refused, touched {} times",
				    counts.mapped.load(), counts.refused.load(),
				    counts.touched.load()));
	ktap.diagnostic(fmt::format("processes ended by SIGBUS {}, SIGSEGV {}, themselves {}",
				    signals[SIGBUS], signals[SIGSEGV], signals[0]));
	if (!fuzzer.results().contains(0) || counts.mapped == 0 || counts.touched == 0)
		throw Error("no call got through: this tested nothing");
}

} // namespace

void vttm_fuzz(KtapWriter &ktap)
{
	const VttmInstance instance({.tt_mib = 1});

	fuzz(ktap, instance.open());
	/* A handle in a buffer that was too short for it is closed with its file. */
	expect_no_leak(instance.open());
}

} // namespace nocma::cli
