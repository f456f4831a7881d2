# SPDX-License-Identifier: Apache-2.0
"""Recordings of specimens that are known, by a forward model that shares no code with convolume, and measures of how
close a restoration comes. All arithmetic is float64 in NumPy and SciPy; axes are z, y, x."""

from dataclasses import dataclass

import numpy as np
from scipy import fft, interpolate, ndimage, special

KINDS = ["cells", "filaments", "beads", "shells", "nuclei", "mixed"]
VOXEL = (0.2, 0.1, 0.1)  # micrometers
OFFSET, READ_NOISE = 100.0, 1.5  # counts; a photon is one count
NA, WAVELENGTH, IMMERSION = 1.2, 0.52, 1.33
SPECIMEN = 1.345, 5.0  # refractive index, and depth in micrometers
SHAPE = (40, 128, 128)
THIRDS = -1 / 3, 0, 1 / 3  # middles of the thirds of a voxel
MARGIN = (16, 32, 32)  # voxels of the specimen beyond each side of the image


@dataclass(frozen=True)
class Recording:
    name: str
    truth: np.ndarray  # photons of each voxel of the specimen, inside the image
    light: np.ndarray  # photons that each pixel expects, with the background
    image: np.ndarray  # uint16


def make_psf(shape, specimen_index, depth, na=NA, immersion=IMMERSION, wavelength=WAVELENGTH, voxel=VOXEL):
    """Returns the PSF of Gibson and Lanni's layers (J. Opt. Soc. Am. A 9:154, 1992), with an immersion and a
    specimen of another index, as a vector field: the integrals of Richards and Wolf (Proc. R. Soc. A 253:358, 1959). A
    voxel has the mean over its volume. The sum is 1, and the focus is in the middle plane."""
    sine = (np.arange(200) + 0.5) / 200 * na
    cosine = np.sqrt(immersion**2 - sine**2)
    path = depth * (np.sqrt(specimen_index**2 - sine**2) - specimen_index - (cosine - immersion))
    angle = np.arcsin(sine / specimen_index)
    k = 2 * np.pi / wavelength

    def light(z, r):
        wave = np.exp(1j * k * (path - z[:, None] * cosine)) * sine / np.sqrt(cosine)
        shares = (1, 1 + np.cos(angle)), (2, np.sin(angle)), (1, 1 - np.cos(angle))
        return sum(weight * np.abs((wave * share) @ special.jv(order, k * sine[:, None] * r)) ** 2
                   for order, (weight, share) in enumerate(shares))

    near = np.linspace(-2, 2, 4001)
    focus = near[light(near, np.zeros(1))[:, 0].argmax()]
    r = np.arange(0, np.hypot(shape[1], shape[2]) / 2 * voxel[1] + 0.2, voxel[1] / 4)
    z = focus + (np.arange(shape[0]) - shape[0] // 2) * voxel[0]
    radial = sum(light(z + dz * voxel[0], r) for dz in THIRDS)
    y, x = ((np.arange(n) - n // 2) * voxel[1] for n in shape[1:])
    distances = [np.hypot(y[:, None] + dy * voxel[1], x + dx * voxel[2]) for dy in THIRDS for dx in THIRDS]
    psf = np.stack([sum(interpolate.CubicSpline(r, plane)(d) for d in distances) for plane in radial])
    return np.maximum(psf, 0) / np.maximum(psf, 0).sum()


def smooth_noise(rng, shape, sigma, voxel=VOXEL):
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), [sigma * VOXEL[1] / v for v in voxel])
    return noise / noise.std()


def draw_blobs(rng, shape, count, radius, hollow=False, textured=False, voxel=VOXEL):
    """Draws ellipsoids of some brightness, or their shells. `radius` is in micrometers."""
    specimen = np.zeros(shape)
    for _ in range(count):
        center, axes = rng.uniform(0, np.multiply(shape, voxel)), radius * rng.uniform(0.7, 1.3, 3)
        box = tuple(slice(max(0, int((c - 1.2 * a) / v)), int((c + 1.2 * a) / v) + 2)
                    for c, a, v in zip(center, axes, voxel))
        part = specimen[box]
        grid = np.ogrid[tuple(slice(b.start, b.start + n) for b, n in zip(box, part.shape))]
        distance = np.sqrt(sum(((g * v - c) / a) ** 2 for g, v, c, a in zip(grid, voxel, center, axes)))
        part[np.abs(distance - 1) * radius < 0.12 if hollow else distance < 1] = rng.uniform(0.3, 1)
    if textured:
        specimen *= np.exp(0.7 * smooth_noise(rng, shape, 1.5, voxel))
    return specimen


def draw_filaments(rng, shape, count, voxel=VOXEL):
    specimen = np.zeros(shape)
    for _ in range(count):
        position, direction = rng.uniform(0, np.multiply(shape, voxel)), rng.standard_normal(3) * (0.3, 1, 1)
        brightness = rng.uniform(0.3, 1)
        for _ in range(600):
            direction += 0.06 * rng.standard_normal(3) * (0.3, 1, 1)
            direction /= np.linalg.norm(direction)
            position = position + 0.05 * direction
            at = tuple(np.floor(position / voxel).astype(int))
            if all(0 <= a < n for a, n in zip(at, shape)):
                specimen[at] = brightness
    return specimen


def draw_beads(rng, shape, count):
    specimen = np.zeros(shape)
    specimen[tuple(rng.integers(0, n, count) for n in shape)] = rng.uniform(0.3, 1, count)
    return specimen


def draw_specimen(kind, shape, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    per_volume = np.prod(np.multiply(shape, VOXEL)) / 1000  # thousands of cubic micrometers

    def count(n):
        return max(2, int(n * per_volume))

    if kind == "cells":
        return 0.15 * draw_blobs(rng, shape, count(9), 2.5, textured=True) + draw_blobs(rng, shape, count(60), 0.4)
    if kind == "filaments":
        return draw_filaments(rng, shape, count(9))
    if kind == "beads":
        return draw_beads(rng, shape, count(20))
    if kind == "shells":
        return draw_blobs(rng, shape, count(15), 1.8, hollow=True)
    if kind == "nuclei":
        return draw_blobs(rng, shape, count(12), 2.2, textured=True)
    parts = [draw_specimen(k, shape, seed) for k in ("cells", "filaments", "beads")]
    return sum(part / part.max() for part in parts)


def blur(specimen, psf):
    """Returns the part of the convolution that no light from beyond the specimen reaches wrongly: nothing is there."""
    grid = [fft.next_fast_len(n + m - 1, real=True) for n, m in zip(specimen.shape, psf.shape)]
    spectrum = fft.rfftn(specimen, grid) * fft.rfftn(psf, grid)
    full = fft.irfftn(spectrum, grid)
    return full[tuple(slice(m // 2, m // 2 + n) for n, m in zip(specimen.shape, psf.shape))]


def background(photons):
    return 0.02 * photons


def expose(light, rng, gain=1.0, offset=OFFSET, read_noise=READ_NOISE):
    """Returns the counts of a camera that has `gain` photons for each count."""
    counts = (rng.poisson(light) + rng.normal(0, read_noise, light.shape)) / gain + offset
    return np.clip(np.rint(counts), 0, 65535).astype(np.uint16)


def record(kind, photons, seed, shape=SHAPE, optics=SPECIMEN):
    """Records a part of a larger specimen, so that light comes from outside. `photons` are those of the brightest pixel
    of the image, of which 2 % are background."""
    larger = tuple(n + 2 * m for n, m in zip(shape, MARGIN))
    inside = tuple(slice(m, m + n) for n, m in zip(shape, MARGIN))
    specimen = draw_specimen(kind, larger, seed)
    psf = make_psf([2 * (n // 2) - 1 for n in larger], *optics)
    light = np.maximum(blur(specimen, psf)[inside], 0)
    scale = photons / light.max()
    rng = np.random.default_rng([seed, KINDS.index(kind), photons])
    light = scale * light + background(photons)
    return Recording(f"{kind}-{photons}-{seed}", scale * specimen[inside], light, expose(light, rng))


def fit_affine(truth, x):
    """Returns the values a x + b that are nearest to the truth."""
    x, truth_mean = x.astype(np.float64), truth.mean()
    deviation = x - x.mean()
    slope = (deviation * (truth - truth_mean)).sum() / max((deviation**2).sum(), 1e-300)
    return truth_mean + slope * deviation


def psnr(truth, x):
    return 10 * np.log10(truth.max() ** 2 / ((truth - fit_affine(truth, x)) ** 2).mean())


def ssim(truth, x):
    """Structural similarity (Wang et al., IEEE Trans. Image Process. 13:600, 2004) of the fitted image."""
    x, span = fit_affine(truth, x), truth.max()

    def mean(values):
        return ndimage.gaussian_filter(values, 1.5, truncate=3.5)

    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    m, n = mean(truth), mean(x)
    covariance, v, w = mean(truth * x) - m * n, mean(truth**2) - m**2, mean(x**2) - n**2
    return float(((2 * m * n + c1) * (2 * covariance + c2) / ((m**2 + n**2 + c1) * (v + w + c2))).mean())


def resolution(truth, x, least=0.5):
    """Returns the wavelength in micrometers at which the Fourier shell correlation with the truth falls below `least`
    (van Heel and Schatz, J. Struct. Biol. 151:250, 2005), with a Hann window."""
    window = 1.0
    for axis, n in enumerate(truth.shape):
        window = window * np.hanning(n + 2)[1:-1].reshape([-1 if a == axis else 1 for a in range(3)])
    a, b = (fft.rfftn((v - v.mean()) * window) for v in (truth, x.astype(np.float64)))
    frequencies = [fft.fftfreq(n, v) for n, v in zip(truth.shape, VOXEL)]
    frequencies[2] = fft.rfftfreq(truth.shape[2], VOXEL[2])
    radius = np.sqrt(sum(f**2 for f in np.meshgrid(*frequencies, indexing="ij", sparse=True)))
    width = 2 / min(n * v for n, v in zip(truth.shape, VOXEL))
    shell = (radius / width).astype(int).ravel()
    sums = [np.bincount(shell, v.ravel()) for v in ((a * b.conj()).real, abs(a) ** 2, abs(b) ** 2)]
    correlation = sums[0] / np.sqrt(np.maximum(sums[1] * sums[2], 1e-300))
    below = np.flatnonzero(correlation[1:int(0.5 / VOXEL[1] / width)] < least)
    return 1 / ((below[0] + 1 if len(below) else len(correlation)) * width)


def measure(recording, x):
    truth = recording.truth
    return {"psnr": psnr(truth, x), "ssim": ssim(truth, x), "resolution": resolution(truth, x),
            "flux": float(x.sum(dtype=np.float64) / truth.sum())}
