/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nocma
{

/* Colours as 0xRRGGBB: readable on white and on black. */
using Colour = std::uint32_t;

/* A diagram of filled boxes over rows, enough for histograms, stacked and grouped bars. */
struct Figure {
	struct Box {
		double left;
		double right;
		double bottom;
		double top;
		Colour colour;
	};
	struct Text {
		double x;
		double y;
		std::string text;
	};
	struct Tick {
		double at;
		std::string text;
	};
	/* An upright dashed line. */
	struct Mark {
		double x;
		double bottom;
		double top;
	};

	std::string description; /* for those who cannot see it */
	unsigned int height = 0; /* of 440 units of width */
	bool log_x = false;
	double left = 0; /* ends of the x axis, both above 0 when it is logarithmic */
	double right = 0;
	double top = 0; /* the y axis begins at 0 */
	std::string x_title;
	std::vector<Tick> x_ticks; /* where the plotter likes them when there are none */
	std::vector<Tick> y_ticks;
	std::vector<Box> boxes; /* one at least */
	std::vector<Mark> marks;
	std::vector<Text> texts; /* centred */
};

/* Commands for gnuplot that draw the figure as SVG; texts cannot break out of their quotes. */
std::string gnuplot_script(const Figure &figure);

/*
 * One inline <svg> element a figure, whose black is the text's colour of where it is put. Throws
 * Error when gnuplot is missing or fails.
 */
std::vector<std::string> draw(const std::vector<Figure> &figures);

/* What gnuplot wrote, taken apart and made fit for inclusion in HTML. Throws Error. */
std::vector<std::string> inline_svgs(std::string_view output, const std::vector<Figure> &figures);

/* For HTML's text and attributes. */
std::string escape_html(std::string_view text);

} // namespace nocma
