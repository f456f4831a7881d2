# SPDX-License-Identifier: Apache-2.0
"""Draws figures of filter banks on a GPU: time and throughput against the lengths and numbers of filters and
signals."""

import math
import sys
from dataclasses import dataclass

from filter_results import COPY_RATE, KINDS, PEERS, SAMPLES, describe_machine, floor_ms, milliseconds_by


@dataclass
class Figure:
    """A figure of time and throughput against `x`: convolume for several values of `varied`, peers for one of them."""

    file: str
    x: str
    label: str
    role: str  # role of convolume's measurements
    varied: str
    values: tuple
    peers_at: int
    fixed: dict


SYMBOLS = {"filters": "F", "taps": "M"}
FIGURES = [
    Figure("filters_length.png", "taps", "filter length M, samples", "length", "filters", (1, 8, 32), 8,
           {"samples": SAMPLES}),
    Figure("filters_count.png", "filters", "number of filters F", "filters", "taps", (65, 257, 1025), 257,
           {"samples": SAMPLES}),
    Figure("filters_signal.png", "samples", "signal length, samples", "samples", "taps", (65, 257, 1025), 257,
           {"filters": 8}),
]
COLUMNS = ["r2r", "c2c"]
OUR_COLORS = ["#9ecae1", "#3182bd", "#08306b"]
PEER_STYLES = {
    "cufft overlap-save": {"color": "#e6550d", "marker": "s"},
    "cufft": {"color": "#8c2d04", "marker": "D"},
    "conv1d": {"color": "#31a354", "marker": "^"},
    "oaconvolve": {"color": "#756bb1", "marker": "v"},
    "fftconvolve": {"color": "#dd3497", "marker": "x"},
}
FLOOR_STYLE = {"color": "#606060", "linestyle": ":", "linewidth": 1.3}


def our_style(index):
    return {"color": OUR_COLORS[index], "marker": "o", "linewidth": 1.8, "markersize": 3.5}


def peer_style(role):
    return PEER_STYLES[role] | {"linestyle": "--", "linewidth": 1.1, "markersize": 4}


def figure_lines(figure, results, kind):
    """Returns (label, style, case, {x: ms}) for each line of a figure. The case has all parameters but x."""
    symbol = SYMBOLS[figure.varied]
    for index, value in enumerate(figure.values):
        case = figure.fixed | {figure.varied: value}
        points = milliseconds_by(results, figure.x, role=figure.role, kind=kind, **case)
        yield f"convolume, {symbol} = {value}", our_style(index), case, points
    case = figure.fixed | {figure.varied: figure.peers_at}
    places = milliseconds_by(results, figure.x, role=figure.role, kind=kind, **case)
    for role, name in PEERS.items():
        points = milliseconds_by(results, figure.x, role=role, kind=kind, **case)
        yield f"{name}, {symbol} = {figure.peers_at}", peer_style(role), case, points
    floor = {}
    for place in places:
        whole = case | {figure.x: place}
        bound = floor_ms(kind, whole["filters"], whole["samples"])
        if bound > 1e-3:  # launching a CUDA kernel takes longer than shorter bounds
            floor[place] = bound
    # The bytes that are read and written do not depend on the filters' length.
    fixed = "" if figure.varied == "taps" else f", {symbol} = {figure.peers_at}"
    yield f"memory at {COPY_RATE / 1e12} TB/s{fixed}", FLOOR_STYLE, case, floor


def format_binary_thousands(value, _=None):
    return f"{value / 2**20:g} Mi" if value >= 2**20 else f"{value / 2**10:g} Ki" if value >= 2**10 else f"{value:g}"


def format_axes(axes, x):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(format_binary_thousands if x == "samples" else lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter("")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1e4 else f"1e{math.log10(value):.0f}")
    axes.grid(color="#d8d8d8", linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save_picture(picture, legend, title, columns):
    picture.suptitle(title, fontsize=9)
    # The legend is below the picture, which is cropped when it is saved.
    picture.legend(legend.values(), legend.keys(), loc="upper center", bbox_to_anchor=(0.5, 0), ncol=columns,
                   fontsize=8, frameon=False)
    return picture


def draw_figure(figure, report, plt):
    """Draws a figure in two columns, for real and complex data. Draws none without measurements."""
    picture, axes = plt.subplots(2, 2, figsize=(11, 8), sharex=True, sharey="row", layout="constrained")
    legend = {}
    for kind, time_axes, rate_axes in zip(COLUMNS, *axes):
        for label, style, case, points in figure_lines(figure, report["results"], kind):
            if not points:
                continue
            rates = [1e3 * whole["samples"] * whole["filters"] / points[whole[figure.x]]
                     for whole in (case | {figure.x: place} for place in points)]
            legend[label], = time_axes.plot(points.keys(), points.values(), **style)
            rate_axes.plot(points.keys(), rates, **style)
        time_axes.set_title(f"{KINDS[kind]} data ({kind}), float32", fontsize=10)
        rate_axes.set_xlabel(figure.label)
        format_axes(time_axes, figure.x)
        format_axes(rate_axes, figure.x)
    axes[0][0].set_ylabel("time, ms")
    axes[1][0].set_ylabel("signal samples × filters per second")
    fixed = {"samples": f"{SAMPLES:,} samples", "filters": "8 filters"}[next(iter(figure.fixed))]
    return save_picture(picture, legend, f"{fixed}; {describe_machine(report)}", 3) if legend else None


def draw_direct_sums(report, plt):
    """Draws direct sums and overlap-save, for short filters."""
    picture, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    legend = {}
    for kind, one in zip(COLUMNS, axes):
        for role, style in (("direct", {"marker": "^", "linestyle": "--"}), ("overlap-save", {"marker": "o"})):
            for filters, color in ((1, OUR_COLORS[1]), (8, OUR_COLORS[2])):
                points = milliseconds_by(report["results"], "taps", role=role, kind=kind, filters=filters,
                                         samples=SAMPLES)
                if points:
                    legend[f"{role}, F = {filters}"], = one.plot(points.keys(), points.values(), color=color,
                                                                 markersize=4, **style)
        one.set_title(f"{KINDS[kind]} data ({kind}), float32", fontsize=10)
        one.set_xlabel("filter length M, samples")
        format_axes(one, "taps")
    axes[0].set_ylabel("time, ms")
    return save_picture(picture, legend, f"{SAMPLES:,} samples; {describe_machine(report)}", 4) if legend else None


def draw_all_figures(report, folder):
    try:
        import matplotlib
    except ImportError:
        print("no figures without matplotlib; draw them elsewhere by --from", file=sys.stderr)
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pictures = {figure.file: draw_figure(figure, report, plt) for figure in FIGURES}
    pictures["filters_direct.png"] = draw_direct_sums(report, plt)
    for file, picture in pictures.items():
        if picture:
            picture.savefig(folder / file, dpi=130, bbox_inches="tight", pad_inches=0.1)
