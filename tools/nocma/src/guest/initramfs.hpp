/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "guest/kernel_build.hpp"

namespace nocma::guest
{

/* Descriptors of the job in the guest, see init.sh. */
enum class JobOutput { verdict = 3, data = 4 };

struct Job {
	std::vector<std::string> modules; /* loaded in this order, with what they need */
	std::string prepare; /* a line of shell before it, without which it is not run */
	std::vector<std::string> argv;
	JobOutput output = JobOutput::verdict;		 /* where its standard output goes */
	std::vector<std::filesystem::path> replacements; /* for modules of the same name */
	std::vector<std::filesystem::path> files;	 /* or folders, to be below /root */
};

/*
 * Writes an uncompressed cpio archive to `file`: busybox, the kernel's modules with the ttm.ko of
 * the variant, this very program, init and the job. Throws Error when a part cannot be had.
 */
void make_initramfs(const std::filesystem::path &file, const KernelBuild &kernel,
		    TtmVariant variant, const Job &job);

} // namespace nocma::guest
