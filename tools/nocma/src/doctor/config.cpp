// SPDX-License-Identifier: GPL-2.0-only
#include "doctor/config.hpp"

#include <array>
#include <cstddef>

#include <zlib.h>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::doctor
{

namespace
{

namespace fs = std::filesystem;

/* zlib's stream, as long as it lives. */
class Inflater
{
public:
	Inflater()
	{
		constexpr int gzip_only = 16;

		/* Memory is all that can be missing. */
		if (::inflateInit2(&stream_, gzip_only + MAX_WBITS) != Z_OK)
			throw Error("zlib: out of memory");
	}
	Inflater(const Inflater &) = delete;
	Inflater &operator=(const Inflater &) = delete;
	Inflater(Inflater &&) = delete;
	Inflater &operator=(Inflater &&) = delete;
	~Inflater() { ::inflateEnd(&stream_); }

	/* Nothing when the data are damaged or cut off. */
	std::optional<std::string> unpack(std::string data)
	{
		std::array<char, 65536> buffer{};
		std::string text;
		int result = Z_OK;

		/* zlib does not write to its input, its interface only says so with a macro. */
		stream_.next_in = reinterpret_cast<Bytef *>(data.data());
		stream_.avail_in = static_cast<uInt>(data.size());
		while (result == Z_OK) {
			stream_.next_out = reinterpret_cast<Bytef *>(buffer.data());
			stream_.avail_out = static_cast<uInt>(buffer.size());
			result = ::inflate(&stream_, Z_NO_FLUSH);
			text.append(buffer.data(), buffer.size() - stream_.avail_out);
		}
		return result == Z_STREAM_END ? std::optional(text) : std::nullopt;
	}

private:
	z_stream stream_{};
};

} // namespace

KernelConfig::KernelConfig(std::string_view text, std::string source) : source_(std::move(source))
{
	for (const std::string &line : split_lines(text)) {
		const std::size_t equals = line.find('=');

		if (!line.starts_with("CONFIG_") || equals == std::string::npos)
			continue;
		std::string_view value = trim(std::string_view(line).substr(equals + 1));

		if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
			value = value.substr(1, value.size() - 2);
		values_[line.substr(0, equals)] = value;
	}
}

std::optional<std::string> KernelConfig::value(std::string_view option) const
{
	const auto found = values_.find(option);

	return found == values_.end() ? std::nullopt : std::optional(found->second);
}

bool KernelConfig::has(std::string_view option) const
{
	const std::optional<std::string> set = value(option);

	return set == "y" || set == "m";
}

std::string gunzip(std::string_view data, std::string_view name)
{
	std::optional<std::string> text = Inflater().unpack(std::string(data));

	if (!text)
		throw Error(fmt::format("{}: no gzip, or cut off", name));
	return *text;
}

std::optional<KernelConfig> read_config(const fs::path &root, const std::string &release)
{
	const fs::path packed = root / "proc/config.gz";

	if (const std::optional<std::string> data = try_read_file(packed))
		return KernelConfig(gunzip(*data, packed.native()), "/proc/config.gz");
	for (const std::string &file :
	     {fmt::format("boot/config-{}", release), fmt::format("lib/modules/{}/config", release),
	      fmt::format("usr/lib/modules/{}/config", release),
	      fmt::format("lib/modules/{}/build/.config", release)})
		if (const std::optional<std::string> text = try_read_file(root / file))
			return KernelConfig(*text, "/" + file);
	return std::nullopt;
}

} // namespace nocma::doctor
