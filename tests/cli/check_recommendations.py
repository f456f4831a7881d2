# SPDX-License-Identifier: Apache-2.0
"""Runs what the guides recommend on phantoms of the kinds that they recommend it for, and checks that it gains what
they claim: check_recommendations.py CONVOLUME PAGE…. A row of a table recommends if its cells are a kind of phantom,
photons at the brightest pixel, options of `deconvolve` in code, and a gain such as "+5.1 dB". Ends with 77 (skipped)
if a module is missing."""
import json
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
    check(any(ROW.search(page.read_text(encoding="utf-8")) for page in PAGES), "no page recommends anything")
    for page in PAGES:
        rows = ROW.findall(page.read_text(encoding="utf-8"))
        for kind, photons, options, claimed in rows:
            if (kind, photons) not in recordings:
                recordings[kind, photons] = (*record(kind, int(photons)), np.load("y.npy"))
            truth, before, image = recordings[kind, photons]
            np.save("y.npy", image)
            gain = psnr(truth, restored_by_command(*options.split(), "--background", str(background(int(photons)))))
            gain -= before
            check(gain > float(claimed) - TOLERANCE, page.name, kind, photons, options, f"gains {gain:+.2f} dB,",
                  "the page claims", claimed)


def simulate(size):
    """Writes the recording y.npy of a phantom as how-many-iterations.md does, and its PSF; returns the phantom."""
    run("phantom", "-o", "object.npy", "--kind", "cells", "--size", size, "--voxel", VOXEL, "--seed", "3")
    run("psf", "-o", "h.npy", "--like", "object.npy", "--voxel", VOXEL, "--na", "1.2", "--ni", "1.33", "--wavelength",
        "520nm")
    run("simulate", "object.npy", "h.npy", "-o", "y.npy", "--photons", "200", "--offset", "100", "--background", "0")
    return np.load("object.npy").astype("f8")


def check_numbers_of_iterations():
    """Compares the PSNR that how-many-iterations.md names with those of the same recording, by fewer runs."""
    page = " ".join(next(page for page in PAGES if page.name == "how-many-iterations.md").read_text("utf-8").split())
    quoted = re.search(r"Five iterations .*? ([\d.]+) dB, the recording ([\d.]+) dB.*?Twenty .*? \(([\d.]+) dB\)"
                       r".*?hundred.*?\(([\d.]+) dB\).*?search finds (\d+) iterations on coarser images and (\d+) on "
                       r"the image itself \(([\d.]+) dB\)", page)
    check(quoted, "the page quotes no PSNR")
    if not quoted:
        return
    truth = simulate("16,64,64")

    def quality(path):
        return psnr(truth, np.load(path).astype("f8"))

    # Estimates on the way are those of runs of as many iterations.
    run("deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--device", "cpu", "--background", "100", "--iterations", "100",
        "--dump-every", "5")
    by_number = {5: quality("x.iter005.npy"), 20: quality("x.iter020.npy"), 100: quality("x.npy")}
    alone = psnr(truth, restored_by_command("--background", "100", "--iterations", "5"))
    check(abs(alone - quality("x.iter005.npy")) < 1e-6, "five iterations alone", alone)
    search = json.loads(run("deconvolve", "y.npy", "h.npy", "-o", "found.npy", "--device", "cpu", "--background",
                            "100", "--json"))["report"]["volumes"][0]
    for want, got in ((quoted[1], by_number[5]), (quoted[2], quality("y.npy")), (quoted[3], by_number[20]),
                      (quoted[4], by_number[100]), (quoted[7], quality("found.npy"))):
        check(abs(got - float(want)) < 2 * TOLERANCE, "the page says", want, "dB, and it is", got)
    check(search["coarse_iterations"] == int(quoted[5]) and search["iterations"] == int(quoted[6]), "the search finds",
          search, "and the page says", quoted[5], quoted[6])
    stopped = psnr(truth, restored_by_command("--background", "100", "--iterations", "60", "--stop", "0.01"))
    check(stopped > by_number[100], "a threshold ends before the noise")


def check_total_variation():
    truth = simulate("16,48,48")
    by_number = {n: psnr(truth, restored_by_command("--background", "100", "--iterations", str(n))) for n in (20, 100)}
    run("deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--device", "cpu", "--background", "100", "--method", "rl-tv",
        "--iterations", "100", "--dump-every", "20")
    smooth = [psnr(truth, np.load(path).astype("f8")) for path in ("x.iter060.npy", "x.npy")]
    check(min(smooth) > by_number[20] and abs(smooth[0] - smooth[1]) < 1 < by_number[20] - by_number[100],
          "with total variation the number matters less:", smooth, by_number)


run_parts([check_recommendations, check_numbers_of_iterations, check_total_variation])
