#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a timeline that `convolume convolve --timeline` or `convolume_gpu_bench --timeline` wrote. Time runs to the
right, each engine and kind of work has a lane, and each part or tile a color.

    bench/timeline.py TIMELINE.json -o PICTURE.png [--title TEXT] [--from MS] [--to MS]

Needs matplotlib.
"""

import argparse
import json
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (after the choice of back end)
from matplotlib.patches import Patch  # noqa: E402

PHASES = ["start", "open", "plan", "prepare", "read", "pad", "decompose", "allocate", "host_to_device", "convolve",
          "device_to_host", "compose", "write", "commit"]
LABELS = {"host_to_device": "H2D", "device_to_host": "D2H"}
TRANSFERS = {"host_to_device", "device_to_host"}
ALWAYS_SHOWN = TRANSFERS | {"decompose", "convolve", "compose"}
HOST = -1
HOST_COLOR = "#b8b8b8"
# Strong colors come first. Grays are left out, as they stand for the host.
PALETTE = plt.get_cmap("tab20").colors
COLORS = [color for color in PALETTE[0::2] + PALETTE[1::2] if color not in PALETTE[14:16]]
BAR_HEIGHT = 0.8


class Event:
    def __init__(self, entry, origin_us):
        self.phase = entry["name"]
        self.engine = entry["args"]["engine"]
        self.task = entry["args"]["task"]
        self.bytes = entry["args"].get("bytes", 0)
        self.begin = (entry["ts"] - origin_us) / 1e3
        self.end = self.begin + entry["dur"] / 1e3


def read_events(path):
    """Reads events, in ms since the first one, and the names of engines if the file has them."""
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)["traceEvents"]
    names = {entry["tid"] - 1: entry["args"]["name"] for entry in entries
             if entry.get("ph") == "M" and entry["name"] == "thread_name"}
    spans = [entry for entry in entries if entry.get("ph") == "X"]
    if not spans:
        sys.exit(f"{path}: there are no events in it")
    origin = min(entry["ts"] for entry in spans)
    return [Event(entry, origin) for entry in spans], names


def lanes_of(events, span):
    """Groups events by (engine, phase), the host first, in the order of work. Phases without visible time are left
    out."""
    lanes = defaultdict(list)
    for event in events:
        lanes[event.engine, event.phase].append(event)
    shown = {key: lane for key, lane in lanes.items()
             if key[1] in ALWAYS_SHOWN or sum(event.end - event.begin for event in lane) > span / 500}
    return dict(sorted(shown.items(), key=lambda item: (item[0][0], PHASES.index(item[0][1]))))


def rows_of(lane):
    """Puts overlapping events into the least number of rows; returns (row, event) pairs and that number."""
    ends = []
    placed = []
    for event in sorted(lane, key=lambda event: event.begin):
        free = [row for row, end in enumerate(ends) if end <= event.begin]
        row = free[0] if free else len(ends)
        if row == len(ends):
            ends.append(0)
        ends[row] = event.end
        placed.append((row, event))
    return placed, len(ends)


def color_of(event):
    return HOST_COLOR if event.task < 0 else COLORS[event.task % len(COLORS)]


def lane_name(engine, phase, gpus, names):
    if engine == HOST:
        owner = "host"
    else:
        owner = names.get(engine, f"{'GPU' if engine in gpus else 'CPU engine'} {engine}")
    return f"{owner}  {LABELS.get(phase, phase)}"


def draw_lane(axes, position, lane, ms_per_point):
    placed, rows = rows_of(lane)
    height = BAR_HEIGHT / rows
    for row, event in placed:
        width = event.end - event.begin
        bottom = position - BAR_HEIGHT / 2 + row * height
        # Thin white edges separate neighboring bars, except bars that are as thin themselves.
        axes.broken_barh([(event.begin, width)], (bottom, height), facecolors=[color_of(event)], edgecolors="white",
                         linewidth=0.4 if width > 3 * ms_per_point else 0)
        text = str(event.task) if event.task >= 0 else ""
        size = 7 if rows == 1 else 5
        if text and rows <= 3 and width > len(text) * size * ms_per_point:
            axes.text(event.begin + width / 2, bottom + height / 2, text, ha="center", va="center", fontsize=size,
                      clip_on=True)


def draw(events, names, title, begin, end):
    begin = 0 if begin is None else begin
    end = max(event.end for event in events) if end is None else end
    events = [event for event in events if event.end > begin and event.begin < end]
    if not events:
        sys.exit("there are no events in that time")
    gpus = {event.engine for event in events if event.phase in TRANSFERS}
    lanes = lanes_of(events, end - begin)
    tasks = sorted({event.task for event in events if event.task >= 0})

    legend_rows = -(-min(len(tasks), len(COLORS)) // 10)
    height = 1.3 + 0.34 * len(lanes) + 0.25 * legend_rows
    figure, axes = plt.subplots(figsize=(12, height), layout="constrained")
    ms_per_point = (end - begin) / (10 * 72)
    previous = None
    for position, ((engine, _), lane) in enumerate(lanes.items()):
        if previous is not None and engine != previous:
            axes.axhline(position - 0.5, color="#404040", linewidth=0.6)
        previous = engine
        draw_lane(axes, position, lane, ms_per_point)

    axes.set_yticks(range(len(lanes)), [lane_name(*key, gpus, names) for key in lanes], fontsize=8)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_xlim(begin, end)
    axes.set_xlabel("time, ms")
    axes.grid(axis="x", color="#d8d8d8", linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if title:
        axes.set_title(title, fontsize=10)

    entries = [Patch(color=COLORS[task % len(COLORS)], label=str(task)) for task in tasks[:len(COLORS)]]
    more = f" (first {len(COLORS)} of {len(tasks)}; colors repeat)" if len(tasks) > len(COLORS) else ""
    if any(event.task < 0 for event in events):
        entries.append(Patch(color=HOST_COLOR, label="all"))
    axes.legend(handles=entries, title="part or tile" + more, loc="upper center", bbox_to_anchor=(0.5, -0.16),
                ncol=17, fontsize=7, title_fontsize=8, frameon=False, handlelength=1.2, columnspacing=1.2)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("timeline")
    parser.add_argument("-o", "--output", required=True, help="picture: .png, .svg or .pdf")
    parser.add_argument("--title", default="")
    parser.add_argument("--from", dest="begin", type=float, metavar="MS", help="draw from this time on")
    parser.add_argument("--to", dest="end", type=float, metavar="MS", help="draw until this time")
    arguments = parser.parse_args()
    events, names = read_events(arguments.timeline)
    figure = draw(events, names, arguments.title, arguments.begin, arguments.end)
    figure.savefig(arguments.output, dpi=150)


if __name__ == "__main__":
    main()
