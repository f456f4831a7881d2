# SPDX-License-Identifier: Apache-2.0
"""Draws line charts with logarithmic axes as SVG, whose files are small enough for the repository."""

import math
import textwrap
from html import escape

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 62, 188, 34, 46
LABEL_CHARACTERS = 26  # of a line in the legend
COLORS = ["#3182bd", "#e6550d", "#31a354", "#756bb1", "#dd3497", "#8c6d31", "#636363", "#17becf"]


def ticks(low, high, base):
    """Returns the ticks of an axis: powers of `base`, at most nine of base 2. If base 10 has few, 2 and 5 are added."""
    first, last = math.floor(math.log(low, base) + 1e-9), math.ceil(math.log(high, base) - 1e-9)
    step = max(1, math.ceil((last - first) / 8))
    found = [base**power for power in range(first, last + 1, step)]
    if base == 10 and last - first <= 2:
        found = sorted(found + [factor * 10**power for power in range(first, last + 1) for factor in (2, 5)])
    return [value for value in found if low * 0.999 <= value <= high * 1.001]


def tick_label(value):
    if value >= 2**20 and value % 2**20 == 0:
        return f"{value // 2**20:g} Mi"
    if value >= 2**13 and value % 2**10 == 0:
        return f"{value // 2**10:g} Ki"
    return f"{value:g}" if 1e-3 <= value < 1e5 else f"{value:.0e}"


def draw_chart(title, x_label, y_label, lines, base=2):
    """Returns a chart of `lines`, [(name, {x: y}, dashed)], or None if they have no points."""
    lines = [(name, {x: y for x, y in sorted(points.items()) if x > 0 and y > 0}, dashed)
             for name, points, dashed in lines]
    lines = [line for line in lines if line[1]]
    if not lines:
        return None
    xs = [x for _, points, _ in lines for x in points]
    ys = [y for _, points, _ in lines for y in points.values()]
    x0, x1, y0, y1 = min(xs), max(xs), min(ys) / 1.2, max(ys) * 1.2
    x1 = x1 if x1 > x0 else 2 * x0

    def x_position(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(x / x0) / math.log(x1 / x0)

    def y_position(y):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(y / y0) / math.log(y1 / y0)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             'font-size="11">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             f'<text x="{LEFT}" y="18" font-size="12">{escape(title)}</text>']
    for x in ticks(x0, x1, base):
        parts.append(f'<path d="M{x_position(x):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
                     f'<text x="{x_position(x):.1f}" '
                     f'y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{tick_label(x)}</text>')
    for y in ticks(y0, y1, 10):
        parts.append(f'<path d="M{LEFT} {y_position(y):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/><text x="{LEFT - 5}" '
                     f'y="{y_position(y) + 4:.1f}" text-anchor="end">{tick_label(y)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_label)}'
                 f'</text><text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" '
                 f'text-anchor="middle">{escape(y_label)}</text>')
    at = TOP + 10
    colors = {}
    for name, points, dashed in lines:
        # A dashed line has the color of the line whose name begins its own.
        beginnings = [other for other in colors if dashed and name.startswith(other)]
        color = colors[name] = colors[beginnings[0]] if beginnings else COLORS[len(colors) % len(COLORS)]
        path = "L".join(f"{x_position(x):.1f} {y_position(y):.1f}" for x, y in points.items())
        dashes = ' stroke-dasharray="5 3"' if dashed else ""
        parts.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.6"{dashes}/>')
        parts += [f'<circle cx="{x_position(x):.1f}" cy="{y_position(y):.1f}" r="2.2" fill="{color}"/>'
                  for x, y in points.items()]
        parts.append(f'<path d="M{WIDTH - RIGHT + 10} {at}h18" stroke="{color}" stroke-width="1.6"{dashes}/>')
        label = textwrap.wrap(name, LABEL_CHARACTERS)
        parts += [f'<text x="{WIDTH - RIGHT + 33}" y="{at + 4 + 13 * line}">{escape(text)}</text>'
                  for line, text in enumerate(label)]
        at += 13 * len(label) + 4
    return "\n".join(parts) + "\n</svg>\n"
