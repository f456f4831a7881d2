# SPDX-License-Identifier: Apache-2.0
"""Scenes: sixteen kinds of specimens before five microscopes with different cameras, by the forward model of
recordings.py. No rule of convolume was chosen by the kinds in UNSEEN. Axes are z, y, x, lengths are in micrometers."""

import functools
from dataclasses import dataclass

import numpy as np
import recordings
from scipy import ndimage, signal, spatial

SEEN = [*recordings.KINDS, "mesh", "texture"]
UNSEEN = ["membranes", "vessels", "crowd", "puncta", "slab", "slope", "contrast", "neuron"]
SHAPE, MARGIN = (32, 96, 96), (14, 28, 28)  # voxels of the image, and of the specimen beyond each side
PHOTONS = 20, 60, 200, 1000  # of the brightest pixel
BACKGROUNDS = 0.005, 0.02, 0.1  # shares of the brightest pixel


@dataclass(frozen=True)
class Microscope:
    na: float
    immersion: float
    specimen: tuple  # index, and depth
    wavelength: float
    voxel: tuple
    gain: float  # photons for each count
    offset: float  # counts
    read_noise: float  # photons
    excitation: float | None = None  # of a confocal microscope with a pinhole of one Airy unit
    sheet: float | None = None  # full width at half maximum

    def options(self):
        """Returns the options of `convolume psf` for this microscope."""
        index, depth = self.specimen
        options = ["--na", self.na, "--ni", self.immersion, "--ns", index, "--depth", f"{depth}um", "--wavelength",
                   f"{self.wavelength}um", "--voxel", ",".join(f"{v}um" for v in self.voxel)]
        if self.excitation:
            options += ["--modality", "confocal", "--excitation", f"{self.excitation}um", "--pinhole", 1]
        if self.sheet:
            options += ["--modality", "light-sheet", "--sheet", f"{self.sheet}um"]
        return [str(option) for option in options]

    @functools.lru_cache(maxsize=8)  # noqa: B019 (five microscopes)
    def psf(self, shape):
        def field(wavelength):
            return recordings.make_psf(shape, *self.specimen, self.na, self.immersion, wavelength, self.voxel)

        psf = field(self.wavelength)
        if self.excitation:
            y, x = np.mgrid[-12:13, -12:13] * self.voxel[1]
            pinhole = (np.hypot(y, x) <= 0.61 * self.wavelength / self.na).astype(float)
            psf = field(self.excitation) * signal.fftconvolve(psf, pinhole[None], mode="same")
        if self.sheet:
            z = (np.arange(shape[0]) - shape[0] // 2) * self.voxel[0]
            psf = psf * np.exp(-4 * np.log(2) * (z / self.sheet) ** 2)[:, None, None]
        return np.maximum(psf, 0) / np.maximum(psf, 0).sum()


MICROSCOPES = {
    "air": Microscope(0.8, 1.0, (1.33, 10.0), 0.6, (0.7, 0.2, 0.2), 0.46, 100.0, 1.6),
    "water": Microscope(1.2, 1.33, (1.345, 5.0), 0.52, (0.2, 0.1, 0.1), 1.0, 100.0, 1.5),
    "oil": Microscope(1.4, 1.515, (1.47, 4.0), 0.52, (0.2, 0.08, 0.08), 2.2, 400.0, 1.2),
    "confocal": Microscope(1.2, 1.33, (1.345, 5.0), 0.52, (0.2, 0.08, 0.08), 4.0, 0.0, 0.3, excitation=0.488),
    "sheet": Microscope(0.8, 1.33, (1.345, 5.0), 0.52, (0.5, 0.16, 0.16), 0.5, 1100.0, 1.4, sheet=3.0),
}


def coordinates(shape, voxel):
    return np.meshgrid(*(np.arange(n) * v for n, v in zip(shape, voxel)), indexing="ij", sparse=True)


def draw_mesh(rng, shape, voxel):
    a, b = (recordings.smooth_noise(rng, shape, 8, voxel) for _ in range(2))
    return ((np.abs(a) < 0.25) & (np.abs(b) < 0.25)).astype(float)


def draw_texture(rng, shape, voxel):
    return np.exp(0.8 * recordings.smooth_noise(rng, shape, 2.5, voxel))


def draw_membranes(rng, shape, voxel):
    """Walls between the cells of a Voronoi diagram, about 3 wide."""
    extent = np.multiply(shape, voxel)
    seeds = rng.uniform(-2, extent + 2, (max(8, int(np.prod(extent + 4) / 27)), 3))
    points = np.stack(np.broadcast_arrays(*coordinates(shape, voxel)), -1).reshape(-1, 3)
    near = spatial.cKDTree(seeds).query(points, 2)[0].reshape(*shape, 2)
    return (near[..., 1] - near[..., 0] < 0.25).astype(float)


def draw_tubes(rng, shape, voxel, count, radius):
    lines = recordings.draw_filaments(rng, shape, count, voxel) > 0
    distance = ndimage.distance_transform_edt(~lines, sampling=voxel)
    return (distance < radius * (1 + 0.3 * recordings.smooth_noise(rng, shape, 10, voxel))).astype(float)


def draw_slab(rng, shape, voxel):
    z, y, x = coordinates(shape, voxel)
    surface = z - shape[0] * voxel[0] * 0.55 - 0.15 * (y - shape[1] * voxel[1] / 2)
    inside = (np.abs(surface) < 1.5) + 0 * x
    holes = recordings.draw_blobs(rng, shape, 60, 0.9, voxel=voxel) > 0
    return inside * ~holes * np.exp(0.4 * recordings.smooth_noise(rng, shape, 3, voxel))


def draw_slope(rng, shape, voxel):
    z, y, x = coordinates(shape, voxel)
    near = np.abs(z - shape[0] * voxel[0] / 2 - 0.25 * (x - shape[2] * voxel[2] / 2)) < 0.6
    return recordings.draw_filaments(rng, shape, 300, voxel) * (near + 0 * y)


def draw(kind, shape, voxel, seed):
    kinds = [*SEEN, *UNSEEN]
    rng = np.random.default_rng([seed, kinds.index(kind)])
    per_volume = np.prod(np.multiply(shape, voxel)) / 1000  # thousands of cubic micrometers

    def blobs(count, radius, **options):
        return recordings.draw_blobs(rng, shape, max(2, int(count * per_volume)), radius, voxel=voxel, **options)

    def points(count):
        return recordings.draw_beads(rng, shape, max(3, int(count * per_volume)))

    if kind == "cells":
        return 0.15 * blobs(9, 2.5, textured=True) + blobs(60, 0.4)
    if kind == "filaments":
        return recordings.draw_filaments(rng, shape, max(3, int(9 * per_volume)), voxel)
    if kind == "beads":
        return points(20)
    if kind == "shells":
        return blobs(15, 1.8, hollow=True)
    if kind == "nuclei":
        return blobs(12, 2.2, textured=True)
    if kind == "mixed":
        return sum(part / part.max() for part in (draw(k, shape, voxel, seed) for k in ("cells", "filaments", "beads")))
    if kind == "mesh":
        return draw_mesh(rng, shape, voxel)
    if kind == "texture":
        return draw_texture(rng, shape, voxel)
    if kind == "membranes":
        return draw_membranes(rng, shape, voxel)
    if kind == "vessels":
        return draw_tubes(rng, shape, voxel, max(3, int(6 * per_volume)), 0.7)
    if kind == "crowd":
        return blobs(60, 2.4, textured=True)
    if kind == "puncta":
        return ndimage.gaussian_filter(points(900), [0.08 / v for v in voxel])
    if kind == "slab":
        return draw_slab(rng, shape, voxel)
    if kind == "slope":
        return draw_slope(rng, shape, voxel)
    if kind == "contrast":
        return 0.02 * blobs(20, 2.2, textured=True) + ndimage.gaussian_filter(points(12), [0.1 / v for v in voxel])
    return draw_tubes(rng, shape, voxel, max(3, int(3 * per_volume)), 0.25) + blobs(1, 4.0)


@dataclass(frozen=True)
class Scene:
    name: str
    microscope: Microscope
    truth: np.ndarray  # counts of each voxel of the specimen, inside the image
    image: np.ndarray  # uint16
    level: float  # counts of pixels without light from the specimen, their mean if they vary


def ramp(shape, seed):
    """Returns a plane over y and x in a random direction, with the mean 0 and the largest value 1."""
    angle = np.random.default_rng([seed, 9]).uniform(0, 2 * np.pi)
    y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape[1:]), indexing="ij")
    plane = np.sin(angle) * y + np.cos(angle) * x
    return plane / np.abs(plane).max()


def record(kind, microscope_name, seed, shape=SHAPE, slope=0.0):
    """Records a part of a larger specimen. Photons and background are drawn from the seed. The background differs from
    its mean by at most `slope` times the mean, along a ramp."""
    microscope = MICROSCOPES[microscope_name]
    rng = np.random.default_rng([seed, [*SEEN, *UNSEEN].index(kind), list(MICROSCOPES).index(microscope_name)])
    photons, background = rng.choice(PHOTONS), rng.choice(BACKGROUNDS)
    larger = tuple(n + 2 * m for n, m in zip(shape, MARGIN))
    inside = tuple(slice(m, m + n) for n, m in zip(shape, MARGIN))
    specimen = draw(kind, larger, microscope.voxel, seed)
    psf = microscope.psf(tuple(2 * (n // 2) - 1 for n in larger))
    light = np.maximum(recordings.blur(specimen, psf)[inside], 0)
    scale = photons / light.max()
    stray = background * photons * (1 + slope * ramp(shape, seed))
    image = recordings.expose(scale * light + stray, rng, microscope.gain, microscope.offset,
                              microscope.read_noise)
    return Scene(f"{kind}-{microscope_name}-{photons}-{background}-{seed}", microscope,
                 scale * specimen[inside] / microscope.gain, image,
                 microscope.offset + background * photons / microscope.gain)
