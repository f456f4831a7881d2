#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Restores recordings of known specimens by `convolume deconvolve` with its defaults and with fixed numbers of
iterations, and by other programs that are installed. Prints a table of how close each result comes. Run it from any
folder:

    bench/restoration/compare.py [--build DIR] [--small] [--kinds cells,beads] [--photons 50,300,3000] [--seeds 1,2]
                                 [--psfs matched,same] [--shape Z,Y,X] [--programs default,best] [--most N]
                                 [--jobs N] [--device cpu|gpu] [--json FILE]

The recordings are those of recordings.py. convolume makes the PSF of the restoration for the same objective, indices
and depth (`matched`), or for no depth (`no depth`), or it is the one of the forward model (`same`). It finds offset and
background itself; other programs get the image less both. `best` is the best of 1 to 12, 16, 20 … N iterations
(`--most`, 200), with and without a coarse start. It takes most of the time. `all pixels`, if it is asked for, is the
default without a search for missing, hot and saturated pixels. CPU seconds are those of the whole process.

Other programs are deconwolf (`dw` on PATH; needs tifffile), RedLionfish and scikit-image (if they can be imported),
with 40, 10 and 30 iterations.
"""

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import recordings

FIRST_RUN, LATER_DISTANCE = (12, 1), 4  # iterations, and distance of the estimates that are measured
PSFS = {"matched": ("--ns", "1.345", "--depth", "5um"), "no depth": ("--ns", "1.345", "--depth", "0um"), "same": None}
OWN = {"30 iterations": ["--iterations", 30], "default": [],
       "all pixels": ["--no-data", "off", "--hot-pixels", "off", "--saturation", "off"]}
PROGRAMS = ["30 iterations", "default", "best", "deconwolf", "RedLionfish", "scikit-image"]


class Command:
    def __init__(self, build, folder, device):
        self.program, self.folder, self.device = str(Path(build).resolve() / "cli" / "convolume"), Path(folder), device

    def run(self, *arguments):
        """Runs the command; returns its CPU seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([self.program, *map(str, arguments), "-q", "--overwrite"], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"convolume {' '.join(map(str, arguments))}: {done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout

    def restore(self, *options):
        """Returns the result, the CPU seconds, and the number of iterations."""
        seconds, text = self.run("deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--device", self.device, "--threads", 1,
                                 "--json", *options)
        return np.load(self.folder / "x.npy"), seconds, json.loads(text)["report"]["volumes"][0]["iterations"]


def best_of_all(command, recording, runs, options=()):
    """Returns the best PSNR of all estimates that the runs keep, with and without a coarse start, and its number of
    iterations. `runs` are numbers of iterations, and the distances of the estimates; `options` hold for all."""
    best = (-np.inf, "")
    for coarse in ([], ["--coarse-start=20"]):
        for iterations, every in runs:
            command.restore("--iterations", iterations, "--dump-every", every, *coarse, *options)
            for path in command.folder.glob("x.iter*.npy"):
                name = f"{int(path.name[6:9])}{' coarse' if coarse else ''}"
                best = max(best, (recordings.psnr(recording.truth, np.load(path)), name))
                path.unlink()
    return best


def cpu_seconds():
    """Returns the CPU seconds of this process and of the programs that it ran."""
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def restore_by_others(folder, image, psf, programs):
    """Yields the name, the result and the CPU seconds of each other program that is wanted and installed."""
    if "deconwolf" in programs and shutil.which("dw"):
        import tifffile  # noqa: PLC0415 (optional)

        before = cpu_seconds()
        # It adds a constant of 5 to the image, and expects the brightest pixels to be far above that.
        scale = 10000 / max(float(image.max()), 1e-9)
        tifffile.imwrite(folder / "dw_y.tif", (scale * image).astype(np.float32))
        tifffile.imwrite(folder / "dw_h.tif", psf.astype(np.float32))
        subprocess.run(["dw", "--iter", "40", "--threads", "1", "--float", "--overwrite", "--out", "dw_x.tif",
                        "dw_y.tif", "dw_h.tif"], cwd=folder, check=True, capture_output=True)
        yield "deconwolf", tifffile.imread(folder / "dw_x.tif") / scale, cpu_seconds() - before
    if "RedLionfish" in programs and importlib.util.find_spec("RedLionfishDeconv"):
        import RedLionfishDeconv  # noqa: PLC0415 (optional)

        before = cpu_seconds()
        x = RedLionfishDeconv.doRLDeconvolutionFromNpArrays(image, psf, niter=10, method="cpu")
        yield "RedLionfish", x, cpu_seconds() - before
    if "scikit-image" in programs and importlib.util.find_spec("skimage"):
        from skimage import restoration  # noqa: PLC0415 (optional)

        before = cpu_seconds()
        x = restoration.richardson_lucy(image, psf, num_iter=30, clip=False, filter_epsilon=1e-9)
        yield "scikit-image", x, cpu_seconds() - before


def compare(kind, photons, seed, psf, arguments):
    """Returns the row of one recording: figures of each program."""
    recording = recordings.record(kind, photons, seed, (16, 48, 48) if arguments.small else arguments.shape)
    row = {"recording": recording.name, "psf": psf, "programs": {}}
    with tempfile.TemporaryDirectory() as name:
        command = Command(arguments.build, name, arguments.device)
        np.save(command.folder / "y.npy", recording.image)
        optics = ("--na", recordings.NA, "--ni", recordings.IMMERSION, "--wavelength", f"{recordings.WAVELENGTH}um")
        command.run("psf", "-o", "h.npy", "--like", "y.npy", "--voxel", ",".join(f"{v}um" for v in recordings.VOXEL),
                    *optics, *(PSFS[psf] or PSFS["matched"]))
        made = np.load(command.folder / "h.npy")
        if PSFS[psf] is None:
            made = recordings.make_psf(made.shape, *recordings.SPECIMEN).astype(np.float32)
            np.save(command.folder / "h.npy", made)
        light = np.maximum(recording.image.astype(np.float32) - recordings.OFFSET - recordings.background(photons), 0)
        row["recorded"] = recordings.measure(recording, light)
        if "best" in arguments.programs:
            row["best"], row["best_at"] = best_of_all(command, recording, [(12, 4)] if arguments.small
                                                          else [FIRST_RUN, (arguments.most, LATER_DISTANCE)])
        for program, options in OWN.items():
            if program in arguments.programs:
                x, seconds, iterations = command.restore(*options)
                row["programs"][program] = recordings.measure(recording, x) | {"seconds": seconds,
                                                                               "iterations": iterations}
        for program, x, seconds in restore_by_others(command.folder, light, made, arguments.programs):
            row["programs"][program] = recordings.measure(recording, x) | {"seconds": seconds}
    return row


def summary_of(rows):
    """Returns what the defaults of convolume lose against the best, and their CPU time against 30 iterations."""
    programs = [row["programs"] for row in rows]
    summary = {"recordings": len(rows)}
    if all(program in one for one in programs for program in ("30 iterations", "default")):
        summary["median_cpu"] = float(np.median([p["default"]["seconds"] / p["30 iterations"]["seconds"]
                                                 for p in programs]))
    if all(program in one for one in programs for program in ("default", "all pixels")):
        summary["largest_change_by_missing_pixels_dB"] = float(max(abs(p["default"]["psnr"] - p["all pixels"]["psnr"])
                                                                   for p in programs))
    if all("best" in row and "default" in row["programs"] for row in rows):
        loss = np.array([row["best"] - row["programs"]["default"]["psnr"] for row in rows])
        summary |= {"within_0.3_dB": float((loss <= 0.3).mean()), "largest_loss_dB": float(loss.max())}
    return summary


def line_of(row):
    default = row["programs"].get("default")
    others = "; ".join(f"{name} {one['psnr']:.2f}" for name, one in row["programs"].items() if name != "default")
    own = (f"{default['psnr']:.2f}, {default['iterations']} | {default['ssim']:.3f} | {default['resolution']:.2f} | "
           f"{default['flux']:.2f} | {default['seconds']:.1f}" if default else "– | – | – | – | –")
    best = f"{row['best']:.2f}, {row['best_at']}" if "best" in row else "–"
    return f"| {row['recording']} | {row['psf']} | {row['recorded']['psnr']:.2f} | {best} | {own} | {others} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = Path(__file__).resolve().parents[2] / "build" / "dev"

    def listed(text):
        return text.split(",")

    parser.add_argument("--build", default=os.environ.get("CONVOLUME_BUILD", default_build))
    parser.add_argument("--small", action="store_true", help="small images and few iterations, for a test")
    parser.add_argument("--kinds", type=listed, default=recordings.KINDS)
    parser.add_argument("--photons", type=listed, default=["50", "100", "300", "1000", "3000"])
    parser.add_argument("--seeds", type=listed, default=["1"])
    parser.add_argument("--psfs", type=listed, default=list(PSFS))
    parser.add_argument("--shape", type=lambda text: tuple(map(int, text.split(","))), default=recordings.SHAPE)
    parser.add_argument("--programs", type=listed, default=PROGRAMS)
    parser.add_argument("--most", type=int, default=200, help="largest number of iterations of `best`")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    wanted = [(kind, int(photons), int(seed), psf) for kind in arguments.kinds for photons in arguments.photons
              for seed in arguments.seeds for psf in arguments.psfs]
    rows = []
    print("| recording | PSF | recorded, dB | best, dB and iterations | default, dB and iterations | SSIM | "
          "resolution, µm | flux | CPU s | other programs, dB |\n" + "|---" * 10 + "|")
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(compare, *zip(*wanted), [arguments] * len(wanted)):
            rows.append(row)
            print(line_of(row), flush=True)
    summary = summary_of(rows)
    print("\n" + ", ".join(f"{name} {value:.3g}" for name, value in summary.items()))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
