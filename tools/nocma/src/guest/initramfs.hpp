/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "guest/kernel_build.hpp"

namespace nocma::guest
{

struct Job {
	std::vector<std::string> modules; /* loaded in this order, with what they need */
	std::string command;		  /* a line of shell: 3 is the verdict, 4 the data */
};

/*
 * Writes an uncompressed cpio archive to `file`: busybox, the kernel's modules with the ttm.ko of
 * the variant, this very program, init and the job. Throws Error when a part cannot be had.
 */
void make_initramfs(const std::filesystem::path &file, const KernelBuild &kernel,
		    TtmVariant variant, const Job &job);

} // namespace nocma::guest
