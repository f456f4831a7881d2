# SPDX-License-Identifier: Apache-2.0
"""Point spread functions, synthetic specimens, and the camera. Lengths are in µm, axes z, y, x."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import _core
from ._arrays import readable, writable
from ._convolve import _triple
from ._errors import InvalidArgument
from ._image import Image
from ._run import Progress, progress_bar

Model = Literal["vectorial", "gibson-lanni", "born-wolf", "gaussian"]
Modality = Literal["widefield", "confocal", "light-sheet", "two-photon", "spinning-disc"]
PhantomKind = Literal["mixed", "beads", "filaments", "shells", "cells"]
_Disc = tuple[float | None, float | None, float | None]  # pinholes' diameter and spacing, magnification
_SHARE = 0.95  # of the light that shape="auto" holds


def _spacing(spacing: Sequence[float]) -> tuple[float, float, float]:
    if len(spacing) != 3:
        raise InvalidArgument(f"spacing has {len(spacing)} numbers: give (z, y, x) in µm")
    return float(spacing[0]), float(spacing[1]), float(spacing[2])


def _options(na: float, wavelength: float, spacing: Sequence[float], shape: Sequence[int] | Literal["auto"], model: str,
             modality: str, ni: float, ns: float, depth: float, excitation: float | None, pinhole: float | None,
             sheet_fwhm: float | None, disc: _Disc, workers: int | None, more: Mapping[str, float]
             ) -> _core.PsfOptions:
    known = {"ni0", "ng", "ng0", "ti0", "tg", "tg0"}
    if not known.issuperset(more):
        raise InvalidArgument(f"there is no parameter {', '.join(sorted(set(more) - known))}: further ones are "
                              + ", ".join(sorted(known)))
    size = (1, 1, 1) if isinstance(shape, str) else _triple(shape)
    options = _core.PsfOptions(model, modality, _spacing(spacing), size)
    options.wavelength = wavelength
    options.excitation, options.pinhole, options.sheet_fwhm = excitation, pinhole, sheet_fwhm
    options.disc_pinhole, options.disc_spacing, options.disc_magnification = disc
    options.depth, options.threads = depth, workers or 0
    options.objective = {"ni0": ni} | dict(more) | {"na": na, "ni": ni, "ns": ns}
    if isinstance(shape, str):
        if shape != "auto":
            raise InvalidArgument(f"shape is 'auto' or three odd numbers, not '{shape}'")
        options.set_size(_core.psf_size_for(options, _SHARE))
    return options


def make_psf(*, na: float, wavelength: float, spacing: Sequence[float], shape: Sequence[int] | Literal["auto"] = "auto",
             model: Model = "vectorial", modality: Modality = "widefield",
             ni: float = 1.515, ns: float = 1.33, depth: float = 0.0, excitation: float | None = None,
             pinhole: float | None = None, sheet_fwhm: float | None = None, disc_pinhole: float | None = None,
             disc_spacing: float | None = None, disc_magnification: float | None = None,
             workers: int | None = None, progress: Progress = None, **more: float) -> Image:
    """The point spread function of a microscope's objective, as means over voxels, with sum 1.

    Parameters
    ----------
    na : float
        Numerical aperture.
    wavelength : float
        Of emission, in vacuum, µm.
    spacing : (z, y, x)
        Edge lengths of a voxel, µm.
    shape : (z, y, x) of odd numbers, or "auto"
        "auto": the least that holds 95 % of the light on the axis, and of each such plane.
    model : {"vectorial", "gibson-lanni", "born-wolf", "gaussian"}
    modality : {"widefield", "confocal", "light-sheet", "two-photon", "spinning-disc"}
        How light gets to the source and on to the camera: the formulas are with the command `convolume psf`.
    ni, ns : float
        Refractive indices of the immersion medium and of the sample.
    depth : float
        Of the source below the cover glass, µm.
    excitation : float, optional
        Wavelength of excitation, µm. Confocal, two-photon and spinning-disc demand it.
    pinhole : float, optional
        Diameter in Airy units, for confocal; 1 where not given.
    sheet_fwhm : float, optional
        Thickness of the light sheet, full width at half maximum, µm.
    disc_pinhole, disc_spacing : float, optional
        Diameter of a spinning disc's pinholes and distance of their centers, on the disc, µm.
    disc_magnification : float, optional
        Between sample and disc; 1 where not given.
    **more : float
        ni0, ng, ng0 (indices), ti0, tg, tg0 (thicknesses, µm), as in the model of Gibson and Lanni.

    Returns
    -------
    Image
        float32; ``np.asarray(psf)`` is the array. Its `spacing` is the one asked for.

    Examples
    --------
    >>> import convolume
    >>> psf = convolume.make_psf(na=1.2, ni=1.33, wavelength=0.52, spacing=(0.2, 0.1, 0.1), shape=(5, 7, 7))
    >>> psf.shape, psf.spacing
    ((5, 7, 7), (0.2, 0.1, 0.1))
    """
    options = _options(na, wavelength, spacing, shape, model, modality, ni, ns, depth, excitation, pinhole, sheet_fwhm,
                       (disc_pinhole, disc_spacing, disc_magnification), workers, more)
    with progress_bar(progress) as report:
        values, _, _ = _core.make_psf(options, report)
    return Image.of_array(values, spacing=_spacing(spacing))


def psf_facts(*, na: float, wavelength: float, model: Model = "vectorial",
              modality: Modality = "widefield", ni: float = 1.515,
              ns: float = 1.33, depth: float = 0.0, excitation: float | None = None, pinhole: float | None = None,
              sheet_fwhm: float | None = None, disc_pinhole: float | None = None, disc_spacing: float | None = None,
              disc_magnification: float | None = None, **more: float) -> dict[str, Any]:
    """What is known of a point spread function without computing it: resolution, sampling, focus. Lengths in µm.

    Parameters as of :func:`make_psf`.

    Returns
    -------
    dict
        rayleigh_lateral, rayleigh_axial, fwhm_lateral, fwhm_axial, nyquist_lateral, nyquist_axial (largest voxels that
        lose nothing), paraxial_focus, brightest_focus, effective_na, total_reflection, pinhole.

    Examples
    --------
    >>> import convolume
    >>> round(convolume.psf_facts(na=1.4, wavelength=0.52)["rayleigh_lateral"], 3)
    0.227
    """
    return _core.psf_facts(_options(na, wavelength, (0.2, 0.1, 0.1), (1, 1, 1), model, modality, ni, ns, depth,
                                    excitation, pinhole, sheet_fwhm,
                                    (disc_pinhole, disc_spacing, disc_magnification), None, more))


def resample_kernel(kernel: Any, spacing: Sequence[float], to_spacing: Sequence[float], *,
                    center: Sequence[int] | None = None) -> tuple[np.ndarray, tuple[int, ...]]:
    """A real kernel on voxels of another size, of the same sum.

    Parameters
    ----------
    kernel : array of 3 dimensions
    spacing, to_spacing : (z, y, x)
        Voxel sizes of the kernel and of the result, in one unit.
    center : index, optional
        The kernel's sample for no shift; the middle (k // 2) where not given.

    Returns
    -------
    values : array
    center : tuple of ints
        The sample of `values` for no shift.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> values, center = convolume.resample_kernel(np.ones((1, 1, 5)), (1, 1, 1), (1, 1, 2))
    >>> round(float(values.sum()), 6), center
    (5.0, (0, 0, 1))
    """
    taps = readable(kernel, "the kernel")
    if taps.ndim != 3:
        raise InvalidArgument(f"a kernel of {taps.ndim} dimensions where 3 are resampled")
    middle = tuple(n // 2 for n in taps.shape) if center is None else tuple(int(i) for i in center)
    values, new_middle = _core.resample_kernel(taps, middle, _spacing(spacing), _spacing(to_spacing))
    return values, tuple(new_middle)


class Phantom:
    """A synthetic specimen with known objects. Any part can be drawn, so that it may be larger than memory.

    Parameters
    ----------
    shape : (z, y, x)
    spacing : (z, y, x)
        Edge lengths of a voxel, µm.
    kind : {"mixed", "beads", "filaments", "shells", "cells"}
    seed : int
        Equal seeds give equal specimens on every machine.
    count : int, optional
        Of objects.
    radius : float, optional
        The middle of all radii, µm.
    brightness, brightness_spread, background : float

    Examples
    --------
    >>> import convolume
    >>> beads = convolume.Phantom((8, 16, 16), (0.2, 0.1, 0.1), kind="beads", count=3)
    >>> len(beads.objects), beads[2:4].shape
    (3, (2, 16, 16))
    """

    def __init__(self, shape: Sequence[int], spacing: Sequence[float] = (0.2, 0.1, 0.1), *, kind: PhantomKind = "mixed",
                 seed: int = 1, count: int | None = None, radius: float | None = None, brightness: float = 1000.0,
                 brightness_spread: float = 0.3, background: float = 0.0, workers: int | None = None) -> None:
        self.shape: tuple[int, int, int] = _triple(shape)
        self.spacing: tuple[float, float, float] = _spacing(spacing)
        self._workers = workers or 0
        self._core = _core.Phantom(kind, self.shape, self.spacing, seed, count, radius, brightness, brightness_spread,
                                   background)

    @property
    def objects(self) -> list[dict[str, Any]]:
        """kind, center (z, y, x in µm), radius, length and brightness of each, by their lowest plane."""
        return self._core.objects

    def __getitem__(self, planes: slice) -> np.ndarray:
        """Planes as a float32 array (z, y, x)."""
        if not isinstance(planes, slice):
            raise InvalidArgument("a phantom is drawn in planes: write phantom[z0:z1]")
        begin, end, step = planes.indices(self.shape[0])
        if step != 1:
            raise InvalidArgument("planes are drawn without steps between them")
        drawn = np.empty((max(0, end - begin), *self.shape[1:]), np.float32)
        if drawn.size:
            self._core.draw(begin, drawn, self._workers)
        return drawn

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a phantom has no array: it is drawn")
        return self[:] if dtype is None else self[:].astype(dtype)


class Camera:
    """What a camera records of expected photons: charge, noise and rounding of its pixels.

    A pixel that S photons are expected to hit records, with mean charge
    λ = quantum_efficiency (S + background_photons) + dark_e_per_s exposure_s electrons,
    electrons = min(Poisson(λ), full_well_e) + read_noise_e Normal(0, 1), and
    ADU = electrons / gain_e_per_adu + offset_adu, rounded and clipped to 0 … 2**bits - 1.
    The defaults are those of a scientific CMOS camera.

    Parameters
    ----------
    quantum_efficiency : float
        Electrons a photon, 0 to 1.
    background_photons : float
        Of each pixel, on top of the specimen's.
    dark_e_per_s, exposure_s : float
        Dark current, in electrons a second, and seconds.
    read_noise_e : float
        Standard deviation, in electrons.
    full_well_e : float
        The most electrons that a pixel holds.
    gain_e_per_adu, offset_adu : float
        Electrons for each unit of the converter, and its value for no charge.
    bits : int
        Of the converter, 1 to 16.
    noise : bool
        False records the mean charge.
    seed : int
        Equal seeds give equal noise on every machine.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> camera = convolume.Camera(noise=False, offset_adu=100, gain_e_per_adu=0.5, dark_e_per_s=0)
    >>> int(camera.expose(np.full((1, 1), 10.0))[0, 0])
    116
    """

    def __init__(self, *, quantum_efficiency: float = 0.8, background_photons: float = 0.0, dark_e_per_s: float = 0.06,
                 exposure_s: float = 0.1, read_noise_e: float = 1.6, full_well_e: float = 30000.0,
                 gain_e_per_adu: float = 0.5, offset_adu: float = 100.0, bits: int = 16, noise: bool = True,
                 seed: int = 1) -> None:
        self._core = _core.Camera()
        self._core.quantum_efficiency, self._core.background_photons = quantum_efficiency, background_photons
        self._core.dark_e_per_s, self._core.exposure_s = dark_e_per_s, exposure_s
        self._core.read_noise_e, self._core.full_well_e = read_noise_e, full_well_e
        self._core.gain_e_per_adu, self._core.offset_adu = gain_e_per_adu, offset_adu
        self._core.bits, self._core.noise, self._core.seed = bits, noise, seed
        self._core.check()
        self.report: dict[str, Any] = {}

    def expose(self, photons: Any, out: np.ndarray | None = None, *, first_plane: int = 0,
               workers: int | None = None) -> np.ndarray:
        """The recording of expected photons (1 to 3 dimensions), as uint16; uint8 up to 8 bits.

        Noise depends on the seed, the plane's number and the pixel alone: planes can be recorded in any groups.
        `report` then has facts: saturated pixels, signal to noise.
        """
        light = readable(photons, "the photons")
        if light.dtype.kind != "f":
            light = light.astype(np.float64)
        kind = np.uint8 if self._core.bits <= 8 else np.uint16
        recorded = np.empty(light.shape, kind) if out is None else writable(out, light.shape)
        self.report = self._core.expose(light, first_plane, recorded, workers or 0)
        return recorded
