#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares restorations of phantoms that were recorded with saturation: with saturated pixels as lower bounds (the
default of `deconvolve`), and as they are (--saturation off). The reference is the restoration of the same recording
without saturation. Errors are root mean squares relative to that of the reference.

    bench/saturation.py [--build DIR] [--kinds cells,beads] [--photons 40,400] [--shares 0.1,1,5,15] [--json FILE]

The photons are those of the brightest voxel, and the shares are percentages of pixels that reach the largest value of a
camera of 12 bits.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from report import report_text

SHAPE, LIMIT, OFFSET = (24, 96, 96), 4095, 100
VOXEL = ["--voxel", "200,100,100nm"]
OPTICS = ["--na", "1.2", "--ni", "1.33", "--wavelength", "520nm", *VOXEL]
INNER = np.s_[4:20, 16:80, 16:80]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--build", type=Path, default=root / "build" / "release")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["cells", "beads"])
    parser.add_argument("--photons", type=lambda text: text.split(","), default=["40", "400"])
    parser.add_argument("--shares", type=lambda text: [float(one) for one in text.split(",")], default=[0.1, 1, 5, 15])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    command = str((given.build / "cli" / "convolume").resolve())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        def call(*arguments):
            subprocess.run([command, *arguments, "--overwrite", "-q"], cwd=folder, check=True)

        def restored(image, *options):
            np.save(f"{folder}/image.npy", image.astype(np.uint16))
            call("deconvolve", "image.npy", "psf.tif", "-o", "out.npy", "--device", "cpu", *VOXEL, *options)
            return np.load(f"{folder}/out.npy").astype(float)[INNER]

        call("psf", "-o", "psf.tif", *OPTICS, "--size", "47,63,63")
        for kind in given.kinds:
            call("phantom", "-o", "specimen.tif", "--kind", kind, "--size", ",".join(map(str, SHAPE)), *VOXEL,
                 "--seed", "5")
            for photons in given.photons:
                call("simulate", "specimen.tif", "psf.tif", "-o", "recorded.npy", "--photons", photons)
                recorded = np.load(f"{folder}/recorded.npy").astype(float)
                recorded -= recorded.min()
                for share in given.shares:
                    scale = (LIMIT - OFFSET) / np.quantile(recorded, 1 - share / 100)
                    full = np.rint(recorded * scale + OFFSET).clip(0, 65535)
                    cut = np.minimum(full, LIMIT)
                    reference = restored(full)
                    errors = [float(np.linalg.norm(result - reference) / np.linalg.norm(reference))
                              for result in (restored(cut), restored(cut, "--saturation", "off"))]
                    rows.append({"kind": kind, "photons": int(photons), "saturated percent": share,
                                 "error as bounds": errors[0], "error as they are": errors[1]})
                    print(f"{kind}, {photons} photons, {share} % saturated: error as bounds {errors[0]:.3f}, "
                          f"as they are {errors[1]:.3f}", flush=True)
    if given.json:
        given.json.write_text(report_text(rows))


if __name__ == "__main__":
    main()
