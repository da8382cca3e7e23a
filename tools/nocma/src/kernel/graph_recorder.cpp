// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/graph_recorder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "kernel/allocation_trace.hpp"
#include "kernel/libtracefs.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/guardian.hpp"
#include "util/interrupt.hpp"

namespace nocma
{

namespace
{

namespace fs = std::filesystem;

constexpr std::string_view instance_prefix = "nocma-trace-";

/* The instance that a call writes to: ours, or nullptr for the global tracer. */
using Place = tracefs_instance *;

struct InstanceDeleter {
	void operator()(tracefs_instance *instance) const noexcept
	{
		tracefs_instance_free(instance);
	}
};
using Instance = std::unique_ptr<tracefs_instance, InstanceDeleter>;

fs::path tracing_folder()
{
	const char *const folder = tracefs_tracing_dir();
	std::error_code missing;

	if (folder == nullptr)
		throw SkipError("tracefs is not mounted and cannot be: run as root, on a kernel "
				"with CONFIG_FTRACE");
	/* Also when it is there but not for us, or nothing was mounted on the mount point. */
	if (!fs::exists(fs::path(folder) / "current_tracer", missing))
		throw SkipError(fmt::format("{}: no current_tracer in it: run as root", folder));
	return folder;
}

std::string read_setting(Place place, const char *file)
{
	int size = 0;
	const std::unique_ptr<char, decltype(&::free)> text(
		tracefs_instance_file_read(place, file, &size), &::free);

	if (!text)
		throw SystemError("read", file, errno);
	return {text.get(), static_cast<std::size_t>(size)};
}

void write_setting(Place place, const char *file, const std::string &value)
{
	if (tracefs_instance_file_write(place, file, value.c_str()) < 0)
		throw SystemError("write", file, errno);
}

/* A list of functions, one a write: the kernel takes no more at once. */
void write_functions(Place place, const char *file, const std::vector<std::string> &functions)
{
	write_setting(place, file, "\n");
	for (const std::string &function : functions)
		if (tracefs_instance_file_append(place, file, (function + "\n").c_str()) < 0)
			throw SystemError("write", fmt::format("{} to {}", function, file), errno);
}

/* A folder that a dying process still has a file of open is busy for a moment. */
void remove_instance(const std::string &name)
{
	constexpr int tries = 50;
	const fs::path folder = tracing_folder() / "instances" / name;
	std::error_code failed;

	for (int i = 0; i < tries && fs::exists(folder, failed); i++) {
		if (::rmdir(folder.c_str()) == 0)
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
}

/* Left behind when the machine's other guardian, ours, was killed as well. */
void remove_stale_instances()
{
	std::error_code missing;

	for (const fs::directory_entry &entry :
	     fs::directory_iterator(tracing_folder() / "instances", missing)) {
		const std::string name = entry.path().filename();
		pid_t owner = 0;

		if (!name.starts_with(instance_prefix))
			continue;
		std::from_chars(name.data() + instance_prefix.size(), name.data() + name.size(),
				owner);
		if (owner > 0 && ::kill(owner, 0) < 0 && errno == ESRCH)
			remove_instance(name);
	}
}

std::vector<std::string> joined(std::vector<std::string> first,
				const std::vector<std::string> &second)
{
	first.insert(first.end(), second.begin(), second.end());
	return first;
}

/* Of the functions asked for, those that can be traced. */
GraphRequest choose_functions(const GraphRequest &request)
{
	if (!tracefs_tracer_available(nullptr, "function_graph"))
		throw SkipError("no function_graph among available_tracers: kernel without "
				"CONFIG_FUNCTION_GRAPH_TRACER");
	const std::string available = read_setting(nullptr, "available_filter_functions");
	GraphRequest chosen = {.roots = traceable(available, request.roots),
			       .below = traceable(available, request.below),
			       .common = traceable(available, request.common),
			       .duration = request.duration};

	if (chosen.roots.empty())
		throw SkipError("no populate function of TTM can be traced: is a driver that "
				"uses TTM loaded (radeon, amdgpu, nouveau, vmwgfx)?");
	return chosen;
}

/* Lines for what was overwritten, as the kernel itself prints them when it notices. */
std::string losses(Place place)
{
	const std::unique_ptr<char, decltype(&tracefs_put_tracing_file)> folder(
		tracefs_instance_get_dir(place), &tracefs_put_tracing_file);
	std::string text;

	for (const fs::directory_entry &cpu :
	     fs::directory_iterator(fs::path(folder.get()) / "per_cpu")) {
		const std::uint64_t lost = lost_events(read_file(cpu.path() / "stats"));
		const std::string name = cpu.path().filename();

		if (lost != 0)
			text += fmt::format("CPU:{} [LOST {} EVENTS]\n", name.substr(3), lost);
	}
	return text;
}

void wait_until(std::chrono::steady_clock::time_point end)
{
	constexpr std::chrono::milliseconds step(50);

	while (std::chrono::steady_clock::now() < end) {
		InterruptGuard::check();
		std::this_thread::sleep_for(step);
	}
}

/* Sets the tracer of `place` going; false when this kernel does not have it in instances. */
bool choose_tracer(Place place)
{
	if (tracefs_instance_file_write(place, "current_tracer", "function_graph") >= 0)
		return true;
	if (place != nullptr && (errno == EINVAL || errno == ENOENT))
		return false;
	throw SystemError("write function_graph to", "current_tracer", errno);
}

/* The text, or nothing when `place` cannot have the tracer. */
std::optional<std::string> record(Place place, const std::vector<std::string> &functions,
				  std::chrono::seconds duration)
{
	write_setting(place, "tracing_on", "0");
	write_setting(place, "buffer_size_kb",
		      std::to_string(buffer_kib_per_cpu(std::thread::hardware_concurrency())));
	write_functions(place, "set_ftrace_filter", functions);
	if (!choose_tracer(place))
		return std::nullopt;
	write_setting(place, "tracing_on", "1");
	wait_until(std::chrono::steady_clock::now() + duration);
	write_setting(place, "tracing_on", "0");
	return losses(place) + read_setting(place, "trace");
}

std::optional<std::string> record_in_instance(const GraphRequest &request)
{
	const std::string name = fmt::format("{}{}", instance_prefix, ::getpid());
	const Guardian guardian([name] { remove_instance(name); });
	const Instance instance(tracefs_instance_create(name.c_str()));

	if (!instance)
		return std::nullopt;
	/* set_graph_function is global, so what is not below a root is recorded as well. */
	return record(instance.get(), joined(request.roots, request.below), request.duration);
}

/* Somebody's work must neither be disturbed nor lost. */
void refuse_if_in_use()
{
	constexpr std::string_view way_out = "clear it first, or wait until its user is done";
	const std::string tracer(trim(read_setting(nullptr, "current_tracer")));

	if (tracer != "nop")
		throw SkipError(fmt::format("current_tracer is {}: {}", tracer, way_out));
	for (const char *const file : {"set_ftrace_filter", "set_graph_function"})
		for (const std::string &line : split_lines(read_setting(nullptr, file)))
			if (!trim(line).empty() && !line.starts_with('#'))
				throw SkipError(fmt::format("{} is set: {}", file, way_out));
}

std::string record_globally(const GraphRequest &request)
{
	refuse_if_in_use();
	const std::string on(trim(read_setting(nullptr, "tracing_on")));
	const std::string size = buffer_size_setting(read_setting(nullptr, "buffer_size_kb"));
	const Guardian guardian([on, size] {
		/* Each of them, whether or not the one before could be written. */
		for (const auto &[file, value] :
		     std::initializer_list<std::pair<const char *, std::string>>{
			     {"current_tracer", "nop"},
			     {"set_graph_function", "\n"},
			     {"set_ftrace_filter", "\n"},
			     {"buffer_size_kb", size},
			     {"tracing_on", on}})
			tracefs_instance_file_write(nullptr, file, value.c_str());
	});

	write_functions(nullptr, "set_graph_function", request.roots);
	return record(nullptr, joined(joined(request.roots, request.below), request.common),
		      request.duration)
		.value_or("");
}

} // namespace

std::vector<std::string> traceable(std::string_view available_filter_functions,
				   const std::vector<std::string> &names)
{
	std::set<std::string, std::less<>> found;
	std::vector<std::string> result;

	/* "name" or "name [module]" */
	for (const std::string &line : split_lines(available_filter_functions)) {
		std::string name(trim(std::string_view(line).substr(0, line.find_first_of(" \t"))));

		if (std::find(names.begin(), names.end(), name) != names.end())
			found.insert(std::move(name));
	}
	for (const std::string &name : names)
		if (found.contains(name))
			result.push_back(name);
	return result;
}

std::string buffer_size_setting(std::string_view buffer_size_kb)
{
	const std::string_view text = trim(buffer_size_kb);

	return std::string(text.substr(0, text.find(' ')));
}

std::size_t buffer_kib_per_cpu(unsigned int cpus)
{
	constexpr std::size_t together = 65536;
	constexpr std::size_t most = 8192;
	constexpr std::size_t least = 256;

	return std::clamp(together / std::max(cpus, 1U), least, most);
}

std::string record_graph(const GraphRequest &request)
{
	const InterruptGuard interrupts;

	tracing_folder();
	remove_stale_instances();
	const GraphRequest chosen = choose_functions(request);
	if (const std::optional<std::string> text = record_in_instance(chosen))
		return *text;
	return record_globally(chosen);
}

} // namespace nocma
