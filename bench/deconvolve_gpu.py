#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times iterations of Richardson-Lucy on GPUs: in the memory of one GPU, in slabs on two, and by walks along z with 8
GiB of a GPU's memory, of whole planes and of tiles. Then times every method in each of these executors, and CuPy's
iteration if CuPy is installed. Cases for two GPUs are left out on a machine with one. Run it on a quiet machine, from
any folder:

    bench/deconvolve_gpu.py [--build DIR] [--folder DIR] [--only data|resident|walks|tiles|slabs|methods] [--json FILE]

Images and PSFs (22 GiB in all) are made in FOLDER, and kept there for later runs.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from report import report_text

from deconvolve import make_peer

RESIDENT = [((96, 256, 256), (33, 65, 65)), ((256, 512, 512), (63, 127, 127)), ((512, 1024, 1024), (64, 64, 64))]
WALK = (256, 2048, 2048), (33, 127, 127)
TILES = (48, 5120, 5120), (17, 63, 63)  # shapes of image and PSF; rows are longer than any pass
SLABS = (512, 2048, 2048), (33, 127, 127)
METHODS = (256, 1024, 1024), (33, 65, 65)
METHODS_BYTES = 3 << 30
WALK_BYTES = 8 << 30
SHORT_BYTES = 22, 18  # bytes of GPU memory for each voxel, too few for the arrays and two spectra


def format_shape(shape):
    return ",".join(map(str, shape))


def case_folder(folder, image, psf):
    path = folder / f"{format_shape(image)}_{format_shape(psf)}".replace(",", "x")
    if (path / "psf.f32").exists():
        return path
    path.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    with open(path / "image.f32", "wb") as file:
        for _ in range(image[0]):
            file.write(random.random(image[1:], dtype=np.float32).tobytes())
    axes = np.meshgrid(*[np.arange(n) - n // 2 for n in psf], indexing="ij", sparse=True)
    kernel = np.exp(-sum((axis / (n / 8)) ** 2 for axis, n in zip(axes, psf))).astype(np.float32)
    kernel.tofile(path / "psf.f32")
    return path


def run_deconvolution(arguments, image, psf, **options):
    """Runs the program once; returns its figures together with the settings."""
    command = [str(Path(arguments.build) / "bench" / "convolume_deconvolve_bench"),
               str(case_folder(arguments.folder, image, psf)), "--image", format_shape(image), "--psf",
               format_shape(psf), "--device",
               "gpu"]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    voxels = int(np.prod([n + (k - 1) * (options.get("edges", "extend") == "extend") for n, k in zip(image, psf)]))
    names = ("iteration_s", "device_bytes", "host_peak_bytes", "by_walks", "iterations_a_walk", "tiles", "execute_s")
    kept = {name: found[name] for name in names}
    row = {"image": image, "psf": psf, **options, **kept, "device_bytes_a_voxel": found["device_bytes"] / voxels,
           "host_bytes_a_voxel": found["host_peak_bytes"] / voxels}
    print(json.dumps(row), flush=True)
    return row


def measure_peer(arguments, image, psf):
    folder = case_folder(arguments.folder, image, psf)
    pixels = np.fromfile(folder / "image.f32", np.float32).reshape(image)
    kernel = np.fromfile(folder / "psf.f32", np.float32).reshape(psf)
    try:
        name, peer = make_peer("gpu", pixels, kernel / kernel.sum())
    except ImportError:
        return []
    peer.set_uniform_estimate(pixels.mean())
    return [{"image": image, "psf": psf, "edges": "zero", "peer": name,
             "iteration_s": sorted(peer.timed_iteration() for _ in range(20))[10]}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "convolume_deconvolve_gpu")
    parser.add_argument("--only", choices=["data", "resident", "walks", "tiles", "slabs", "methods"])
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    wanted = {arguments.only} if arguments.only else {"resident", "walks", "tiles", "slabs", "methods"}

    if arguments.only == "data":
        for case in [*RESIDENT, WALK, TILES, SLABS, METHODS]:
            case_folder(arguments.folder, *case)
    gpus = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], check=True, capture_output=True,
                          text=True).stdout.splitlines()
    several = len(gpus) > 1
    rows = []
    if "resident" in wanted:
        for case in RESIDENT:
            rows += measure_peer(arguments, *case)
            for edges, acceleration in [("zero", "none"), ("zero", "biggs-andrews"), ("extend", "none"),
                                        ("extend", "biggs-andrews")]:
                rows.append(run_deconvolution(arguments, *case, gpus=0, edges=edges, acceleration=acceleration,
                                              iterations=20))
            rows.append(run_deconvolution(arguments, *case, gpus=0, edges="zero", acceleration="none", iterations=60,
                                          unobserved=True))
            limits = [{"max_gpu_bytes": int(n * np.prod(case[0]))} for n in SHORT_BYTES]
            for limit in [{}, *limits]:
                rows.append(run_deconvolution(arguments, *case, gpus=0, edges="zero", acceleration="biggs-andrews",
                                              iterations=20,
                                              uint16=True, **limit))
    if "walks" in wanted:
        for method, acceleration in [("shb", "none"), ("rl", "biggs-andrews")]:
            rows.append(run_deconvolution(arguments, *WALK, gpus=0, max_gpu_bytes=WALK_BYTES, method=method,
                                          acceleration=acceleration, iterations=12, uint16=True))
    if "tiles" in wanted:
        for method, acceleration in [("shb", "none"), ("rl", "biggs-andrews")]:
            rows.append(run_deconvolution(arguments, *TILES, gpus=0, max_gpu_bytes=WALK_BYTES, method=method,
                                          acceleration=acceleration, iterations=6, uint16=True))
    if "slabs" in wanted:
        for choice in ("0", "0,1") if several else ("0",):
            rows.append(run_deconvolution(arguments, *SLABS, gpus=choice, edges="zero", iterations=8))
    if "methods" in wanted:
        for method in ("rl", "shb", "rl-tv", "wb", "rlgc", "wiener"):
            two = [{"gpus": "0,1"}] if several else []
            for choice in [{"gpus": 0}, *two, {"gpus": 0, "max_gpu_bytes": METHODS_BYTES}]:
                rows.append(run_deconvolution(arguments, *METHODS, **choice, edges="zero", method=method,
                                              acceleration="none",
                                              iterations=12))
    if arguments.json:
        report = {"date": time.strftime("%Y-%m-%d"), "gpus": gpus, "cores": os.cpu_count(), "rows": rows}
        Path(arguments.json).write_text(report_text(report), encoding="utf-8")


if __name__ == "__main__":
    main()
