#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures which method is fastest, over the kernel's extent and the memory of a device: a map with a point for each
pair of them. At each point the method is chosen, and each one is forced, from host memory (repeated executions in one
process) and from file to file (the whole command, files in memory).

    bench/method_map.py --json FILE [--build DIR] [--image Z,Y,X] [--devices 1,2,cpu] [--sources memory,files]
                        [--kernels 1/16,…] [--limits 1/16,…,none] [--minutes N] [--limit SECONDS] [--seed N]
                        [--folder DIR]
    bench/method_map.py --check FILE

Kernels are fractions of the image's extents. Limits are fractions of the padded image, whose samples are float32:

    4 Π (n + ⌊k/2⌋) bytes for extents n of the image and k of the kernel

Devices are numbers of GPUs, each with this limit, or the CPU, whose engine has it. The CPU has points of memory only,
unless it is the only device. Points of files are run in random order. The file is written after each point. No point
begins after --minutes. A method that does not fit is reported so, and one that takes longer than --limit as well.

The report ends with the share of points at which the choice takes at most 1.15 times as long as the fastest method, and
with the share of predictions within 1.5 times of the measured time, for methods chosen and forced. Methods with equal
plans at a point count as one. --check prints this for a file.
"""

import argparse
import json
import math
import random
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

from large_kernels import (
    CaseProgram,
    describe_plan,
    format_limit,
    format_shape,
    machine_facts,
    memory_folder,
    method_of,
    repeated_figures,
    run_command,
    write_image,
    write_kernel,
)
from plans import errors, execution_settings
from report import report_text

METHODS = ("in-core", "dif", "tiled")
CHOICE_FACTOR, PREDICTION_FACTOR = 1.15, 1.5
WRONG_DEVIATION = 1e-4  # relative L2 difference between the results of two methods


def kernel_shape(image, fraction):
    """Returns the largest odd extents that are at most this fraction of the image's."""
    return tuple(max(1, int(extent * fraction) - (int(extent * fraction) + 1) % 2) for extent in image)


def padded_bytes(image, kernel):
    return 4 * math.prod(extent + taps // 2 for extent, taps in zip(image, kernel))


def way_settings(way):
    """Returns a key that is equal for ways with equal plans."""
    return execution_settings(way["plan"]) + str(way["plan"]["gpus_per_block"])


def fastest_of_each_plan(point):
    """Returns {settings: the fastest way with this plan}, without ways that failed."""
    found = {}
    for way in point["ways"].values():
        if "error" not in way:
            key = way_settings(way)
            found[key] = min(found.get(key, way), way, key=lambda one: one["seconds"])
    return found


def fastest_methods(point):
    """Returns [(seconds, method)] of the methods that ran, the fastest first."""
    seconds = {}
    for way in fastest_of_each_plan(point).values():
        method = method_of(way["plan"])
        seconds[method] = min(seconds.get(method, math.inf), way["seconds"])
    return sorted((value, method) for method, value in seconds.items())


def choice_factor(point):
    """Returns how much longer the choice takes than the fastest way; nothing if no method runs."""
    plans = fastest_of_each_plan(point)
    if not plans:
        return None
    choice = point["ways"]["auto"]
    if "error" in choice:
        return math.inf
    return plans[way_settings(choice)]["seconds"] / min(way["seconds"] for way in plans.values())


def prediction_errors(point):
    """Returns {way: factor between prediction and time}, one for each plan that was run to its end."""
    names = {}
    for name, way in point["ways"].items():
        if "error" not in way and not way.get("first_only"):
            names.setdefault(way_settings(way), name)
    plans = fastest_of_each_plan(point)
    return {name: errors([(plans[key]["seconds"], plans[key]["predicted_s"])])[0] for key, name in names.items()}


def point_name(point):
    return (f"{point['source']}, {point['device']}, kernel {format_shape(point['kernel'])}, "
            f"{format_limit(point['bytes'])} ({point['limit']} of the padded image)")


def summarize(points):
    """Returns the shares of good choices and predictions, and what fails."""
    choices = [(point, factor) for point in points if (factor := choice_factor(point)) is not None]
    predictions = [(point, name, factor) for point in points for name, factor in prediction_errors(point).items()]
    good_choices = sum(factor <= CHOICE_FACTOR for _, factor in choices)
    good_predictions = sum(factor <= PREDICTION_FACTOR for _, _, factor in predictions)
    failing = []
    for point, factor in choices:
        if factor > CHOICE_FACTOR:
            times = ", ".join(f"{method} {seconds:.3g} s" for seconds, method in fastest_methods(point))
            choice = point["ways"]["auto"]
            shown = choice.get("error") or describe_plan(choice["plan"])
            failing.append(f"choice {factor:.2f} times as long as the fastest: {point_name(point)}: {shown}; {times}")
    for point, name, factor in predictions:
        if factor > PREDICTION_FACTOR:
            way = fastest_of_each_plan(point)[way_settings(point["ways"][name])]
            failing.append(f"prediction off by {factor:.2f}: {point_name(point)}: {name}, "
                           f"{describe_plan(way['plan'])}: predicted {way['predicted_s']:.3g} s, "
                           f"measured {way['seconds']:.3g} s")
    for point in points:
        for name, way in point["ways"].items():
            if way.get("deviation", 0) > WRONG_DEVIATION:
                failing.append(f"wrong result: {point_name(point)}: {name} differs by {way['deviation']:.2g}")
    return {"points": len(points), "points_where_nothing_fits": len(points) - len(choices),
            "choices_within_1.15": [good_choices, len(choices)],
            "predictions_within_1.5": [good_predictions, len(predictions)], "failing": failing}


def print_share(name, share, wanted):
    good, count = share
    if count:
        print(f"  {name}: {good} of {count} ({good / count:.0%}; wanted {wanted:.0%})")


def print_summary(points):
    groups = {(point["source"], point["device"]): None for point in points}
    for source, device in groups:
        members = [point for point in points if (point["source"], point["device"]) == (source, device)]
        found = summarize(members)
        print(f"{source}, {device}: {found['points']} points, at {found['points_where_nothing_fits']} nothing fits")
        print_share("choices within 1.15 times of the fastest", found["choices_within_1.15"], 0.95)
        print_share("predictions within 1.5 times of the measured time", found["predictions_within_1.5"], 0.9)
        print("  fastest: " + ", ".join(f"{method} at {count}" for method, count in Counter(
            fastest_methods(point)[0][1] for point in members if fastest_methods(point)).most_common()))
    found = summarize(points)
    print("all:")
    print_share("choices within 1.15 times of the fastest", found["choices_within_1.15"], 0.95)
    print_share("predictions within 1.5 times of the measured time", found["predictions_within_1.5"], 0.9)
    print("\n".join(found["failing"]))


class Sweep:
    """Measures points one by one, and keeps the report."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.program = CaseProgram(arguments.build)
        self.convolume = arguments.build / "cli" / "convolume"
        self.points = []
        self.left_out = 0
        self.end = time.monotonic() + 60 * arguments.minutes
        self.facts = machine_facts()

    def all_points(self):
        """Yields the points to measure: of memory in order, as equal kernels follow each other, then of files."""
        for source in self.arguments.sources:
            found = []
            for device in self.arguments.devices:
                for fraction in self.arguments.kernels:
                    kernel = kernel_shape(self.arguments.image, fraction)
                    for limit in self.arguments.limits:
                        size = limit and int(padded_bytes(self.arguments.image, kernel) * limit)
                        found.append({"source": source, "device": device, "kernel_fraction": str(fraction),
                                      "limit": str(limit).lower(), "kernel": kernel, "bytes": size})
            if source == "files":
                if self.arguments.devices != ["cpu"]:
                    found = [point for point in found if point["device"] != "cpu"]
                random.Random(self.arguments.seed).shuffle(found)
            yield from found

    def device_name(self, device):
        return "cpu" if device == "cpu" else "gpu:" + ",".join(map(str, range(int(device.split()[0]))))

    def kernel_file(self, kernel):
        return self.folder / f"kernel_{'_'.join(map(str, kernel))}.npy"

    def run_from_memory(self, point, method, patience_s):
        case = {"image": self.arguments.image, "kernel": point["kernel"], "method": method, "executions": 3,
                "device": self.device_name(point["device"]), "bytes": point["bytes"], "patience_s": patience_s}
        found = repeated_figures(self.program.answer(case, self.arguments.limit))
        if "error" in found:
            return found
        way = {name: found[name] for name in ("seconds", "predicted_s", "construction_s", "first_s", "deviation",
                                              "plan")}
        return way if found["repeated_s"] else {**way, "first_only": True}

    def run_from_files(self, point, method):
        device = self.device_name(point["device"])
        command = [self.convolume, "convolve", self.folder / "image.npy",
                   self.kernel_file(point["kernel"]), "-o", self.folder / "out.npy", "--device", device, "--method",
                   method]
        if point["bytes"]:
            command += ["--engine-mem" if device == "cpu" else "--max-gpu-mem", point["bytes"]]
        return run_command(command, self.arguments.limit, self.folder / "cache")

    def measure(self, point):
        ways = {}
        for method in ("auto", *METHODS):
            best = min((way["seconds"] for way in ways.values() if "error" not in way), default=math.inf)
            chosen = ways.get("auto", {}).get("plan")
            if point["source"] == "memory":
                ways[method] = self.run_from_memory(point, method, max(1, min(4 * best, 5)))
            elif chosen is None or method_of(chosen) != method:
                # The method that was chosen is not forced as well: its plan would be the same.
                ways[method] = self.run_from_files(point, method)
        point["ways"] = ways
        self.points.append(point)
        times = ", ".join(f"{method} {seconds:.3g} s" for seconds, method in fastest_methods(point))
        factor = choice_factor(point)
        print(f"{point_name(point)}: {times or 'nothing fits'}"
              + (f"; choice {factor:.2f}" if factor else ""), flush=True)

    def report(self):
        return {**self.facts, "image": self.arguments.image, "points_left_out": self.left_out,
                "summary": summarize(self.points), "points": self.points}

    def run(self):
        if "files" in self.arguments.sources:
            write_image(self.folder / "image.npy", self.arguments.image)
            for fraction in self.arguments.kernels:
                kernel = kernel_shape(self.arguments.image, fraction)
                write_kernel(self.kernel_file(kernel), kernel)
            # The command measures once what it keeps, such as the start of the GPUs.
            for device in self.arguments.devices:
                self.run_from_files({"kernel": kernel, "device": device, "bytes": None}, "auto")
        for point in self.all_points():
            if time.monotonic() > self.end:
                self.left_out += 1
                continue
            self.measure(point)
            self.arguments.json.write_text(report_text(self.report()), encoding="utf-8")
        self.program.close()
        self.arguments.json.write_text(report_text(self.report()), encoding="utf-8")


def fractions_of(text):
    return [None if word == "none" else Fraction(word) for word in text.split(",")]


def usable_devices():
    gpus = len(machine_facts()["gpus"])
    return ",".join([*(str(count) for count in (1, 2) if count <= gpus), "cpu"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build" / "release")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--image", type=lambda text: tuple(map(int, text.split(","))), default=(256, 512, 512))
    parser.add_argument("--devices", help="numbers of GPUs, and cpu; default 1, 2 if there are two, and cpu")
    parser.add_argument("--sources", type=lambda text: text.split(","), default=["memory", "files"])
    parser.add_argument("--kernels", type=fractions_of, default="1/16,1/8,1/4,1/2,1")
    parser.add_argument("--limits", type=fractions_of, default="1/16,1/8,1/4,1/2,1,none")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--limit", type=float, default=20, help="seconds after which a run is given up")
    parser.add_argument("--seed", type=int, default=1, help="of the order of points of files")
    parser.add_argument("--folder", default=memory_folder(), help="where the folder for files is made")
    parser.add_argument("--check", type=Path)
    arguments = parser.parse_args()
    if arguments.check:
        print_summary(json.loads(arguments.check.read_text(encoding="utf-8"))["points"])
        return
    if arguments.json is None:
        sys.exit("method_map.py: name a file by --json")
    names = (arguments.devices or usable_devices()).split(",")
    arguments.devices = [name if name == "cpu" else f"{name} GPU{'s' * (name != '1')}" for name in names]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        sweep = Sweep(arguments, Path(name))
        sweep.run()
    print_summary(sweep.points)
    if sweep.left_out:
        print(f"time was up: {sweep.left_out} points left out")


if __name__ == "__main__":
    main()
