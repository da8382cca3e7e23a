// SPDX-License-Identifier: GPL-2.0-only
#include "report/plot.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/process.hpp"

namespace nocma
{

namespace
{

constexpr unsigned int width = 440;

/* Single quotes: no escape but the doubled quote, no substitution; a line must stay one. */
std::string quote(std::string_view text)
{
	std::string quoted = "'";

	for (const char c : text) {
		if (std::iscntrl(static_cast<unsigned char>(c)) != 0)
			continue;
		quoted += c;
		if (c == '\'')
			quoted += c;
	}
	return quoted + "'";
}

std::string ticks(std::string_view axis, const std::vector<Figure::Tick> &ticks)
{
	std::string list;

	for (const Figure::Tick &tick : ticks)
		list += fmt::format("{}{} {}", list.empty() ? "" : ", ", quote(tick.text), tick.at);
	return fmt::format("set {}tics nomirror scale 0.5 ({})\n", axis, list);
}

void erase_between(std::string &text, std::string_view open, std::string_view close)
{
	for (std::size_t begin = text.find(open); begin != std::string::npos;
	     begin = text.find(open, begin)) {
		const std::size_t end = text.find(close, begin + open.size());

		if (end == std::string::npos)
			return;
		text.erase(begin, end + close.size() - begin);
	}
}

} // namespace

std::string gnuplot_script(const Figure &figure)
{
	std::string script = fmt::format(
		"reset\n"
		"set terminal svg size {},{} dynamic font 'sans-serif,14' noenhanced\n"
		"set border 1\nset key off\nset tics nomirror\nset xlabel {} offset 0,0.4\n"
		"set lmargin 10\nset rmargin 3\nset tmargin 0.4\nset bmargin 3\n"
		"set xrange [{}:{}]\nset yrange [0:{}]\n",
		width, figure.height, quote(figure.x_title), figure.left, figure.right, figure.top);

	if (figure.log_x)
		script += "set logscale x\nset format x '%g'\n";
	if (!figure.x_ticks.empty())
		script += ticks("x", figure.x_ticks);
	script += ticks("y", figure.y_ticks);
	for (const Figure::Mark &mark : figure.marks)
		script += fmt::format("set arrow from {},{} to {},{} nohead dt 2 front\n", mark.x,
				      mark.bottom, mark.x, mark.top);
	for (const Figure::Text &text : figure.texts)
		script += fmt::format("set label {} at {},{} center font ',12' front\n",
				      quote(text.text), text.x, text.y);
	script += "$boxes << END\n";
	for (const Figure::Box &box : figure.boxes)
		script += fmt::format("{} {} {} {} {} {} {}\n", box.left, box.bottom, box.left,
				      box.right, box.bottom, box.top, box.colour);
	script += "END\nplot $boxes using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid noborder "
		  "fillcolor rgb variable\n";
	return script;
}

std::vector<std::string> inline_svgs(std::string_view output, const std::vector<Figure> &figures)
{
	constexpr std::string_view open = "<svg";
	constexpr std::string_view close = "</svg>";
	std::vector<std::string> svgs;

	for (std::size_t begin = output.find(open); begin != std::string_view::npos;
	     begin = output.find(open, begin + 1)) {
		const std::size_t end = output.find(close, begin);

		if (end == std::string_view::npos || svgs.size() == figures.size())
			break;
		std::string svg(output.substr(begin, end + close.size() - begin));
		/* Symbols that are not used, and names that would be there once per figure. */
		erase_between(svg, "<defs>", "</defs>");
		erase_between(svg, "<title>", "</title>");
		erase_between(svg, "<desc>", "</desc>");
		erase_between(svg, " id=\"", "\"");
		svg.insert(open.size(), fmt::format(R"( role="img" aria-label="{}")",
						    escape_html(figures[svgs.size()].description)));
		svgs.push_back(std::move(svg));
	}
	if (svgs.size() != figures.size())
		throw Error(
			fmt::format("gnuplot: drew {} of {} figures", svgs.size(), figures.size()));
	return svgs;
}

std::vector<std::string> draw(const std::vector<Figure> &figures)
{
	if (!find_program("gnuplot"))
		throw Error(
			"gnuplot: not found, it draws the report's figures: install gnuplot-nox, "
			"or leave -o out for the table");
	ProcessOptions options;

	options.timeout = std::chrono::minutes(2);
	for (const Figure &figure : figures)
		options.input += gnuplot_script(figure);
	/* -d: the user's own start-up files have no say. */
	return inline_svgs(run_or_throw({"gnuplot", "-d", "-"}, options), figures);
}

std::string escape_html(std::string_view text)
{
	std::string escaped;

	for (const char c : text) {
		switch (c) {
		case '&':
			escaped += "&amp;";
			break;
		case '<':
			escaped += "&lt;";
			break;
		case '>':
			escaped += "&gt;";
			break;
		case '"':
			escaped += "&quot;";
			break;
		default:
			escaped += c;
		}
	}
	return escaped;
}

} // namespace nocma
