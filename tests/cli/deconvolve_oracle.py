# SPDX-License-Identifier: Apache-2.0
"""Helpers for the checks of `convolume deconvolve`: blurring and its adjoint in double precision, specimens, PSFs, and
comparisons of results. Importing it ends a script with 77 (skipped) if a module is missing."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    from scipy import signal
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250311))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])

NUMPY_MODES = {"wrap": "wrap", "reflect": "symmetric", "mirror": "reflect", "nearest": "edge"}


def close(name, want, got, bound):
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    error = np.abs(want - got).max() / np.abs(want).max()
    check(error < bound, name, "error", error)


def run(*arguments):
    done = subprocess.run([command, *arguments, "-q", "--overwrite"], capture_output=True, text=True)
    check(done.returncode == 0, arguments, done.returncode, done.stderr)
    return done.stdout


def restored_by_command(*options):
    done = subprocess.run([command, "deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--overwrite", "-q", "--device",
                           "cpu", *options], capture_output=True, text=True)
    check(done.returncode == 0, options, done.returncode, done.stderr)
    return np.load("x.npy") if done.returncode == 0 else np.zeros(0)


class Blur:
    """The blur of an object, continued as far as the PSF reaches, and its adjoint. It returns the image's part only."""

    def __init__(self, image, psf, center, edges):
        self.psf = psf
        self.reach = [(k - 1 - c, c) for k, c in zip(psf.shape, center)]
        self.extends = edges == "extend"
        self.object = tuple(n + k - 1 for n, k in zip(image, psf.shape)) if self.extends else image
        self.source = None
        if edges in NUMPY_MODES:
            self.source = np.pad(np.arange(np.prod(image)).reshape(image), self.reach, mode=NUMPY_MODES[edges])

    def inside(self):
        starts = [before if self.extends else 0 for before, _ in self.reach]
        ends = [-after if self.extends and after else None for _, after in self.reach]
        return tuple(slice(a, b) for a, b in zip(starts, ends))

    def forward(self, x):
        if self.source is not None:
            x = x.ravel()[self.source]
        elif not self.extends:
            x = np.pad(x, self.reach)
        return signal.fftconvolve(x, self.psf, "valid")

    def back(self, r):
        wide = signal.fftconvolve(r, np.flip(self.psf), "full")
        if self.source is not None:
            return np.bincount(self.source.ravel(), wide.ravel(), np.prod(self.object)).reshape(self.object)
        if self.extends:
            return wide
        return wide[tuple(slice(a, n - b) for (a, b), n in zip(self.reach, wide.shape))]


def specimen(shape, psf, center, background):
    """Returns spots and an area that continues beyond the borders, blurred, with photon noise."""
    x = np.zeros(tuple(n + 2 * k for n, k in zip(shape, psf.shape)))
    x[tuple(slice(0, n // 2) for n in x.shape)] = 20
    x[tuple(rng.integers(0, n, 40) for n in x.shape)] += 2000
    cut = tuple(slice(k + c, k + c + n) for n, k, c in zip(shape, psf.shape, center))
    return rng.poisson(np.maximum(signal.fftconvolve(x, psf)[cut], 0) + background).astype("f8")


def kernel(shape):
    """Returns a blob off its middle, with a sum other than 1."""
    grid = np.meshgrid(*[np.arange(n) - (n - 1) / 2.3 for n in shape], indexing="ij")
    width = [max(n, 2) / 4 for n in shape]
    blob = np.exp(-sum((g / w) ** 2 for g, w in zip(grid, width)) / 2)
    return (blob * rng.uniform(0.7, 1.3, shape)).astype("f4").astype("f8")


def run_parts(parts):
    """Calls each part in a new folder, prints what failed, and ends the script."""
    print("seed", SEED)
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            part()
            os.chdir("/")
    finish()
