#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the constants of deconvolution (deconvolve/estimates/constants.hpp), each with what its group says it comes
from, and measures what changes of them do to the scenes of scenes.py:

    bench/restoration/calibrate.py [--list] [--groups search,haze] [--change 0.2] [--kinds membranes,puncta]
                                   [--microscopes water,sheet] [--seeds 1] [--jobs N] [--json FILE]

Builds the command once from a copy of the sources, in which constants are multiplied by what the environment says
(build/calibrate). Each constant is made larger and smaller by a fifth. A row tells the mean change of the results'
PSNR and light over all scenes, and the largest ones of a scene. Without a change, all results are the same bits.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import recordings
import scenes

ROOT = Path(__file__).resolve().parents[2]
HEADER = "deconvolve/estimates/constants.hpp"
VARIED = ["common", "search", "prediction", "haze", "regions", "varying", "noise", "coarsening", "smoothing"]  # groups
# Two kinds that rules were chosen by, and four that none was; all microscopes take part.
KINDS = ["cells", "mesh", "membranes", "crowd", "puncta", "neuron"]
TYPES = "double|float|int|index_t"  # of constants that vary: others are sizes of arrays
VARY = """
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
namespace convolume::deconvolve {
template <class T> T varied(const char* name, T value) {
    const char* const changes = std::getenv("CONVOLUME_VARIED");  // such as "haze.patience=2 search.judged_share=1.2"
    const std::string wanted = std::string(name) + "=";
    const char* const change = changes == nullptr ? nullptr : std::strstr(changes, wanted.c_str());
    if (change == nullptr) return value;
    const double result = static_cast<double>(value) * std::atof(change + wanted.size());
    return static_cast<T>(std::is_integral_v<T> ? std::round(result) : result);
}
}
"""


def constants_of(text, types=r"\S+"):
    """Yields (group, what the group comes from, name, value) for each constant of the header of one of the types."""
    group, about, comment = "", "", []
    for line in text.splitlines():
        if line.startswith("///"):
            comment.append(line[3:].strip())
        elif opened := re.match(r"namespace (\w+) \{", line):
            group, about = opened[1], " ".join(comment)
        elif re.match(f"inline constexpr ({types}) ", line):
            for name, value in re.findall(r"(\w+) = ([^,;]+?)(?=,|;)", line):
                yield group, about, name, value
        if not line.startswith("///"):
            comment = []


def values_of(group):
    """Returns the constants of a group that are written as numbers, by their names."""
    found = constants_of((ROOT / HEADER).read_text(encoding="utf-8"))
    return {name: float(value) for own, _, name, value in found if own == group and re.fullmatch(r"[0-9.e-]+", value)}


def rewrite(text):
    """Returns the header with constants of VARIED that the environment can change."""
    lines, group = [], ""
    for line in text.splitlines():
        if opened := re.match(r"namespace (\w+) \{", line):
            group = opened[1]
        declared = re.match(f"inline constexpr ({TYPES}) (.*)", line)
        if group in VARIED and declared:
            line = f"inline const {declared[1]} " + re.sub(
                r"(\w+) = ([^,;]+?)(?=,|;)", rf'\1 = varied<{declared[1]}>("{group}.\1", \2)', declared[2])
        lines.append(line)
    return "\n".join(lines).replace("namespace convolume::deconvolve {", VARY + "namespace convolume::deconvolve {", 1)


def build(folder):
    """Builds the command with constants that vary, and returns its path."""
    source = folder / "source"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    tracked = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in tracked.split("\0"):
        if not name or not (ROOT / name).is_file():
            continue
        new, target = (ROOT / name).read_bytes(), source / name
        if name == HEADER:
            new = rewrite(new.decode()).encode()
        if not target.exists() or target.read_bytes() != new:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(new)
            shutil.copymode(ROOT / name, target)
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    for command in (["cmake", "--preset", "release", "-B", str(folder / "build"), "-DCONVOLUME_WITH_CUDA=OFF",
                     "-DCONVOLUME_BUILD_TESTS=OFF", "-DCONVOLUME_BUILD_BENCH=OFF", "-DCMAKE_UNITY_BUILD=ON", *launcher],
                    ["cmake", "--build", str(folder / "build"), "--target", "convolume_command"]):
        subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
    return folder / "build" / "cli" / "convolume"


def restore(program, folder, scene, varied):
    """Returns PSNR and sum of the result, with a varied constant."""
    with TemporaryDirectory() as name:
        environment = os.environ | {"CONVOLUME_VARIED": varied}
        subprocess.run([program, "deconvolve", folder / f"{scene.name}.npy", folder / f"{scene.name}-psf.npy", "-o",
                        f"{name}/x.npy", "--device", "cpu", "--threads", "1", "-q"], check=True, env=environment,
                       capture_output=True)
        x = np.load(f"{name}/x.npy").astype(np.float64)
    return recordings.psnr(scene.truth, x), x.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def listed(text):
        return text.split(",")

    parser.add_argument("--list", action="store_true", help="only list the constants")
    parser.add_argument("--groups", type=listed, default=VARIED)
    parser.add_argument("--change", type=float, default=0.2)
    parser.add_argument("--kinds", type=listed, default=KINDS)
    parser.add_argument("--microscopes", type=listed, default=list(scenes.MICROSCOPES))
    parser.add_argument("--seeds", type=listed, default=["1"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    arguments = parser.parse_args()
    header = (ROOT / HEADER).read_text(encoding="utf-8")
    if arguments.list:
        constants = list(constants_of(header))
        for group in dict.fromkeys(group for group, *_ in constants):
            about = next(about for other, about, *_ in constants if other == group)
            print(f"\n{group}: {about}")
            for name, value in ((name, value) for other, _, name, value in constants if other == group):
                print(f"    {name} = {value}")
        return
    program = build(ROOT / "build" / "calibrate")
    with TemporaryDirectory() as temporary, ThreadPoolExecutor(arguments.jobs) as pool:
        folder, made = Path(temporary), []
        for microscope in arguments.microscopes:
            for kind in arguments.kinds:
                for seed in arguments.seeds:
                    scene = scenes.record(kind, microscope, int(seed))
                    np.save(folder / f"{scene.name}.npy", scene.image)
                    subprocess.run([program, "psf", "-o", folder / f"{scene.name}-psf.npy", "--like",
                                    folder / f"{scene.name}.npy", *scene.microscope.options(), "-q"], check=True,
                                   capture_output=True)
                    made.append(scene)

        def start_all(varied):
            return [pool.submit(restore, program, folder, scene, varied) for scene in made]

        def results_of(started):
            return np.array([one.result() for one in started])

        usual = start_all("")
        changes = [(f"{group}.{constant}", value, factor, start_all(f"{group}.{constant}={factor}"))
                   for group, _, constant, value in constants_of(header, TYPES) if group in arguments.groups
                   for factor in (1 - arguments.change, 1 + arguments.change)]
        usual, rows = results_of(usual), []
        print(f"{len(made)} scenes\n\n"
              "| constant | value | factor | PSNR, mean | largest, dB | light, mean | largest |\n"
              + "|---" * 7 + "|")
        for name, value, factor, started in changes:
            now = results_of(started)
            psnr, light = now[:, 0] - usual[:, 0], now[:, 1] / usual[:, 1] - 1
            rows.append({"constant": name, "factor": factor, "psnr": psnr.tolist(), "light": light.tolist()})
            print(f"| {name} | {value} | {factor:.2f} | {psnr.mean():+.3f} | {psnr[np.abs(psnr).argmax()]:+.2f} | "
                  f"{light.mean():+.1%} | {light[np.abs(light).argmax()]:+.1%} |", flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"scenes": [s.name for s in made], "rows": rows}) + "\n",
                                        encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
