// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/allocation_trace.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "kernel/libtracefs.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

constexpr const char *event_system = "nocma";

/* Per CPU. A 16 MiB object in single pages makes 8192 hits of 64 bytes or less. */
constexpr std::size_t buffer_kib = 2048;

struct Function {
	Traced id;
	const char *name;
	const char *entry_value; /* type of the value at entry, and its parameter */
	unsigned int parameter;
	const char *return_value;
};

/*
 * ttm_pool_alloc(pool, tt, ctx), dma_alloc_attrs(dev, size, ...), cma_alloc(cma, count, ...),
 * try_to_compact_pages(gfp_mask, order, ...), try_to_free_pages(zonelist, order, ...), getppid()
 */
constexpr std::array<Function, 6> functions = {{
	{Traced::ttm, "ttm", "u64", 2, "s32"},
	{Traced::dma, "dma", "u64", 2, "u64"},
	{Traced::cma, "cma", "u64", 2, "u64"},
	{Traced::compaction, "compaction", "u32", 2, "u32"},
	{Traced::reclaim, "reclaim", "s32", 2, "u64"},
	{Traced::own, "own", "u64", 1, "s32"},
}};

const Function &function(Traced id)
{
	return functions.at(static_cast<std::size_t>(id));
}

std::string event_name(Traced id, bool entry)
{
	return fmt::format("{}_{}_{}", function(id).name, entry ? "entry" : "return", ::getpid());
}

/* The next number in the text behind the given label, 0 when the label is not there. */
std::uint64_t number_after(std::string_view text, std::string_view label)
{
	const std::size_t at = text.find(label);
	std::uint64_t value = 0;

	if (at == std::string_view::npos)
		return 0;
	const std::string_view rest = trim(text.substr(at + label.size()));
	std::from_chars(rest.data(), rest.data() + rest.size(), value);
	return value;
}

struct InstanceDeleter {
	void operator()(tracefs_instance *instance) const noexcept
	{
		tracefs_instance_destroy(instance);
		tracefs_instance_free(instance);
	}
};
using Instance = std::unique_ptr<tracefs_instance, InstanceDeleter>;

struct TepDeleter {
	void operator()(tep_handle *tep) const noexcept { tep_free(tep); }
};

struct ProbeDeleter {
	void operator()(tracefs_dynevent *probe) const noexcept
	{
		tracefs_dynevent_destroy(probe, true);
		tracefs_dynevent_free(probe);
	}
};
using Probe = std::unique_ptr<tracefs_dynevent, ProbeDeleter>;

std::filesystem::path tracing_folder()
{
	const char *const folder = tracefs_tracing_dir();
	std::error_code missing;

	if (folder == nullptr)
		throw SkipError("tracefs is not mounted and cannot be (CONFIG_FTRACE, root?)");
	/* A mount point that nothing was mounted on looks like tracefs until one looks inside. */
	if (!std::filesystem::exists(std::filesystem::path(folder) / "kprobe_events", missing))
		throw SkipError(fmt::format(
			"{}: no kprobe_events: not root, empty mount, or no CONFIG_KPROBE_EVENTS",
			folder));
	return folder;
}

Instance make_instance()
{
	Instance instance(tracefs_instance_create(fmt::format("nocma-{}", ::getpid()).c_str()));
	tracefs_instance *const raw = instance.get();

	if (raw == nullptr)
		throw SystemError("create trace instance", "", errno);
	/* The clock of the caller's own time stamps. */
	if (tracefs_instance_file_write(raw, "trace_clock", "mono") < 0)
		throw SystemError("write", "trace_clock", errno);
	if (tracefs_instance_set_buffer_size(raw, buffer_kib, -1) < 0)
		throw SystemError("write", "buffer_size_kb", errno);
	if (tracefs_instance_file_write(raw, "set_event_pid", std::to_string(::getpid()).c_str()) <
	    0)
		throw SystemError("write", "set_event_pid", errno);
	return instance;
}

} // namespace

std::optional<std::string> find_function(std::string_view kallsyms,
					 const std::vector<std::string> &names)
{
	for (const std::string &name : names) {
		for (const std::string_view type : {"T", "t", "W"}) {
			const std::string symbol = fmt::format(" {} {}", type, name);

			for (std::size_t at = kallsyms.find(symbol); at != std::string_view::npos;
			     at = kallsyms.find(symbol, at + 1)) {
				const std::size_t end = at + symbol.size();

				if (end == kallsyms.size() || kallsyms[end] == '\n' ||
				    kallsyms[end] == '\t')
					return name;
			}
		}
	}
	return std::nullopt;
}

std::string probe_argument(unsigned int number, bool has_arg_access)
{
	if (has_arg_access)
		return fmt::format("$arg{}", number);
#ifdef __x86_64__
	constexpr std::array<const char *, 6> registers = {"%di", "%si", "%dx",
							   "%cx", "%r8", "%r9"};

	return registers.at(number - 1);
#else
	throw SkipError("kprobes offer no $argN (kernel before 4.20)");
#endif
}

std::uint64_t missed_hits(std::string_view profile, std::string_view event)
{
	for (const std::string &line : split_lines(profile)) {
		const std::string_view text = trim(line);

		if (!text.starts_with(event) || text.size() == event.size() ||
		    text[event.size()] != ' ')
			continue;
		return number_after(text, text.substr(0, text.find_last_of(' ')));
	}
	return 0;
}

std::uint64_t lost_events(std::string_view stats)
{
	std::uint64_t lost = 0;

	for (const std::string &line : split_lines(stats))
		if (line.starts_with("overrun:") || line.starts_with("commit overrun:") ||
		    line.starts_with("dropped events:"))
			lost += number_after(line, ":");
	return lost;
}

ProbeHit decode_hit(tep_event *event, tep_record *record)
{
	const std::string_view name = event->name;
	unsigned long long value = 0;

	for (const Function &candidate : functions) {
		if (!name.starts_with(candidate.name))
			continue;
		if (tep_get_field_val(nullptr, event, "value", record, &value, 0) != 0)
			break;
		return {.function = candidate.id,
			.entry = name.find("_entry_") != std::string_view::npos,
			.time = std::chrono::nanoseconds(record->ts),
			.value = value};
	}
	throw Error(fmt::format("trace: event {} cannot be read", name));
}

class AllocationTrace::Impl
{
public:
	Impl() : folder_(tracing_folder())
	{
		const std::string kallsyms = read_file("/proc/kallsyms");
		const std::optional<std::string> ttm =
			find_function(kallsyms, {"ttm_pool_alloc", "ttm_dma_populate"});

		if (!ttm)
			throw SkipError(
				"/proc/kallsyms: neither ttm_pool_alloc nor ttm_dma_populate: "
				"is ttm loaded, are you root?");
		if (!find_function(kallsyms, {"cma_alloc"}))
			throw SkipError("/proc/kallsyms: no cma_alloc: kernel without CONFIG_CMA");
		ttm_function_ = *ttm;

		add_probes(Traced::ttm, ttm_function_);
		add_probes(Traced::cma, "cma_alloc");
		/* An inline function before v5.0, over what x86 then allocates with. */
		add_if_there(kallsyms, Traced::dma,
			     {"dma_alloc_attrs", "dma_generic_alloc_coherent"});
		add_if_there(kallsyms, Traced::compaction, {"try_to_compact_pages"});
		add_if_there(kallsyms, Traced::reclaim, {"try_to_free_pages"});
		has_own_ = add_if_there(kallsyms, Traced::own,
					{"__x64_sys_getppid", "__arm64_sys_getppid",
					 "__do_sys_getppid", "sys_getppid", "SyS_getppid"});
		instance_ = make_instance();
		const std::array<const char *, 2> systems = {event_system, nullptr};
		tep_.reset(tracefs_local_events_system(folder_.c_str(), systems.data()));
		if (!tep_)
			throw SystemError("read event formats", folder_.native(), errno);
		enable(Traced::ttm, true);
		enable(Traced::cma, true);
	}

	void trace_dma(bool on)
	{
		if (!detailed_.contains(Traced::dma))
			throw SkipError("/proc/kallsyms: neither dma_alloc_attrs nor "
					"dma_generic_alloc_coherent");
		enable(Traced::dma, on);
	}

	void trace_details(bool on)
	{
		for (const Traced id : {Traced::dma, Traced::compaction, Traced::reclaim})
			if (detailed_.contains(id))
				enable(id, on);
	}

	[[nodiscard]] const std::set<Traced> &detailed() const noexcept { return detailed_; }

	std::chrono::nanoseconds measure_cost()
	{
		constexpr int calls = 1000;

		if (!has_own_)
			throw SkipError("/proc/kallsyms: no getppid to time the probes with");
		const auto plain = time_system_calls(calls);
		enable(Traced::own, true);
		const auto traced = time_system_calls(calls);
		enable(Traced::own, false);
		const auto seen = static_cast<int>(collect().size());
		if (seen != calls)
			throw Error(fmt::format("trace: {} of {} calls were seen", seen, calls));
		return traced > plain ? (traced - plain) / calls : std::chrono::nanoseconds(0);
	}

	std::vector<TracedCall> collect()
	{
		hits_.clear();
		missed_ = 0;
		if (tracefs_iterate_raw_events(tep_.get(), instance_.get(), nullptr, 0, on_event,
					       this) < 0)
			throw SystemError("read trace", folder_.native(), errno);
		if (!problem_.empty())
			throw Error(problem_);
		refuse_gaps();
		return pair_hits(hits_);
	}

	[[nodiscard]] const std::string &ttm_function() const noexcept { return ttm_function_; }

private:
	static std::chrono::nanoseconds time_system_calls(int calls)
	{
		const auto began = std::chrono::steady_clock::now();

		for (int i = 0; i < calls; i++)
			::syscall(SYS_getppid);
		return std::chrono::steady_clock::now() - began;
	}

	bool add_if_there(const std::string &kallsyms, Traced id,
			  const std::vector<std::string> &names)
	{
		const std::optional<std::string> symbol = find_function(kallsyms, names);

		if (!symbol)
			return false;
		add_probes(id, *symbol);
		if (id != Traced::own)
			detailed_.insert(id);
		return true;
	}

	void add_probes(Traced id, const std::string &symbol)
	{
		const Function &traced = function(id);
		const bool has_arg_access =
			read_file(folder_ / "README").find("$arg<N>") != std::string::npos;
		const std::string at_entry =
			fmt::format("value={}:{}", probe_argument(traced.parameter, has_arg_access),
				    traced.entry_value);
		const std::string at_return = fmt::format("value=$retval:{}", traced.return_value);

		create(tracefs_kprobe_alloc(event_system, event_name(id, true).c_str(),
					    symbol.c_str(), at_entry.c_str()),
		       symbol);
		create(tracefs_kretprobe_alloc(event_system, event_name(id, false).c_str(),
					       symbol.c_str(), at_return.c_str(), 0),
		       symbol);
	}

	void create(tracefs_dynevent *event, const std::string &symbol)
	{
		if (event == nullptr)
			throw SystemError("describe kprobe on", symbol, errno);
		if (tracefs_dynevent_create(event) != 0) {
			const int error = errno;

			/* Not created, so there is nothing to destroy. */
			tracefs_dynevent_free(event);
			throw SystemError("create kprobe on", symbol, error);
		}
		probes_.emplace_back(event);
	}

	void enable(Traced id, bool on)
	{
		for (const bool entry : {true, false}) {
			const std::string event = event_name(id, entry);

			if ((on ? tracefs_event_enable : tracefs_event_disable)(
				    instance_.get(), event_system, event.c_str()) != 0)
				throw SystemError("enable event", event, errno);
		}
	}

	/* libtracefs calls this through C: no exception may leave it. */
	static int on_event(tep_event *event, tep_record *record, int /* cpu */, void *context)
	{
		auto *const self = static_cast<Impl *>(context);

		try {
			if (record->missed_events != 0)
				self->missed_++;
			self->hits_.push_back(decode_hit(event, record));
			return 0;
		} catch (const std::exception &error) {
			self->problem_ = error.what();
			return -1;
		}
	}

	void refuse_gaps()
	{
		std::uint64_t lost = missed_;

		const std::unique_ptr<char, decltype(&tracefs_put_tracing_file)> folder(
			tracefs_instance_get_dir(instance_.get()), &tracefs_put_tracing_file);
		for (const std::filesystem::directory_entry &cpu :
		     std::filesystem::directory_iterator(std::filesystem::path(folder.get()) /
							 "per_cpu"))
			lost += lost_events(read_file(cpu.path() / "stats"));
		if (lost != 0)
			throw Error(fmt::format("trace: {} events lost, the buffer of {} KiB per "
						"CPU overran",
						lost, buffer_kib));

		const std::string profile = read_file(folder_ / "kprobe_profile");
		for (const Function &traced : functions)
			for (const bool entry : {true, false})
				if (missed_hits(profile, event_name(traced.id, entry)) != 0)
					throw Error(fmt::format("trace: kprobe {} missed hits",
								event_name(traced.id, entry)));
	}

	std::filesystem::path folder_;
	std::string ttm_function_;
	std::set<Traced> detailed_ = {Traced::ttm, Traced::cma};
	bool has_own_ = false;
	/* Destroyed in reverse: the instance first, so that no event is enabled any more. */
	std::vector<Probe> probes_;
	std::unique_ptr<tep_handle, TepDeleter> tep_;
	Instance instance_;
	std::vector<ProbeHit> hits_;
	std::uint64_t missed_ = 0;
	std::string problem_;
};

AllocationTrace::AllocationTrace() : impl_(std::make_unique<Impl>()) {}

AllocationTrace::~AllocationTrace() = default;

void AllocationTrace::trace_dma(bool on)
{
	impl_->trace_dma(on);
}

void AllocationTrace::trace_details(bool on)
{
	impl_->trace_details(on);
}

const std::set<Traced> &AllocationTrace::detailed() const noexcept
{
	return impl_->detailed();
}

std::chrono::nanoseconds AllocationTrace::measure_cost()
{
	return impl_->measure_cost();
}

std::vector<TracedCall> AllocationTrace::collect()
{
	return impl_->collect();
}

const std::string &AllocationTrace::ttm_function() const noexcept
{
	return impl_->ttm_function();
}

} // namespace nocma
