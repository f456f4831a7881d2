# SPDX-License-Identifier: Apache-2.0
"""Point spread functions, synthetic specimens, and the camera. Lengths are in µm, axes z, y, x."""

import functools
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types, shown
from ._array_operators import ArrayOperators, array_for_numpy
from ._arrays import readable, writable
from ._errors import BadData, InvalidArgument, WrongType, warn
from ._files import Path, open_quietly
from ._image import Image
from ._options import defaults_of, triple_of, whole_numbers, with_keywords
from ._run import Progress, progress_bar, thread_count

Length = float | str  # a number in µm, or a text with a unit
Model = Literal["vectorial", "gibson-lanni", "born-wolf", "gaussian"]
Modality = Literal["widefield", "confocal", "light-sheet", "two-photon", "spinning-disc"]
PhantomKind = Literal["mixed", "beads", "filaments", "shells", "cells"]


class MicroscopeKeywords(TypedDict, total=False):
    """Keywords of :func:`psf_facts`."""

    model: Model
    modality: Modality
    ni: float
    ns: float | str | None
    depth: Length
    excitation: Length | None
    pinhole: float | None
    sheet_fwhm: Length | None
    disc_pinhole: Length | None
    disc_spacing: Length | None
    disc_magnification: float | None
    ni0: float | None
    ng: float
    ng0: float | None
    ti0: Length
    tg: Length
    tg0: Length | None


class PsfKeywords(MicroscopeKeywords, total=False):
    """Keywords of :func:`make_psf`."""

    shape: Sequence[int] | Literal["auto"]
    scan_angle: float | None
    scan_axis: Literal["y", "x"]
    scan_opposite: bool
    workers: int | None
    progress: Progress


class PhantomKeywords(TypedDict, total=False):
    """Keywords of :class:`Phantom`."""

    kind: PhantomKind
    seed: int
    count: int | None
    radius: float | None
    brightness: float
    brightness_spread: float
    background: float
    workers: int | None


class CameraKeywords(TypedDict, total=False):
    """Keywords of :class:`Camera`."""

    quantum_efficiency: float
    background_photons: float
    dark_e_per_s: float
    exposure_s: float
    read_noise_e: float
    full_well_e: float
    gain_e_per_adu: float
    offset_adu: float
    bits: int
    noise: bool
    seed: int


_LENGTHS = frozenset(one["keyword"] for one in _core.describe_options("PsfOptions") if one["unit"] == "µm")
_MICROSCOPE = defaults_of(MicroscopeKeywords, "PsfOptions")
_SCAN = ("scan_angle", "scan_axis", "scan_opposite")


def voxel_um(name: str, spacing: Sequence[Length]) -> tuple[float, float, float]:
    """Returns the edges of a voxel in µm; `name` names them in errors."""
    if isinstance(spacing, str | bytes) or len(spacing) != 3:
        raise InvalidArgument(f"{name} is (z, y, x) in µm, not {shown(spacing)}")
    lengths = [length_um(name, one) for one in spacing]
    return lengths[0], lengths[1], lengths[2]


def voxel_known(array: Any, spacing: Sequence[Length] | None) -> tuple[float, float, float] | None:
    """Returns the edges of a voxel in µm: the given ones, else those that the array knows; None if they are unknown."""
    if spacing is not None:
        return voxel_um("spacing", spacing)
    known: Any = getattr(array, "spacing", ())
    return voxel_um("spacing", known) if len(known) == 3 and None not in known else None


def length_um(name: str, length: Any) -> Any:
    """Returns a length in µm. It may be a text with a unit, such as "520nm"; `name` names it in errors."""
    return _core.parse_length_um(name, length) if isinstance(length, str) else length


def psf_options(na: float, wavelength: Length, spacing: Sequence[Length], shape: Sequence[int] | Literal["auto"],
                options: Mapping[str, Any], keywords: Any,
                image_shape: Sequence[int] | None = None) -> _core.PsfOptions:
    """Returns the library's options for a PSF. `options` has some keywords of the TypedDict `keywords`; those that do
    not describe a microscope are ignored. A shape of "auto" suits `image_shape`, if it is given."""
    unknown = set(options).difference(keywords.__annotations__)
    if unknown:
        raise InvalidArgument(f"there is no parameter {', '.join(sorted(unknown))}: further ones are "
                              "ng, ng0, ni0, tg, tg0, ti0")
    own = {name: length_um(name, value) if name in _LENGTHS else value
           for name, value in options.items() if name in _MICROSCOPE or name in _SCAN}
    if isinstance(own.get("ns"), str):
        own["ns"] = _core.index_of_mountant(own["ns"])
    own = {name: value for name, value in own.items() if value is not None}
    if isinstance(shape, str) and shape != "auto":
        raise InvalidArgument(f"shape is 'auto' or three odd numbers, not '{shape}'")
    made = _core.PsfOptions(na=na, wavelength=length_um("wavelength", wavelength),
                            spacing=voxel_um("spacing", spacing),
                            shape=(1, 1, 1) if isinstance(shape, str) else triple_of(shape),
                            workers=options.get("workers") or 0, **own)
    _core.complete_objective(made, list(own))
    _core.refuse_unused_layers(made, [name for name, value in options.items() if value is not None])
    if isinstance(shape, str):
        made.shape = _core.automatic_psf_size(made, None if image_shape is None else tuple(image_shape))
    return made


def _with_optics_of(image: Image, channel: int | str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a PSF with those that the metadata of an image give in addition."""
    given = {name: value for name, value in options.items() if value is not None}
    number, notes = _core.find_channel("channel", str(channel), image._metadata)
    found, voxel, doubts = _core.image_optics(
        image._metadata, number,
        {name: length_um(name, value) if name in _LENGTHS else value for name, value in given.items()})
    for sentence in [*(notes if isinstance(channel, str) else ()), *doubts]:  # a number is no name
        warn(sentence)
    return {"spacing": voxel, **found, **given}


@with_keywords(PsfKeywords, defaults_of(PsfKeywords, "PsfOptions", shape="auto"), takes_others=True)
def make_psf(*, na: float | None = None, wavelength: Length | None = None, spacing: Sequence[Length] | None = None,
             like: Image | Path | None = None, channel: int | str = 0, **options: Unpack[PsfKeywords]) -> Image:
    """Computes the point spread function of a microscope's objective, as means over voxels, with sum 1.

    Parameters
    ----------
    na : float
        Numerical aperture. This, `wavelength` and `spacing` are required, unless the image `like` has them.
    wavelength : float or str
        Wavelength of emission in vacuum, µm. This and all other lengths may also be texts with a unit, such as "520nm".
    spacing : (z, y, x)
        Edge lengths of a voxel, µm.
    like : Image, str or path, optional
        The image to restore, or its file. Its voxel size, and what its metadata say of the microscope, are used for
        parameters that are not given: `na`, `ni`, `wavelength`, `excitation`, `pinhole`, `modality`.
    channel : int or str
        The channel of `like`, by its number or its name.
    shape : (z, y, x) of odd numbers, or "auto"
        Extents in voxels. "auto" takes the smallest ones that hold 95 % of the light on the axis, and of the light in
        each plane; with `like`, those that suit the image, which are 2 Z - 1 planes for a widefield image of Z planes.
    model : {"vectorial", "gibson-lanni", "born-wolf", "gaussian"}
        Model of the light. The page of the command `convolume psf` has the formulas and their sources. "born-wolf" and
        "gaussian" have no layers: they refuse `ns`, `depth`, `ni0`, `ng`, `ng0`, `ti0`, `tg` and `tg0`.
    modality : {"widefield", "confocal", "light-sheet", "two-photon", "spinning-disc"}
        Kind of illumination and detection; the same page has its formulas.
    ni : float
        Refractive index of the immersion medium.
    ns : float or str, optional
        Refractive index of the sample, or its mounting medium: "prolong", "prolong-glass", "vectashield", "glycerol" or
        "water". None takes `ni` of glycerol and oil, and else 1.33.
    depth : float
        Depth of the source below the cover glass, µm.
    excitation : float, optional
        Wavelength of excitation, µm. Confocal, two-photon and spinning-disc require it.
    pinhole : float, optional
        Diameter of the pinhole in Airy units, for confocal; 1 by default.
    sheet_fwhm : float, optional
        Thickness of the light sheet, full width at half maximum, µm.
    disc_pinhole, disc_spacing : float, optional
        Diameter of a spinning disc's pinholes and distance of their centers, on the disc, µm.
    disc_magnification : float, optional
        Magnification between sample and disc; 1 by default.
    ni0, ng, ng0 : float
        Refractive indices in the model of Gibson and Lanni: of the immersion medium by design (None takes `ni`), of the
        cover glass, and of the cover glass by design (None takes `ng`).
    ti0, tg, tg0 : float
        Thicknesses, µm: of the immersion layer by design, of the cover glass, and of the cover glass by design (None
        takes `tg`).
    scan_angle : float, optional
        For a stage scan, as of :func:`deskew`: the angle in degrees between light sheet and cover glass. The PSF then
        has the skewed voxels of the scan, and z of `spacing` is the step of the stage.
    scan_axis : {"y", "x"}
        Axis of the camera along which planes of the scan are displaced.
    scan_opposite : bool
        Whether planes are displaced to lower indices of that axis.
    workers, progress
        See :class:`convolume.Run`.

    Returns
    -------
    Image
        float32 (z, y, x) with the given `spacing`; ``np.asarray(psf)`` is the array.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves (a ValueError).

    Examples
    --------
    >>> import convolume
    >>> psf = convolume.make_psf(na=1.2, ni=1.33, wavelength=0.52, spacing=(0.2, 0.1, 0.1), shape=(5, 7, 7))
    >>> psf.shape, psf.spacing
    ((5, 7, 7), (0.2, 0.1, 0.1))
    """
    all_options: dict[str, Any] = {"na": na, "wavelength": wavelength, "spacing": spacing, **options}
    if isinstance(like, str | PathLike):
        like = open_quietly(like)
    if like is None and channel != 0:
        raise InvalidArgument("channel chooses the optics of a channel of `like`, which is not given; leave it out")
    if like is not None:
        if not isinstance(like, Image):
            raise InvalidArgument("like is an image with metadata, such as convolume.open() returns, or a path")
        all_options = _with_optics_of(like, channel, all_options)
    if all_options.get("wavelength") is None and not _core.needs_wavelength(all_options.get("modality") or ""):
        all_options["wavelength"] = _core.PsfOptions().wavelength
    required = {name: all_options.pop(name, None) for name in ("na", "wavelength", "spacing")}
    for name, value in required.items():
        if value is None:
            kind = WrongType if like is None else InvalidArgument
            raise kind(f"{name} is missing: give it, or an image whose metadata has it, by like=…" if like is None
                       else f"{name} is missing, also in the metadata of the image: give it")
    made = psf_options(required["na"], required["wavelength"], required["spacing"], all_options.get("shape", "auto"),
                       all_options, PsfKeywords, None if like is None else like._metadata.shape)
    with progress_bar(options.get("progress")) as report:
        values = _core.make_psf(made, report)
    return Image.of_array(values, spacing=voxel_um("spacing", required["spacing"]))


@with_keywords(MicroscopeKeywords, _MICROSCOPE, takes_others=True)
def psf_facts(*, na: float, wavelength: Length, **options: Unpack[MicroscopeKeywords]) -> dict[str, Any]:
    """Returns resolution, sampling and focus of a point spread function, without computing its voxels.

    The parameters are those of :func:`make_psf`, without `shape` and `spacing`.

    Returns
    -------
    dict
        Lengths in µm: rayleigh_lateral, rayleigh_axial, fwhm_lateral, fwhm_axial, nyquist_lateral and nyquist_axial
        (the largest voxels that lose no detail), paraxial_focus, brightest_focus, pinhole. Further effective_na and
        total_reflection.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves (a ValueError).

    Examples
    --------
    >>> import convolume
    >>> round(convolume.psf_facts(na=1.4, wavelength=0.52)["rayleigh_lateral"], 3)
    0.227
    """
    return _core.psf_facts(psf_options(na, wavelength, (0.2, 0.1, 0.1), (1, 1, 1), options, MicroscopeKeywords))


@names_wrong_types
def resample_kernel(kernel: Any, spacing: Sequence[float], to_spacing: Sequence[float], *,
                    center: Sequence[int] | None = None) -> tuple[np.ndarray, tuple[int, ...]]:
    """Resamples a real kernel to voxels of another size, with the same sum.

    Parameters
    ----------
    kernel : array (z, y, x)
    spacing, to_spacing : (z, y, x)
        Voxel sizes of the kernel and of the result, in one unit.
    center : index (z, y, x), optional
        The kernel's sample that stands for no shift; the middle (k // 2) by default.

    Returns
    -------
    values : array (z, y, x)
        The resampled kernel.
    center : tuple of ints
        The sample of `values` that stands for no shift.

    Raises
    ------
    InvalidArgument
        Shapes or voxel sizes that do not fit (a ValueError).

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
    middle = [n // 2 for n in taps.shape] if center is None else whole_numbers(center, "center")
    if len(middle) != 3:
        raise InvalidArgument(f"center has {len(middle)} numbers: give its index along z, y and x")
    values, new_middle = _core.resample_kernel(taps, middle, voxel_um("spacing", spacing),
                                               voxel_um("to_spacing", to_spacing))
    return values, tuple(new_middle)


class Phantom(ArrayOperators):
    """A synthetic specimen of known objects. Any planes can be drawn alone, so that it may be larger than memory.

    Parameters
    ----------
    shape : (z, y, x)
        Extents in voxels.
    spacing : (z, y, x)
        Edge lengths of a voxel, µm.
    kind : {"mixed", "beads", "filaments", "shells", "cells"}
        Kind of the objects.
    seed : int
        Seed of the random positions. Equal seeds give equal specimens on every machine.
    count : int, optional
        Number of objects.
    radius : float, optional
        Middle of all radii, µm.
    brightness, brightness_spread, background : float
        Brightness of voxels inside objects, its largest relative deviation, and the background of every voxel.
    workers : int, optional
        Number of CPU threads, see :class:`convolume.Run`.

    Examples
    --------
    >>> import convolume
    >>> beads = convolume.Phantom((8, 16, 16), (0.2, 0.1, 0.1), kind="beads", count=3)
    >>> len(beads.objects), beads[2:4].shape
    (3, (2, 16, 16))
    """

    @with_keywords(PhantomKeywords, defaults_of(PhantomKeywords, "PhantomOptions"))
    def __init__(self, shape: Sequence[int], spacing: Sequence[float] = (0.2, 0.1, 0.1),
                 **options: Unpack[PhantomKeywords]) -> None:
        self.shape: tuple[int, int, int] = triple_of(shape)
        self.spacing: tuple[float, float, float] = voxel_um("spacing", spacing)
        self._options: dict[str, Any] = dict(options)
        self._workers = thread_count(options.pop("workers", None))
        self._core = _core.Phantom(_core.PhantomOptions(shape=self.shape, spacing=self.spacing, **options))

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The objects in the order of their lowest planes: kind, center (z, y, x in µm), radius, length, brightness."""
        return self._core.objects

    def __getitem__(self, planes: slice) -> np.ndarray:
        """Draws the planes z0 to z1 of the phantom, for phantom[z0:z1]; returns a float32 array (z, y, x)."""
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
        return array_for_numpy(self[:], True, dtype, copy)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Phantom, self.shape, self.spacing, **self._options), ()


class Camera:
    """A camera, which records expected photons with the charge, noise and rounding of its pixels.

    A pixel with S expected photons records, rounded and clipped to 0 … 2**bits - 1:

        λ = quantum_efficiency * (S + background_photons) + dark_e_per_s * exposure_s
        electrons = min(Poisson(λ), full_well_e) + read_noise_e * Normal(0, 1)
        ADU = electrons / gain_e_per_adu + offset_adu

    The defaults are those of a scientific CMOS camera.

    Parameters
    ----------
    quantum_efficiency : float
        Electrons for each photon, 0 to 1.
    background_photons : float
        Photons of each pixel in addition to the specimen's.
    dark_e_per_s, exposure_s : float
        Dark current in electrons a second, and exposure time in seconds.
    read_noise_e : float
        Standard deviation of the read noise, in electrons.
    full_well_e : float
        Largest number of electrons that a pixel holds.
    gain_e_per_adu, offset_adu : float
        Electrons for each unit (ADU) of the converter, and the converter's value without charge.
    bits : int
        Bits of the converter, 1 to 16.
    noise : bool
        False records the mean charge λ.
    seed : int
        Seed of the noise. Equal seeds give equal noise on every machine.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> camera = convolume.Camera(noise=False, offset_adu=100, gain_e_per_adu=0.5, dark_e_per_s=0)
    >>> int(camera.expose(np.full((1, 1), 10.0))[0, 0])
    116
    """

    @with_keywords(CameraKeywords, defaults_of(CameraKeywords, "Camera"))
    def __init__(self, **options: Unpack[CameraKeywords]) -> None:
        self._core = _core.Camera(**options)
        self._core.check()
        self.report: dict[str, Any] = {}

    @names_wrong_types
    def expose(self, photons: Any, out: np.ndarray | None = None, *, first_plane: int = 0,
               workers: int | None = None) -> np.ndarray:
        """Records expected photons, an array of 1 to 3 dimensions; returns uint8 up to 8 bits, else uint16.

        `first_plane` is the number of the first plane in the whole recording. Noise depends only on the seed, the
        plane's number and the pixel, so that planes can be recorded in any groups. Afterwards `report` has the numbers
        of saturated pixels and the signal-to-noise ratio.
        """
        light = readable(photons, "the photons")
        if light.dtype.kind == "c":
            raise BadData("the photons are complex: give their real part")
        if light.dtype.kind != "f":
            light = light.astype(np.float64)
        kind = np.uint8 if self._core.bits <= 8 else np.uint16
        recorded = np.empty(light.shape, kind) if out is None else writable(out, light.shape)
        self.report = self._core.expose(light, first_plane, recorded, thread_count(workers))
        return recorded
