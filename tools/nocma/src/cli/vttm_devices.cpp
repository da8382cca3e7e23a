// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "cli/contents.hpp"
#include "cli/vttm_cases.hpp"
#include "cli/vttm_checks.hpp"
#include "drm/vttm.hpp"
#include "kernel/cma.hpp"
#include "kernel/numa.hpp"
#include "util/error.hpp"

namespace nocma::cli
{

namespace
{

/* The memory of a device with a node is the node's. */
void pages_of_the_node(KtapWriter &ktap, int node)
{
	constexpr std::uint64_t bytes = (8 << 20) + page_bytes;
	const CmaState cma = read_cma_state();
	const NumaNodes nodes = read_numa_nodes();

	if (nodes.count() < 2 || !nodes.has(node))
		throw SkipError(fmt::format("{} NUMA nodes: needs two, see nocma guest run --nodes",
					    nodes.count()));
	const VttmInstance instance({.node = node});
	const DrmDevice device = instance.open();
	if (vttm_device_info(device).node != node)
		throw Error("the device is on another node than it was told");
	ChunkOrders in_cma{};
	std::size_t elsewhere = 0;
	std::size_t chunks = 0;

	{
		const VttmObject object(device, bytes, DRM_VTTM_CACHING_CACHED);

		object.populate();
		const VttmLayout layout = object.layout();
		expect_layout(layout, bytes, 64);
		expect_zero(object.bytes());
		in_cma = chunks_in_cma(cma.areas, layout);
		chunks = layout.chunks.size();
		elsewhere = static_cast<std::size_t>(std::count_if(
			layout.chunks.begin(), layout.chunks.end(),
			[&](const auto &chunk) { return nodes.node_of(chunk.pfn) != node; }));
	}
	ktap.diagnostic(fmt::format("{} chunks, {} of them on another node", chunks, elsewhere));
	expect_no_leak(device);
	vttm_drain(device);
	expect_none_in_cma(ktap, cma, in_cma);
	if (elsewhere != 0)
		throw Error("memory of another node, though the device's has enough");
}

/* A device, and what became of its objects. */
struct Active {
	explicit Active(const VttmConfig &wanted)
		: config(wanted), instance(wanted), device(instance.open())
	{
	}

	VttmConfig config;
	VttmInstance instance;
	DrmDevice device;
	ChunkOrders in_cma{};
};

/*
 * Objects come and go; those that stay for a while are evicted where the table is small. None
 * sees what another device's objects hold.
 */
void use_device(Active &active, std::uint64_t salt, const Areas &areas)
{
	constexpr unsigned int rounds = 24;
	constexpr std::size_t most_objects = 3;
	constexpr std::array<std::uint64_t, 3> sizes = {65536, (1 << 20) + page_bytes, 3 << 20};
	std::deque<VttmObject> objects;

	for (std::uint64_t round = 0; round < rounds; round++) {
		const std::uint64_t bytes = sizes.at(round % sizes.size());
		const VttmObject &object = objects.emplace_back(
			active.device, bytes, static_cast<std::uint32_t>(round % 3));

		object.populate();
		const VttmLayout layout = object.layout();
		expect_layout(layout, bytes, active.config.dma_bits);
		const ChunkOrders in_cma = chunks_in_cma(areas, layout);
		std::transform(in_cma.begin(), in_cma.end(), active.in_cma.begin(),
			       active.in_cma.begin(), std::plus<>());
		expect_zero(object.bytes());
		write_pattern(object.bytes(), salt + round);
		if (objects.size() > most_objects) {
			expect_pattern(objects.front().bytes(), salt + round - most_objects);
			objects.pop_front();
		}
	}
}

/* One is unplugged: the others do not notice. */
void unplug_first(const std::deque<Active> &devices)
{
	const VttmObject lost(devices.front().device, page_bytes, DRM_VTTM_CACHING_CACHED);

	devices.front().instance.remove();
	expect_gone(lost);
	std::for_each(devices.begin() + 1, devices.end(), [](const Active &active) {
		VttmObject(active.device, page_bytes, DRM_VTTM_CACHING_CACHED).populate();
		expect_no_leak(active.device);
	});
}

void several_at_once(KtapWriter &ktap)
{
	constexpr std::array<VttmConfig, 4> configs = {{
		{.dma_bits = 64, .coherent = true, .tt_mib = 16},
		{.dma_bits = 32, .coherent = true, .tt_mib = 4},
		{.dma_bits = 64, .coherent = false, .tt_mib = 16},
		{.dma_bits = 32, .coherent = false, .tt_mib = 4},
	}};
	const CmaState cma = read_cma_state();
	std::deque<Active> devices;
	std::vector<std::future<void>> users;
	std::set<std::filesystem::path> nodes;
	ChunkOrders in_cma{};

	for (const VttmConfig &config : configs)
		nodes.insert(devices.emplace_back(config).device.path());
	if (nodes.size() != configs.size())
		throw Error(fmt::format("{} devices have {} nodes", configs.size(), nodes.size()));
	for (std::size_t i = 0; i < devices.size(); i++)
		users.push_back(std::async(std::launch::async, use_device, std::ref(devices[i]),
					   i << 32, std::cref(cma.areas)));
	for (std::future<void> &user : users)
		user.get();
	for (const Active &active : devices) {
		const drm_vttm_device info = vttm_device_info(active.device);

		ktap.diagnostic(fmt::format("{}, {} bits: {} populates, {} evictions",
					    active.config.coherent ? "coherent" : "plain",
					    active.config.dma_bits,
					    static_cast<std::uint64_t>(info.populates),
					    static_cast<std::uint64_t>(info.evictions)));
		expect_no_leak(active.device);
		if ((info.evictions != 0) != (active.config.tt_mib == 4))
			throw Error("a table is full or not by what another device has in its own");
		std::transform(active.in_cma.begin(), active.in_cma.end(), in_cma.begin(),
			       in_cma.begin(), std::plus<>());
	}
	unplug_first(devices);
	expect_none_in_cma(ktap, cma, in_cma);
}

} // namespace

std::vector<VttmCase> vttm_device_cases()
{
	std::vector<VttmCase> cases = {{"vttm-several-devices", several_at_once}};

	for (const int node : {0, 1})
		cases.push_back({fmt::format("vttm-node-{}", node), [node](KtapWriter &ktap) {
					 pages_of_the_node(ktap, node);
				 }});
	return cases;
}

} // namespace nocma::cli
