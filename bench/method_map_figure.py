#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the report of bench/method_map.py as SVG: a panel for each source and device, with the fastest method at each
kernel extent and memory limit.

    bench/method_map_figure.py FILE.json docs/performance/method_map.svg
"""

import json
import sys
from fractions import Fraction
from html import escape
from pathlib import Path

from method_map import CHOICE_FACTOR, choice_factor, fastest_methods

COLORS = {"in-core": "#9ecae1", "dif": "#fdae6b", "tiled": "#a1d99b", "direct": "#bcbddc"}
SOURCES = {"memory": "from memory", "files": "from file to file"}
DEVICES = {"1 GPU": "one GPU", "2 GPUs": "two GPUs", "cpu": "CPU"}
CELL_WIDTH, CELL_HEIGHT = 54, 30
LEFT, TOP, GAP = 92, 112, 26  # of the first panel; GAP is between panels
LABEL_HEIGHT, TITLE_HEIGHT = 40, 22  # below a row of panels, above it


def text(x, y, words, anchor="middle", **style):
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{attributes}>{escape(words)}</text>'


def order(fraction):
    return float("inf") if fraction == "none" else Fraction(fraction)


def lead_text(methods):
    """Returns how many times as long as the fastest method the next one takes."""
    if len(methods) == 1:
        return "only"
    factor = methods[1][0] / methods[0][0]
    return f"{factor:.2f}×" if factor < 9.95 else f"{factor:.0f}×"


def draw_cell(x, y, point):
    shape = f'<rect x="{x:g}" y="{y:g}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}"'
    methods = fastest_methods(point) if point else []
    if not methods:
        words = "–" if point else ""
        return [f'{shape} fill="#eee" stroke="#fff"/>', text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, words)]
    drawn = [f'{shape} fill="{COLORS[methods[0][1]]}" stroke="#fff"/>',
             text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, lead_text(methods))]
    if choice_factor(point) > CHOICE_FACTOR:
        drawn.append(f'<path d="M{x + CELL_WIDTH - 12:g} {y + 1:g}h11v11z" fill="#cb181d"/>')
    return drawn


def draw_panel(left, top, title, points, kernels, limits, is_first):
    found = {(point["kernel_fraction"], point["limit"]): point for point in points}
    width, height = CELL_WIDTH * len(kernels), CELL_HEIGHT * len(limits)
    drawn = [text(left + width / 2, top - 8, title, font_size=12)]
    for column, kernel in enumerate(kernels):
        for row, limit in enumerate(reversed(limits)):
            drawn += draw_cell(left + CELL_WIDTH * column, top + CELL_HEIGHT * row, found.get((kernel, limit)))
        drawn.append(text(left + CELL_WIDTH * (column + 0.5), top + height + 15, kernel))
    drawn.append(text(left + width / 2, top + height + 31, "extent of the kernel / extent of the image"))
    for row, limit in enumerate(reversed(limits) if is_first else ()):
        shown = "no limit" if limit == "none" else limit
        drawn.append(text(left - 6, top + CELL_HEIGHT * (row + 0.5) + 4, shown, anchor="end"))
    if is_first:
        drawn.append(f'<text transform="translate({left - 70:g} {top + height / 2:g}) rotate(-90)" '
                     f'text-anchor="middle">memory limit / padded image</text>')
    return drawn


def draw_legend(methods):
    drawn, x = [], LEFT
    for method in methods:
        drawn += [f'<rect x="{x}" y="32" width="16" height="12" fill="{COLORS[method]}"/>',
                  text(x + 21, 42, method, anchor="start")]
        x += 35 + 7 * len(method)
    drawn += [f'<path d="M{LEFT + 5} 50h11v11z" fill="#cb181d"/>',
              text(LEFT + 21, 60, f"the choice takes over {CHOICE_FACTOR} times as long as the fastest",
                   anchor="start"),
              text(LEFT, 78, "only: others do not fit, or are the same;  –: none fits", anchor="start")]
    return drawn


def draw_map(report):
    """Returns the SVG of a report of method_map.py."""
    points = report["points"]
    kernels = sorted({point["kernel_fraction"] for point in points}, key=order)
    limits = sorted({point["limit"] for point in points}, key=order)
    sources = [source for source in SOURCES if any(point["source"] == source for point in points)]
    devices = [device for device in DEVICES if any(point["device"] == device for point in points)]
    panel_width, panel_height = CELL_WIDTH * len(kernels), CELL_HEIGHT * len(limits)
    row_height = panel_height + TITLE_HEIGHT + LABEL_HEIGHT
    panels, columns = [], 1
    for row, source in enumerate(sources):
        members = [(device, [point for point in points if (point["source"], point["device"]) == (source, device)])
                   for device in devices]
        members = [member for member in members if member[1]]
        columns = max(columns, len(members))
        for column, (device, of_device) in enumerate(members):
            panels += draw_panel(LEFT + column * (panel_width + GAP), TOP + row * row_height,
                                 f"{DEVICES[device]}, {SOURCES[source]}", of_device, kernels, limits, column == 0)
    width = max(LEFT + columns * (panel_width + GAP), 740)
    height = TOP + len(sources) * row_height
    image = "×".join(map(str, report["image"]))
    title = f"The fastest method for an image of {image}, and how much longer the next one takes"
    found = {method for point in points for _, method in fastest_methods(point)}
    drawn = ['<svg xmlns="http://www.w3.org/2000/svg" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>',
             text(LEFT, 20, title, anchor="start", font_size=13),
             *draw_legend([method for method in COLORS if method in found]), *panels, "</svg>"]
    return "\n".join(drawn) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(draw_map(report), encoding="utf-8")


if __name__ == "__main__":
    main()
