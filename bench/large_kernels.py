#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times convolutions whose kernel is as large as the image, on GPUs that hold a fraction of the image's spectrum.
Methods are chosen or forced; runs are the whole command from file to file, or repeated executions in one process.

    bench/large_kernels.py [--build DIR] [--json FILE] [--only GROUP[,GROUP…]] [--device gpu|cpu] [--folder DIR]
                           [--limit SECONDS] [--minutes N] [--scale N]
    bench/large_kernels.py --table FILE

Groups, with an image of 512×1024×1024 float32 unless named otherwise:

    command      the whole command with a kernel of 511×1023×1023
    execute      repeated executions from memory, with three kernels and several methods
    tiles        the whole command with a kernel of 255×511×511, tiles forced, and the choice
    deconvolve   the whole command `deconvolve`, 10 iterations, with a PSF of 511×1023×1023
    gpus         the rows of execute with one GPU and with two, beside the rates of copy, split and merge in host memory
    two-cores    128×512×512 * 127×511×511, the whole command on two cores of the CPU

Without --only, the first four. Files are in a folder of memory, which the script makes and removes. The report is
written after each row; no row begins after --minutes. With --scale N, extents are divided by N and limits by N³; with
--device cpu, the CPU takes the place of the GPUs: both are to try this script. The second form prints a report.
"""

import argparse
import json
import os
import select
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from hardware import gpu_properties, processor_name
from plans import execution_settings
from report import report_text

GIB = 1 << 30
IMAGE = (512, 1024, 1024)
LARGE, HALF, SMALL = (511, 1023, 1023), (255, 511, 511), (64, 64, 64)
DEFAULT_GROUPS = ("command", "execute", "tiles", "deconvolve")
# Phases of the command `deconvolve` that are neither iterations nor files.
PREPARATION = ("start", "plan", "prepare", "allocate", "pad", "other")

TOTALS = ("execute", "total", "accounted", "side_by_side")  # entries beside the phases in a report of the command


def format_shape(shape):
    return "×".join(map(str, shape))


def format_limit(limit):
    if limit is None:
        return "no limit"
    return f"{limit / GIB:g} GiB" if limit >= GIB // 8 else f"{limit / 2**20:.3g} MiB"


def method_of(plan):
    """Returns the method of a plan. One part, or one tile without slabs, is in-core."""
    return json.loads(execution_settings(plan))[0]


def describe_plan(plan):
    """Returns the method of a plan, with its division, in a few words."""
    tiles = plan["tiles_zyx"]
    text = f"{method_of(plan)}, {plan['parts']} parts" if plan["parts"] > 1 else method_of(plan)
    if tiles != [1, 1, 1]:
        text += f", {format_shape(tiles)} tiles"
    if plan["slab_planes"] > 0:
        text += f", slabs of {plan['slab_planes']} planes"
    if plan["gpus_per_block"] > 1:
        text += f", on {plan['gpus_per_block']} GPUs together"
    return text


def write_slabs(path, shape, slab):
    """Writes a NPY file of float32; slab(z) returns its planes z to z + 8. Several threads compute."""
    volume = np.lib.format.open_memmap(path, "w+", np.float32, shape)

    def write(z):
        volume[z:z + 8] = slab(z)[:shape[0] - z]

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, range(0, shape[0], 8)))


def write_image(path, shape):
    write_slabs(path, shape, lambda z: np.random.default_rng(z).random((8, *shape[1:]), np.float32))


def write_kernel(path, shape):
    """Writes the kernel of bench/large_kernels.cpp: 1 / (1 + r²)², with r in units of a tenth of the extents."""
    z_squared, y_squared, x_squared = (
        (10 * (np.arange(extent, dtype=np.float32) - extent // 2 + np.float32(0.25)) / extent) ** 2 for extent in shape)
    plane = 1 + y_squared[:, None] + x_squared
    write_slabs(path, shape, lambda z: 1 / (z_squared[z:z + 8, None, None] + plane) ** 2)


class CaseProgram:
    """bench/large_kernels.cpp as a running program. It is started anew if it ends, or does not answer in time."""

    def __init__(self, build):
        self.path = Path(build) / "bench" / "convolume_large_kernels_bench"
        self.process = None

    def answer(self, case, limit_s):
        """Returns the figures of a case, or {"error": …}."""
        if self.process is None:
            self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        text = json.dumps({**case, "limit_s": limit_s})
        try:
            self.process.stdin.write(text.encode() + b"\n")
            return json.loads(self.read_line(time.monotonic() + limit_s + 20))
        except (TimeoutError, OSError) as error:
            self.close()
            return {"error": f"{self.path.name}: {error}"}

    def read_line(self, end):
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("no answer in time")
            found = os.read(self.process.stdout.fileno(), 1 << 16)
            if not found:
                raise OSError(f"ended with exit code {self.process.wait()}")
            line += found
        return line

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def run_command(command, limit_s, cache, cores=None):
    """Runs `convolume … --json`. Returns its wall time, its plan, and the seconds of its phases, or {"error": …}."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}

    def bind():
        os.sched_setaffinity(0, cores)

    start = time.perf_counter()
    try:
        done = subprocess.run([*map(str, command), "--json", "-q", "--overwrite"], capture_output=True, text=True,
                              timeout=limit_s, env=environment, preexec_fn=bind if cores else None, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit_s:g} s"}
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    found = json.loads(done.stdout)
    plan, report = found["plan"], found["report"]
    phases = {name: phase_s for name, phase_s in report["seconds"].items() if phase_s > 0 and name not in TOTALS}
    answer = {"seconds": seconds, "plan": plan.get("chosen", plan), "phases": phases,
              "execute_s": report["seconds"]["execute"], "peak_resident_bytes": report["peak_resident_bytes"]}
    if "chosen" in plan:
        answer["predicted_s"] = plan["chosen"]["seconds"]
    return answer


def repeated_figures(answer):
    """Returns the row of an answer of CaseProgram. Without repeated executions, the first one counts."""
    if "error" in answer:
        return answer
    repeated, first_s = answer["repeated_s"], answer["first"]["seconds"]
    seconds = statistics.median(repeated or [first_s])
    return {"seconds": seconds, "predicted_s": answer["plan"]["seconds"], "repeated_s": repeated, "first_s": first_s,
            "preparation_s": answer["construction_s"] + first_s - seconds, "construction_s": answer["construction_s"],
            "peak_host_bytes": answer["peak_host_bytes"], "deviation": answer["deviation"], "plan": answer["plan"],
            **answer.get("last", answer["first"])["timeline"]}


def machine_facts():
    """Returns the facts of a report on the machine and on this run."""
    paths = ("--build", "--json", "--folder")
    words = [word for before, word in zip(["", *sys.argv[1:]], sys.argv[1:])
             if before not in paths and word.split("=")[0] not in paths]
    return {"date": time.strftime("%Y-%m-%d"), "processor": processor_name(), "cores": len(os.sched_getaffinity(0)),
            "gpus": gpu_properties(), "command": shlex.join([f"bench/{Path(sys.argv[0]).name}", *words])}


class Rows:
    """Runs the rows of the report, and writes it after each of them."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.convolume = Path(arguments.build) / "cli" / "convolume"
        self.program = CaseProgram(arguments.build)
        self.end = time.monotonic() + 60 * arguments.minutes
        self.report = {**machine_facts(), "rows": []}
        self.cache = folder / "cache"

    def scaled(self, shape):
        """Divides extents by --scale; a kernel's last sample is counted, so that 511 of 512 become 63 of 64."""
        return tuple(max(1, -(-(extent + extent % 2) // self.arguments.scale) - extent % 2) for extent in shape)

    def scaled_limit(self, limit):
        return limit and int(limit // self.arguments.scale ** 3)

    def device(self, gpus=1):
        return "cpu" if self.arguments.device == "cpu" else "gpu:" + ",".join(map(str, range(gpus)))

    def limit_options(self, verb, device, limit):
        if limit is None or (device, verb) == ("cpu", "deconvolve"):
            return []
        return ["--engine-mem" if device == "cpu" else "--max-gpu-mem", self.scaled_limit(limit)]

    def add(self, group, facts, work):
        """Runs work() for a row, if there is time left."""
        shown = ", ".join(str(value) for value in facts.values())
        if time.monotonic() > self.end:
            row = {"group": group, **facts, "error": "left out, as the time was up"}
        else:
            row = {"group": group, **facts, **work()}
        self.report["rows"].append(row)
        print(f"{group}: {shown}: " + (row.get("error") or f"{row['seconds']:.3f} s, predicted "
              f"{row.get('predicted_s', float('nan')):.3f} s, {row['plan_text']}"), flush=True)
        if self.arguments.json:
            self.arguments.json.write_text(report_text(self.report), encoding="utf-8")

    def file_of(self, kind, shape):
        """Returns the path of an image or a kernel, which is written at its first use."""
        path = self.folder / f"{kind}_{'_'.join(map(str, shape))}.npy"
        if not path.exists():
            (write_image if kind == "image" else write_kernel)(path, shape)
        return path

    def add_command(self, group, image, kernel, device, limit, options=(), cores=None, verb="convolve"):
        image, kernel = self.scaled(image), self.scaled(kernel)

        def work():
            inputs = [self.file_of("image", image), self.file_of("kernel", kernel)]
            command = [self.convolume, verb, *inputs, "-o", self.folder / "out.npy", "--device", device,
                       *self.limit_options(verb, device, limit), *options]
            found = run_command(command, self.arguments.limit, self.cache, cores)
            if "error" not in found:
                phases = found["phases"]
                plan = found["plan"]
                found["plan_text"] = describe_plan(plan) if verb == "convolve" else plan["engines"]
                found["preparation_s"] = sum(phases.get(name, 0) for name in PREPARATION)
            return found

        facts = {"image": format_shape(image), "kernel": format_shape(kernel), "device": device,
                 "limit": format_limit(self.scaled_limit(limit)), "options": shlex.join(map(str, options))}
        self.add(group, facts, work)

    def add_execution(self, group, kernel, limit, method, gpus=1):
        image, kernel, device = self.scaled(IMAGE), self.scaled(kernel), self.device(gpus)

        def work():
            case = {"image": image, "kernel": kernel, "method": method, "device": device,
                    "bytes": self.scaled_limit(limit), "patience_s": 20}
            found = repeated_figures(self.program.answer(case, self.arguments.limit))
            if "error" not in found:
                found["plan_text"] = describe_plan(found["plan"])
            return found

        facts = {"image": format_shape(image), "kernel": format_shape(kernel), "device": device,
                 "limit": format_limit(self.scaled_limit(limit)), "method": method}
        self.add(group, facts, work)

    def add_commands(self):
        for limit in (2 * GIB, 6 * GIB, None):
            self.add_command("command", IMAGE, LARGE, self.device(), limit)
        self.add_command("command", IMAGE, LARGE, "cpu", None)
        if self.arguments.device != "cpu":
            self.add_command("command", IMAGE, LARGE, "auto", 2 * GIB)

    def add_executions(self, group="execute", gpus=1):
        for limit in (2 * GIB, 6 * GIB):
            self.add_execution(group, LARGE, limit, "auto", gpus)
        for kernel, methods in ((HALF, ("auto", "dif", "tiled", "in-core")), (SMALL, ("auto", "dif", "tiled"))):
            for method in methods:
                self.add_execution(group, kernel, 2 * GIB, method, gpus)

    def add_tiles(self):
        for method in ("tiled", "auto"):
            self.add_command("tiles", IMAGE, HALF, self.device(), 2 * GIB, ["--method", method])

    def add_deconvolutions(self):
        options = ["--iterations", 10, "--edges", "zero", "--background", 0, "--no-data", "off", "--hot-pixels", "off"]
        for limit in (2 * GIB, 6 * GIB, None):
            self.add_command("deconvolve", IMAGE, LARGE, self.device(), limit, options, verb="deconvolve")

    def add_gpus(self):
        self.add_host_rates()
        for gpus in (1, 2):
            self.add_executions("gpus", gpus)
        self.add_host_rates()

    def add_host_rates(self):
        """Measures copies of 4 GiB within host memory, and split and merge, from all threads."""
        extent = 1024 // self.arguments.scale
        planes = max(32, extent)
        report = self.folder / "split.json"
        program = Path(self.arguments.build) / "bench" / "convolume_split_bench"
        shape = ["--planes", str(planes), "--rows", str(extent), "--columns", str(extent)]
        subprocess.run([program, *shape, "--rounds", "3", "--json", report], check=True, stdout=subprocess.DEVNULL)
        cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
        rates = {case["name"]: case["gb_per_s"] for case in cases if case["parts"] in (0, 16)}
        print("gpus: host memory, bytes read and written, GB/s: "
              + ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items()), flush=True)
        self.report.setdefault("host_gb_per_s", []).append(rates)

    def add_two_cores(self):
        cores = sorted(os.sched_getaffinity(0))[:2]
        self.add_command("two-cores", (128, 512, 512), (127, 511, 511), "cpu", None, ["--threads", 2], cores)

    def warm_up(self):
        """Lets the command measure once what it keeps, such as the start of the GPU."""
        for kind in ("image", "kernel"):
            self.file_of(kind, (4, 64, 64))
        run_command([self.convolume, "convolve", self.folder / "image_4_64_64.npy", self.folder / "kernel_4_64_64.npy",
                     "-o", self.folder / "out.npy", "--device", self.device()], 60, self.cache)


def seconds_text(seconds):
    return f"{seconds:.3g}"


def print_table(report):
    """Prints the rows as tables of Markdown."""
    print("| group | kernel | device | limit | options | plan | predicted, s | measured, s | preparation, s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in report["rows"]:
        cells = [row[name] for name in ("group", "kernel", "device", "limit")]
        cells.append(row.get("method") or row.get("options") or "–")
        if "error" in row:
            cells += [row["error"].split(":")[-1].strip(), "–", "–", "–"]
        else:
            cells += [row["plan_text"], *(seconds_text(row[name]) if name in row else "–"
                                          for name in ("predicted_s", "seconds", "preparation_s"))]
        print(f"| {' | '.join(cells)} |")
    print("\n| group | kernel | device | limit | phases, s |\n|---|---|---|---|---|")
    for row in report["rows"]:
        phases = ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in row.get("phases", {}).items()
                           if seconds >= 0.01)
        if phases:
            print(f"| {row['group']} | {row['kernel']} | {row['device']} | {row['limit']} | {phases} |")
    for rates in report.get("host_gb_per_s", []):
        print("\nhost memory, GB/s: " + ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items()))


def memory_folder():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build" / "release")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default=",".join(DEFAULT_GROUPS))
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu")
    parser.add_argument("--folder", default=memory_folder(), help="where the folder for files is made")
    parser.add_argument("--limit", type=float, default=100, help="seconds after which a row is given up")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    if arguments.table:
        print_table(json.loads(arguments.table.read_text(encoding="utf-8")))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        rows = Rows(arguments, Path(name))
        groups = {"command": rows.add_commands, "execute": rows.add_executions, "tiles": rows.add_tiles,
                  "deconvolve": rows.add_deconvolutions, "gpus": rows.add_gpus, "two-cores": rows.add_two_cores}
        wanted = arguments.only.split(",")
        if unknown := [group for group in wanted if group not in groups]:
            parser.error(f"there is no group {', '.join(unknown)}; the groups are {', '.join(groups)}")
        rows.warm_up()
        for group in wanted:
            groups[group]()
        rows.program.close()
    print_table(rows.report)


if __name__ == "__main__":
    main()
