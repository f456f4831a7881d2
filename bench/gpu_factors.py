#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times equal work on 1, 2, 4 and 8 GPUs, if the machine has them, in one run: images in host memory in tiles and in
parts, with each transfer gate; images in the memory of all GPUs; files; iterations of a deconvolution in slabs, and by
walks. Run it on a quiet machine:

    bench/gpu_factors.py [--build DIR] [--folder DIR] [--gpus 1,2,4,8] [--repeats N] [--scale N]
                         [--only host|spread|deconvolve|files] [--json FILE]
    bench/gpu_factors.py --table FILE [--picture FILE.svg]

The second form prints a table of the figures in FILE, and draws time against the number of GPUs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from deconvolve_gpu import SLABS, WALK, WALK_BYTES, case_folder, format_shape
from report import report_text

sys.path.insert(0, str(Path(__file__).resolve().parent / "reproduce"))
from chart import draw_chart  # noqa: E402

GATES = ("per-link", "off", "global")
HOST_WORK = {"tiled1024": "1024×2048×2048 * 64³, tiled", "dif1024": "the same, 16 parts",
             "uint16": "1024³ uint16 * 33³"}
SPREAD_WORK = {"1024x2048x2048": "1024×2048×2048 * 64³ in GPU memory, circular",
               "1024k64": "1024×2048×2048 * 64³ in GPU memory, zero boundary",
               "2048k64": "2048³ * 64³ in GPU memory, circular"}
FILE_IMAGE, FILE_PSF = (512, 2048, 2048), (33, 65, 65)


def gpu_list(count):
    return ",".join(map(str, range(count)))


def run_for_json_lines(command, **how):
    found = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True, **how)
    lines = [line for line in found.stdout.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"gpu_factors.py: {command[0]} printed nothing: {found.stderr.strip()[-500:]}")
    return [json.loads(line) for line in lines]


class TimedRuns:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rows = []

    def add_row(self, work, gpus, seconds, **more):
        self.rows.append({"work": work, "gpus": gpus, "seconds": seconds, **more})
        print(json.dumps(self.rows[-1]), flush=True)

    def program_path(self, name):
        return Path(self.arguments.build) / "bench" / name

    def time_host_convolution(self, case, gpus, gate="auto"):
        scale = ["--scale", self.arguments.scale] if self.arguments.scale > 1 else []
        found = run_for_json_lines([self.program_path("convolume_gpu_bench"), case, "--gpus", gpus, "--gate", gate,
                                    "--repeats",
                                    self.arguments.repeats, *scale])[0]
        if "error" in found:
            sys.exit(f"gpu_factors.py: {case}: {found['error']}")
        self.add_row(HOST_WORK[case], gpus, found["seconds"], gate=gate, predicted_s=found["predicted_seconds"],
                     tasks=found["tasks"], tiles=found["tiles_zyx"], phases=found["phase_seconds"],
                     gb_to_device=found["gb_to_device"], gb_to_host=found["gb_to_host"],
                     error=found["relative_l2_error"])

    def time_spread(self, case, devices):
        """Times an image in the memory of `devices`, and returns the figures."""
        found = run_for_json_lines([self.program_path("convolume_gpu_spread_bench"), case, "--devices", devices,
                                    "--repeats", self.arguments.repeats])[-1]
        if "error" in found:
            sys.exit(f"gpu_factors.py: {case}: {found['error']}")
        return found

    def add_predictions(self):
        """Adds what the planner predicts, for numbers of GPUs that the machine may not have."""
        for found in run_for_json_lines([self.program_path("convolume_gpu_spread_bench"), *SPREAD_WORK, "--predict"]):
            self.add_row(f"{SPREAD_WORK[found['name']]}, predicted", found["gpus"], found["predicted_ms"] / 1e3)

    def add_spread(self, work, gpus, found):
        self.add_row(work, gpus, found["ms"] / 1e3, device_bytes=found["device_bytes"],
                     error=found["relative_l2_error"])

    def time_deconvolution(self, work, case, devices, gpus, **options):
        image, psf = case
        command = [self.program_path("convolume_deconvolve_bench"), case_folder(self.arguments.folder, image, psf),
                   "--image", format_shape(image), "--psf", format_shape(psf), "--device", "gpu", "--gpus", devices]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
        found = run_for_json_lines(command)[0]
        self.add_row(work, gpus, found["iteration_s"], by_walks=found["by_walks"], device_bytes=found["device_bytes"])

    def time_files(self, gpus):
        """Times the whole command, from one uncompressed HDF5 file to another, in the page cache."""
        import h5py
        folder = self.arguments.folder
        source, psf, target = folder / "factors.h5", folder / "factors_psf.npy", folder / "factors_out.h5"
        if not source.exists():
            random = np.random.default_rng(2)
            with h5py.File(source, "w") as file:
                stack = file.create_dataset("data", FILE_IMAGE, np.uint16)
                for z in range(FILE_IMAGE[0]):
                    stack[z] = random.integers(0, 4096, FILE_IMAGE[1:], np.uint16)
            np.save(psf, np.random.default_rng(3).random(FILE_PSF, np.float32))
        command = [Path(self.arguments.build) / "cli" / "convolume", "convolve", f"{source}:/data", psf, "-o", target,
                   "--device", f"gpu:{gpu_list(gpus)}", "--output-type", "same", "--overwrite", "--quiet"]
        seconds = []
        for _ in range(self.arguments.repeats):
            begin = time.perf_counter()
            subprocess.run([str(part) for part in command], check=True)
            seconds.append(time.perf_counter() - begin)
        target.unlink()
        self.add_row("uint16 file of 4 GiB to file * 33×65×65", gpus, statistics.median(seconds))


def measure_all(arguments):
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = TimedRuns(arguments)
    wanted = {arguments.only} if arguments.only else {"host", "spread", "deconvolve", "files"}
    for gpus in arguments.gpus:
        for case in HOST_WORK if "host" in wanted else ():
            runs.time_host_convolution(case, gpus)
        for gate in GATES if "host" in wanted and gpus > 1 else ():
            runs.time_host_convolution("tiled1024", gpus, gate)
        for case, work in SPREAD_WORK.items() if "spread" in wanted else ():
            runs.add_spread(work, gpus, runs.time_spread(case, gpu_list(gpus)))
        if "deconvolve" in wanted:
            runs.time_deconvolution("deconvolution in slabs, 512×2048×2048 * 33×127×127", SLABS, gpu_list(gpus), gpus,
                                    edges="zero", iterations=8)
            runs.time_deconvolution("deconvolution by walks, 8 GiB of each, 256×2048×2048 * 33×127×127", WALK,
                                    gpu_list(gpus), gpus, max_gpu_bytes=WALK_BYTES, method="shb", iterations=6,
                                    uint16=True)
        if "files" in wanted:
            runs.time_files(gpus)
    if "spread" in wanted:
        runs.add_predictions()
    # Slabs of several GPUs are timed one after another on one GPU: the share of each GPU, and the exchange in addition.
    for gpus in (2, 4, 8) if "spread" in wanted else ():
        case = "1024x2048x2048"
        runs.add_spread(f"{SPREAD_WORK[case]}: the slabs of {gpus} GPUs on one", 1,
                        runs.time_spread(case, ",".join("0" * gpus)))
    for gpus in (2, 4, 8) if "deconvolve" in wanted else ():
        runs.time_deconvolution(f"the slabs of {gpus} GPUs on one", SLABS, ",".join("0" * gpus), 1, edges="zero",
                                iterations=8)
    if arguments.json:
        report = {"date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "rows": runs.rows}
        Path(arguments.json).write_text(report_text(report), encoding="utf-8")


def seconds_by_work(rows):
    """Returns {work and gate: {number of GPUs: seconds}}, in the order of the rows."""
    found = {}
    for row in rows:
        gate = row.get("gate", "auto")
        name = row["work"] if gate == "auto" else f"{row['work']}, gate {gate}"
        found.setdefault(name, {})[row["gpus"]] = row["seconds"]
    return found


def print_table(arguments):
    works = seconds_by_work(json.loads(Path(arguments.table).read_text(encoding="utf-8"))["rows"])
    counts = sorted({gpus for times in works.values() for gpus in times})
    print("| work | " + " | ".join(f"{gpus} GPU{'s' * (gpus > 1)}, ms" for gpus in counts) + " | factors |")
    print("|---|" + "---|" * (len(counts) + 1))
    for name, times in works.items():
        factors = [f"{times[1] / times[gpus]:.2f}" for gpus in counts[1:] if 1 in times and gpus in times]
        print(f"| {name} | " + " | ".join(f"{1e3 * times[gpus]:.3g}" if gpus in times else "–" for gpus in counts) +
              f" | {', '.join(factors) or '–'} |")
    if arguments.picture:
        lines = [(name, times, "gate" in name or "predicted" in name)
                 for name, times in works.items() if len(times) > 1]
        Path(arguments.picture).write_text(draw_chart("The same work on several GPUs", "GPUs", "seconds", lines),
                                           encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "convolume_deconvolve_gpu")
    parser.add_argument("--gpus", help="numbers of GPUs, default 1,2,4,8 as far as there are so many")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["host", "spread", "deconvolve", "files"])
    parser.add_argument("--scale", type=int, default=1, help="divides extents, for a quick look")
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--table", help="print the figures of this file")
    parser.add_argument("--picture", help="draw them")
    arguments = parser.parse_args()
    if arguments.table:
        print_table(arguments)
        return
    if arguments.gpus:
        arguments.gpus = [int(count) for count in arguments.gpus.split(",")]
    else:
        listed = subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True).stdout
        arguments.gpus = [count for count in (1, 2, 4, 8) if count <= len(listed.strip().splitlines())]
    measure_all(arguments)


if __name__ == "__main__":
    main()
