// SPDX-License-Identifier: GPL-2.0-only
#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/contents.hpp"
#include "cli/vttm_cases.hpp"
#include "cli/vttm_checks.hpp"
#include "drm/vttm.hpp"
#include "util/error.hpp"
#include "util/forked.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;

/* Debian's nobody and nogroup; the group of the node is any other. */
constexpr uid_t nobody = 65534;
constexpr gid_t nogroup = 65534;
constexpr gid_t render = 60000;
constexpr std::uint64_t bytes = 1 << 20;

/* As udev's rules have it: root's, and of a group that may open it. */
void give_to_group(const fs::path &node)
{
	if (::chown(node.c_str(), 0, render) != 0)
		throw SystemError("chown", node.native(), errno);
	if (::chmod(node.c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) != 0)
		throw SystemError("chmod", node.native(), errno);
}

/* For good: no user but root's, no capability, and no group but this one, if any. */
void become_nobody(std::optional<gid_t> group)
{
	if (::setgroups(group ? 1 : 0, group ? &*group : nullptr) != 0 ||
	    ::setresgid(nogroup, nogroup, nogroup) != 0 || ::setresuid(nobody, nobody, nobody) != 0)
		throw SkipError("no other user can be had: needs root");
}

void expect_no_addresses(const VttmLayout &layout)
{
	if ((layout.info.flags & DRM_VTTM_INFO_ADDRESSES) != 0 || layout.info.dma_low != 0 ||
	    layout.info.dma_high != 0)
		throw Error("bus addresses are shown without CAP_SYS_ADMIN");
	for (const drm_vttm_chunk &chunk : layout.chunks)
		if (chunk.pfn != 0 || chunk.dma_addr != 0)
			throw Error("page frames are shown without CAP_SYS_ADMIN");
}

/* All that a real driver's user may do, and nothing more. */
void use_as_nobody(const fs::path &node)
{
	become_nobody(render);
	const DrmDevice device = DrmDevice::open_path(node);
	const VttmObject object(device, bytes, DRM_VTTM_CACHING_CACHED);

	object.populate();
	expect_zero(object.bytes());
	write_pattern(object.bytes(), 1);
	expect_pattern(object.bytes(), 1);
	const VttmLayout layout = object.layout();
	if (pages_of(layout) != bytes / page_bytes)
		throw Error("the chunks are not the object");
	expect_no_addresses(layout);
	object.unpopulate();
	vttm_drain(device);
	try {
		const VttmObject dirty(device, bytes, DRM_VTTM_CACHING_CACHED, 0);
	} catch (const SystemError &error) {
		if (error.error() != EPERM)
			throw;
		return;
	}
	throw Error("pages that are not cleared were given without CAP_SYS_ADMIN");
}

void be_refused(const fs::path &node)
{
	become_nobody(std::nullopt);
	try {
		DrmDevice::open_path(node);
	} catch (const SystemError &error) {
		if (error.error() != EACCES)
			throw;
		return;
	}
	throw Error("the node was opened without its group");
}

void expect_no_signal(int signal)
{
	if (signal != 0)
		throw Error(fmt::format("the user's process was ended by signal {}", signal));
}

void unprivileged_user(KtapWriter & /*ktap*/)
{
	const VttmInstance instance({});
	const fs::path node = instance.open().path();

	give_to_group(node);
	expect_no_signal(Forked([&node] { be_refused(node); }).wait());
	expect_no_signal(Forked([&node] { use_as_nobody(node); }).wait());
	expect_no_leak(instance.open());
}

} // namespace

std::vector<VttmCase> vttm_user_cases()
{
	return {{"vttm-unprivileged-user", unprivileged_user}};
}

} // namespace nocma::cli
