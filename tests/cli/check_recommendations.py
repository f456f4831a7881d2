# SPDX-License-Identifier: Apache-2.0
"""Runs what the guides recommend on phantoms of the kinds that they recommend it for, and checks that it gains what
they claim: check_recommendations.py CONVOLUME PAGE…. A row of a table recommends if its cells are a kind of phantom,
photons at the brightest pixel, options of `deconvolve` in code, and a gain such as "+5.1 dB". Ends with 77 (skipped)
if a module is missing."""
import re
import sys
from pathlib import Path

from deconvolve_oracle import check, np, restored_by_command, run, run_parts, signal

ROW = re.compile(r"^\| (\w+) \| (\d+) \| `([^`]+)` \| \+([\d.]+) dB", re.MULTILINE)
IMAGE, PSF, VOXEL = (24, 72, 72), (23, 41, 41), "200,100,100nm"
TOLERANCE = 0.1  # dB by which gains differ among machines, whose NumPy draws other photons from rounded light
PAGES = [Path(page).resolve() for page in sys.argv[2:]]


def psnr(truth, x):
    """Returns the peak signal-to-noise ratio in dB, with the brightness and the level that fit best."""
    x = x - x.mean()
    t = truth - truth.mean()
    x *= (t * x).sum() / (x * x).sum()
    return 10 * np.log10(truth.max() ** 2 / ((t - x) ** 2).mean())


def record(kind, photons):
    """Writes a recording of a part of a phantom to y.npy; returns the phantom there, and the recording's PSNR."""
    size = ",".join(str(n + k - 1) for n, k in zip(IMAGE, PSF))
    run("phantom", "-o", "object.npy", "--kind", kind, "--size", size, "--voxel", VOXEL, "--seed", "11")
    psf = np.load("h.npy").astype("f8")
    specimen = np.load("object.npy").astype("f8")
    light = np.maximum(signal.fftconvolve(specimen, psf / psf.sum(), "valid"), 0)
    truth = specimen[tuple(slice(k // 2, k // 2 + n) for n, k in zip(IMAGE, PSF))]
    image = np.random.default_rng(photons).poisson(light * photons / light.max() + background(photons))
    np.save("y.npy", image.astype("u2"))
    return truth, psnr(truth, image)


def background(photons):
    return max(1, photons / 50)


def check_recommendations():
    run("psf", "-o", "h.npy", "--na", "1.2", "--ni", "1.33", "--wavelength", "520nm", "--voxel", VOXEL, "--size",
        ",".join(map(str, PSF)))
    recordings = {}
    for page in PAGES:
        rows = ROW.findall(page.read_text(encoding="utf-8"))
        check(rows, page.name, "recommends nothing")
        for kind, photons, options, claimed in rows:
            if (kind, photons) not in recordings:
                recordings[kind, photons] = (*record(kind, int(photons)), np.load("y.npy"))
            truth, before, image = recordings[kind, photons]
            np.save("y.npy", image)
            gain = psnr(truth, restored_by_command(*options.split(), "--background", str(background(int(photons)))))
            gain -= before
            check(gain > float(claimed) - TOLERANCE, page.name, kind, photons, options, f"gains {gain:+.2f} dB,",
                  "the page claims", claimed)


run_parts([check_recommendations])
