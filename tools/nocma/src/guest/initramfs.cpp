// SPDX-License-Identifier: GPL-2.0-only
#include "guest/initramfs.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "guest/init_script.hpp"
#include "guest/shell.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma::guest
{

namespace fs = std::filesystem;

namespace
{

/* Programs that are not would find no libraries in the guest. */
bool is_static(const fs::path &program)
{
	return !run({"ldd", program.native()}).ok();
}

fs::path busybox()
{
	const std::optional<fs::path> file = find_program("busybox");

	if (!file || !is_static(*file))
		throw Error("no static busybox: install the package busybox-static");
	return *file;
}

void install(const fs::path &from, const fs::path &to)
{
	fs::create_directories(to.parent_path());
	fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

/* Under the name it was given by; a link stands for what it leads to. */
void add_file(const fs::path &file, const fs::path &folder)
{
	const fs::path named = fs::absolute(file / "").lexically_normal().parent_path();

	fs::create_directories(folder);
	fs::copy(fs::canonical(file), folder / named.filename(),
		 fs::copy_options::recursive | fs::copy_options::copy_symlinks);
}

/* Puts a module in the place of the kernel's own of that name. */
void replace_module(const fs::path &modules, const fs::path &file)
{
	for (const fs::directory_entry &entry : fs::recursive_directory_iterator(modules))
		if (entry.path().filename() == file.filename()) {
			install(file, entry.path());
			return;
		}
	throw Error(fmt::format("{}: has no {}: it has to be a module", modules.native(),
				file.filename().native()));
}

/* Sorted, so that the same parts give the same archive. */
std::string file_list(const fs::path &root)
{
	std::vector<std::string> names;

	for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root))
		names.push_back(entry.path().lexically_relative(root).native());
	std::sort(names.begin(), names.end());
	return fmt::format("{}\n", fmt::join(names, "\n"));
}

void write_program(const fs::path &file, std::string_view text)
{
	write_atomic(file, text);
	fs::permissions(file, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add);
}

void install_self(const fs::path &to)
{
	install("/proc/self/exe", to);
	if (!is_static(to))
		throw Error("this nocma needs shared libraries, which a guest lacks: use the one "
			    "that scripts/harness builds");
}

std::string job_script(const Job &job)
{
	return fmt::format("{}{} >&{}\n", job.prepare.empty() ? "" : job.prepare + " && ",
			   shell_line(job.argv), static_cast<int>(job.output));
}

} // namespace

void make_initramfs(const fs::path &file, const KernelBuild &kernel, TtmVariant variant,
		    const Job &job)
{
	const TempDir stage("nocma-initramfs");
	const fs::path &root = stage.path();
	const fs::path modules = root / "lib" / "modules" / kernel.release;

	if (!find_program("cpio"))
		throw Error("no cpio: install the package cpio");
	fs::create_directories(root / "etc" / "nocma");
	fs::create_directories(modules);
	fs::copy(kernel.modules(), modules,
		 fs::copy_options::recursive | fs::copy_options::skip_symlinks);
	replace_module(modules, kernel.ttm(variant));
	for (const fs::path &replacement : job.replacements)
		replace_module(modules, replacement);
	for (const fs::path &added : job.files)
		add_file(added, root / "root");
	install(busybox(), root / "bin" / "busybox");
	install_self(root / "bin" / "nocma");
	write_program(root / "init", init_script);
	write_atomic(root / "etc" / "nocma" / "modules",
		     fmt::format("{}\n", fmt::join(job.modules, " ")));
	write_atomic(root / "etc" / "nocma" / "job", job_script(job));
	write_atomic(file, run_or_throw({"cpio", "--quiet", "--reproducible", "-o", "-H", "newc",
					 "-R", "0:0"},
					{.directory = root, .input = file_list(root)}));
}

} // namespace nocma::guest
