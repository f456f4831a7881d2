# SPDX-License-Identifier: Apache-2.0
"""Results of `convolume deconvolve` against SciPy in double precision: check_deconvolve.py CONVOLUME.

Ends with 77 (skipped) where a module is missing."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import signal
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250311))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])
failures = []
checks = 0

# Ten multiplications by corrections from float32 transforms, each good to some 1e-6 of the largest value.
BOUND_RL = 2e-5
# (AᵀA + K) x is within STOP_WIENER of its right side, so x within (1 + K) / K of that; as much again for float32.
STOP_WIENER = 1e-6

NUMPY_MODES = {"wrap": "wrap", "reflect": "symmetric", "mirror": "reflect", "nearest": "edge"}


def check(condition, *what):
    global checks
    checks += 1
    if not condition:
        failures.append(" ".join(str(w) for w in what))


def close(name, want, got, bound):
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    error = np.abs(want - got).max() / np.abs(want).max()
    check(error < bound, name, "error", error)


def restored(*options):
    done = subprocess.run([command, "deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--overwrite", "-q", "--device",
                           "cpu", "--threads", "1", *options], capture_output=True, text=True)
    check(done.returncode == 0, options, done.returncode, done.stderr)
    return np.load("x.npy") if done.returncode == 0 else np.zeros(0)


class Blur:
    """The object continued as far as the PSF reaches, then the part of the convolution that needs no more."""

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


def richardson_lucy(y, blur, background, iterations):
    weight = blur.back(np.ones(y.shape))
    x = np.full(blur.object, y.mean() - background)
    for _ in range(iterations):
        correction = blur.back(y / (blur.forward(x) + background))
        x = np.where(weight < 0.01, 0, x * correction / np.where(weight < 0.01, 1, weight))
    return x[blur.inside()]


def specimen(shape, psf, center, background):
    """Spots and an area that goes on beyond the borders, blurred, with photon noise."""
    x = np.zeros(tuple(n + 2 * k for n, k in zip(shape, psf.shape)))
    x[tuple(slice(0, n // 2) for n in x.shape)] = 20
    x[tuple(rng.integers(0, n, 40) for n in x.shape)] += 2000
    cut = tuple(slice(k + c, k + c + n) for n, k, c in zip(shape, psf.shape, center))
    return rng.poisson(np.maximum(signal.fftconvolve(x, psf)[cut], 0) + background).astype("f8")


def kernel(shape):
    """A blob off its middle, with a sum other than 1."""
    grid = np.meshgrid(*[np.arange(n) - (n - 1) / 2.3 for n in shape], indexing="ij")
    width = [max(n, 2) / 4 for n in shape]
    blob = np.exp(-sum((g / w) ** 2 for g, w in zip(grid, width)) / 2)
    return (blob * rng.uniform(0.7, 1.3, shape)).astype("f4").astype("f8")


def check_richardson_lucy():
    cases = [((9, 24, 21), (3, 5, 7)), ((8, 20, 17), (4, 6, 2)), ((1, 31, 30), (1, 8, 9)), ((5, 16, 33), (8, 3, 4))]
    for shape, extents in cases:
        psf = kernel(extents)
        middle = [k // 2 for k in extents]
        corner = [0, extents[1] - 1, 1]
        for background, center, all_edges in ((0, middle, ("extend", "reflect")),
                                              (12.5, corner, ("extend", "zero", "wrap", "reflect", "nearest"))):
            y = specimen(shape, psf / psf.sum(), center, background) + (background == 0)
            np.save("y.npy", y.astype("u2"))
            np.save("h.npy", psf)
            for edges in all_edges + (("mirror",) if min(shape) > 1 else ()):
                blur = Blur(shape, psf / psf.sum(), center, edges)
                want = richardson_lucy(y, blur, background, 10)
                got = restored("--acceleration", "none", "--iterations", "10", "--edges", edges, "--background",
                               str(background), "--kernel-center", ",".join(map(str, center)))
                close(f"rl {shape} {extents} at {center}, {edges}, background {background}", want, got, BOUND_RL)


def check_wiener():
    for shape, extents in (((9, 24, 21), (3, 5, 7)), ((8, 20, 17), (4, 6, 2)), ((1, 31, 30), (1, 8, 9))):
        psf = kernel(extents)
        psf_of_one = np.zeros(shape)
        psf_of_one[tuple(slice(0, k) for k in extents)] = psf / psf.sum()
        H = np.fft.fftn(np.roll(psf_of_one, [-(k // 2) for k in extents], (0, 1, 2)))
        y = specimen(shape, psf / psf.sum(), [k // 2 for k in extents], 30)
        np.save("y.npy", y.astype("f4"))
        np.save("h.npy", psf)
        for ratio in (0.3, 0.01):
            want = np.fft.ifftn(np.conj(H) * np.fft.fftn(y - 30) / (np.abs(H) ** 2 + ratio)).real
            got = restored("--method", "wiener", "--edges", "wrap", "--background", "30", "--noise-to-signal",
                           str(ratio), "--iterations", "1000", "--stop", str(STOP_WIENER))
            close(f"wiener {shape} {extents}, K {ratio}", want, got, 2 * STOP_WIENER * (1 + ratio) / ratio)


print("seed", SEED)
for part in (check_richardson_lucy, check_wiener):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        part()
        os.chdir("/")
for failure in failures[:40]:
    print("FAILED:", failure)
print(checks, "checks,", len(failures), "failed")
sys.exit(1 if failures else 0)
