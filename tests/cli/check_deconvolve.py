# SPDX-License-Identifier: Apache-2.0
"""Compares results of `convolume deconvolve` with SciPy in double precision: check_deconvolve.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
from deconvolve_oracle import Blur, close, kernel, np, restored_by_command, run_parts, specimen

# Ten multiplications by corrections from float32 transforms, each accurate to 1e-6 of the largest value.
BOUND_RL = 2e-5
# (AᵀA + K) x is within STOP_WIENER of its right side, so x within (1 + K) / K of that; twice that with float32.
STOP_WIENER = 1e-6


def richardson_lucy(y, blur, background, iterations):
    weight = blur.back(np.ones(y.shape))
    x = np.full(blur.object, y.mean() - background)
    for _ in range(iterations):
        correction = blur.back(y / (blur.forward(x) + background))
        x = np.where(weight < 0.01, 0, x * correction / np.where(weight < 0.01, 1, weight))
    return x[blur.inside()]


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
                got = restored_by_command("--acceleration", "none", "--iterations", "10", "--edges", edges,
                                          "--background", str(background), "--kernel-center",
                                          ",".join(map(str, center)))
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
            got = restored_by_command("--method", "wiener", "--edges", "wrap", "--background", "30",
                                      "--noise-to-signal", str(ratio), "--iterations", "1000", "--stop",
                                      str(STOP_WIENER))
            close(f"wiener {shape} {extents}, K {ratio}", want, got, 2 * STOP_WIENER * (1 + ratio) / ratio)


run_parts((check_richardson_lucy, check_wiener))
