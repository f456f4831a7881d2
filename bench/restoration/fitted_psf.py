#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what `convolume deconvolve --refine-psf` makes of wrong optics, on recordings by an independent model:

    bench/restoration/fitted_psf.py CONVOLUME [--kinds cells,beads,nuclei] [--photons 100,1000] [--seeds 21]
                                    [--json FILE]

A row of the table is a recording and an NA to start from, which is 10 % too low or too high. The specimen is taken to
have the immersion's index. Columns are the misfit and the PSNR (after an affine fit to the specimen) of the restoration
with the optics as given, with the fitted optics, and with the true optics; then what was fitted.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import recordings
import tifffile

CHANGES = {"NA − 10 %": 0.9, "NA + 10 %": 1.1}
SPECIMENS = {"near the glass": (1.345, 0.0), "5 µm deep": (1.345, 5.0), "1.38, 10 µm deep": (1.38, 10.0)}


def restore(command, folder, recording, *options):
    """Returns the PSNR and the JSON of a restoration."""
    tifffile.imwrite(folder / "image.tif", recording.image, photometric="minisblack")
    voxel = ",".join(f"{1000 * edge:g}" for edge in recordings.VOXEL) + "nm"
    done = subprocess.run([command, "deconvolve", "image.tif", "-o", "result.tif", "--overwrite", "-q", "--json",
                           "--axes", "ZYX", "--voxel", voxel, "--ni", str(recordings.IMMERSION), "--device", "cpu",
                           "--wavelength", f"{1000 * recordings.WAVELENGTH:g}nm", *map(str, options)],
                          cwd=folder, check=True, capture_output=True, text=True)
    result = tifffile.imread(folder / "result.tif").astype(float)
    return recordings.psnr(recording.truth, result), json.loads(done.stdout)


def measure(command, folder, kind, photons, seed, specimen):
    index, depth = SPECIMENS[specimen]
    recording = recordings.record(kind, photons, seed, optics=(index, depth))
    true_psnr, report = restore(command, folder, recording, "--na", recordings.NA, "--ns", index, "--depth",
                                f"{depth}um")
    true = {"psnr": true_psnr, "misfit": report["report"]["volumes"][0]["misfit"]}
    for change, factor in CHANGES.items():
        given = ["--na", f"{factor * recordings.NA:.4g}"]
        row = {"recording": recording.name, "specimen": specimen, "change": change, "true": true}
        for name, more in (("given", []), ("fitted", ["--refine-psf"])):
            psnr, report = restore(command, folder, recording, *given, *more)
            row[name] = {"psnr": psnr, "misfit": report["report"]["volumes"][0]["misfit"],
                         "psf": report["kernel"]["psf"]}
        yield row


def table_of(rows):
    lines = ["| recording | specimen | start | misfit: given, fitted, true | PSNR: given, fitted, true |",
             "|---|---|---|---|---|"]
    for row in rows:
        figures = [", ".join(f"{row[name][key]:{form}}" for name in ("given", "fitted", "true"))
                   for key, form in (("misfit", ".2f"), ("psnr", ".1f"))]
        lines.append(f"| {row['recording']} | {row['specimen']} | {row['change']} | {figures[0]} | {figures[1]} |")
    better = np.mean([row["fitted"]["psnr"] > row["given"]["psnr"] - 0.05 for row in rows])
    gain = np.mean([row["fitted"]["psnr"] - row["given"]["psnr"] for row in rows])
    return "\n".join([*lines, "", f"{better:.0%} are not worse; PSNR rises by {gain:.2f} dB in the mean"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path)
    parser.add_argument("--kinds", default="cells,beads,nuclei")
    parser.add_argument("--photons", default="100,1000")
    parser.add_argument("--seeds", default="21")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.kinds.split(","):
            for photons in map(int, arguments.photons.split(",")):
                for seed in map(int, arguments.seeds.split(",")):
                    for specimen in SPECIMENS:
                        for row in measure(arguments.command.resolve(), Path(folder), kind, photons, seed, specimen):
                            rows.append(row)
                            print(row, flush=True)
    print(table_of(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
