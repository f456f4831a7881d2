# SPDX-License-Identifier: Apache-2.0
"""Measured point spread functions, and the microscope that fits them. Lengths are in µm, axes z, y, x."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np

from . import _core
from ._arrays import readable
from ._errors import InvalidArgument
from ._image import Image
from ._optics import MicroscopeKeywords, _spacing, psf_options
from ._options import defaults_of, triple_of, with_keywords
from ._run import Progress, progress_bar

PsfParameter = Literal["na", "index", "depth"]


class RefineKeywords(MicroscopeKeywords, total=False):
    """Keywords of :func:`refine_psf`."""

    spacing: Sequence[float] | None
    background: float | None
    workers: int | None
    progress: Progress


@dataclass(frozen=True)
class BeadPsf:
    """A point spread function that was measured.

    Attributes
    ----------
    psf : Image
        float32 (z, y, x), of sum 1, its brightest point in the middle voxel.
    centers : float64 array of beads × 3
        z, y, x of the beads that were used, in voxels of the stack.
    fluxes : float64 array
        The light of each, without background, in the units of the stack.
    found, crowded, saturated, at_border, unusual : int
        Beads of all kinds, and those left out: with another one in the box, with several samples at the saturation,
        with a box that leaves the stack, of less than 0.4 or more than 2.5 times the median light.
    background : float
        Mean of the samples outside of all boxes; with `optics` what was subtracted in the boxes.
    flux : float
        Mean light of a bead.
    fwhm : (z, y, x)
        Full widths at half maximum in voxels.
    residual : float or None
        With `optics`: root mean square of the difference from that PSF, as a share of it.
    """

    psf: Image
    centers: np.ndarray[Any, np.dtype[np.float64]] = field(repr=False)
    fluxes: np.ndarray[Any, np.dtype[np.float64]] = field(repr=False)
    found: int
    crowded: int
    saturated: int
    at_border: int
    unusual: int
    background: float
    flux: float
    fwhm: tuple[float, float, float]
    residual: float | None = None


@dataclass(frozen=True)
class RefinedParameter:
    """What :func:`refine_psf` found of one parameter.

    Attributes
    ----------
    value : float
        An index, an NA, or a depth in µm.
    deviation : float
        Its standard deviation, from what is left between model and measured PSF.
    low, high : float
        Where it was sought.
    at_bound : bool
        The fit would be better still beyond `low` or `high`: the value may be wrong.
    """

    value: float
    deviation: float
    low: float
    high: float
    at_bound: bool


@dataclass(frozen=True)
class RefinedPsf:
    """The microscope that fits a measured PSF best.

    Attributes
    ----------
    parameters : dict of str to RefinedParameter
        "na", "index", "depth": those that were asked for.
    arguments : dict
        For :func:`make_psf`, but for `shape`: ``convolume.make_psf(shape=(33, 65, 65), **refined.arguments)``.
    first_residual, residual : float
        Root mean square of what is left, as a share of the model's, with the first and the refined parameters.
    """

    parameters: dict[str, RefinedParameter]
    arguments: dict[str, Any]
    first_residual: float
    residual: float


def _volume(array: Any, what: str) -> np.ndarray:
    values = readable(array, what)
    if values.ndim != 3:
        raise InvalidArgument(f"{what} has {values.ndim} dimensions: give one volume (z, y, x) of one channel and "
                              "time")
    if values.dtype.kind == "c":
        raise InvalidArgument(f"{what} is complex: give its intensity, which is real")
    return np.ascontiguousarray(values, np.float32)


def _spacing_of(array: Any, spacing: Sequence[float] | None) -> tuple[float, float, float] | None:
    if spacing is not None:
        return _spacing(spacing)
    known = array.spacing if isinstance(array, Image) else ()
    if len(known) != 3 or None in known:
        return None
    return _spacing([float(length or 0) for length in known])


def _saturation(stack: Any, largest: float) -> float | None:
    """The value that no sample of the type, or of a camera, exceeds, if the stack reaches it."""
    dtype: np.dtype[Any] = stack.dtype
    bits = {"int8": (7,), "int16": (15,)}.get(dtype.name, ()) + (8, 10, 11, 12, 13, 14, 16)
    return largest if largest in [2.0**n - 1 for n in bits] else None


def _options_of(optics: Mapping[str, Any], spacing: Sequence[float], shape: Sequence[int]) -> _core.PsfOptions:
    """From what make_psf takes, but for the spacing and the shape."""
    for name in ("na", "wavelength"):
        if name not in optics:
            raise InvalidArgument(f"optics has no {name}: give what make_psf takes, such as "
                                  "{'na': 1.2, 'wavelength': 0.52}")
    options = {name: value for name, value in optics.items() if name not in ("na", "wavelength")}
    return psf_options(optics["na"], optics["wavelength"], spacing, shape, options, RefineKeywords)


def psf_from_beads(stack: Any, *, shape: Sequence[int], spacing: Sequence[float] | None = None,
                   saturation: float | Literal["auto"] | None = "auto", optics: Mapping[str, Any] | None = None,
                   progress: Progress = None) -> BeadPsf:
    """The point spread function of a microscope from a stack of beads: their mean.

    Beads are found, aligned to a fraction of a voxel by least squares against their mean, and averaged. Between
    samples, values are interpolated by a windowed sinc, which keeps widths. Beads are taken for points: they should be
    smaller than a third of the PSF's width.

    Parameters
    ----------
    stack : Image or real array (z, y, x)
        Some beads apart from each other; of one channel and time.
    shape : (z, y, x) of odd numbers
        Of the PSF in voxels. ``convolume.make_psf(...).shape`` with the parameters of the microscope is a good one.
    spacing : (z, y, x), optional
        Edge lengths of a voxel, µm. None: as the image says, if it does.
    saturation : float, "auto" or None
        Beads with several samples at this value are left out. "auto": the largest value of a camera of 8 to 16 bits,
        where the stack reaches it.
    optics : mapping, optional
        What :func:`make_psf` takes, such as ``{"na": 1.2, "wavelength": 0.52}``, but for `spacing` and `shape`. A fit
        of that PSF then finds the light that belongs to no bead, and subtracts it: the mean outside of all boxes has
        light of the beads themselves. Nothing is subtracted where the fit leaves more than 20 %.
    progress
        As of :class:`convolume.Run`.

    Returns
    -------
    BeadPsf

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, or no bead that can be used (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> z, y, x = np.mgrid[:24, :64, :64]
    >>> stack = np.full((24, 64, 64), 10.0)
    >>> for center in ((12, 16.3, 16), (11.5, 45, 20), (12.4, 30, 47.7)):
    ...     stack += 500 * np.exp(-sum((a - c)**2 / (2 * s**2) for a, c, s in zip((z, y, x), center, (2, 1.5, 1.5))))
    >>> measured = convolume.psf_from_beads(stack, shape=(15, 15, 15), spacing=(0.2, 0.1, 0.1))
    >>> len(measured.centers), measured.psf.shape, measured.psf.spacing
    (3, (15, 15, 15), (0.2, 0.1, 0.1))
    >>> round(measured.fwhm[1], 1)  # 2.355 times the deviation
    3.5
    """
    if len(shape) != 3:
        raise InvalidArgument(f"shape has {len(shape)} numbers: give (z, y, x) of the PSF")
    values = _volume(stack, "the stack")
    if isinstance(saturation, str):
        if saturation != "auto":
            raise InvalidArgument(f"saturation is a number, 'auto' or None, not '{saturation}'")
        full = _saturation(readable(stack, "the stack"), float(values.max())) if values.size else None
    else:
        full = saturation
    voxel = _spacing_of(stack, spacing)
    model = None
    if optics is not None:
        if voxel is None:
            raise InvalidArgument("the voxel size of the stack is not known: pass spacing=(z, y, x) in µm")
        model = _options_of(optics, voxel, shape)
    with progress_bar(progress) as report:
        psf, facts = _core.psf_from_beads(values, triple_of(shape), full, model, report)
    facts["centers"] = np.array(facts["centers"], np.float64).reshape(-1, 3)
    facts["fluxes"] = np.array(facts["fluxes"], np.float64)
    return BeadPsf(Image.of_array(psf, spacing=voxel), **facts)


_REFINE = defaults_of(RefineKeywords, "PsfOptions", ni0=None, spacing=None)


@with_keywords(RefineKeywords, _REFINE, takes_others=True)
def refine_psf(measured: Any, parameters: Sequence[PsfParameter] = ("na",), *, na: float, wavelength: float,
               **options: Unpack[RefineKeywords]) -> RefinedPsf:
    """The NA, index and depth with which a model fits a measured point spread function best.

    Least squares of the model, its brightness, a constant and the focus; voxels are weighted by the noise that light
    makes. NA is sought from 0.6 to 1.4 times the first one, the index within 0.15, the depth from 0 to twice the first
    one and 10 µm more, as far as the model allows.

    Parameters
    ----------
    measured : BeadPsf, or Image or real array (z, y, x)
        As :func:`psf_from_beads` gives it, or another one with its source in the middle voxel; at least 5 planes.
    parameters : sequence of {"na", "index", "depth"}
        What is refined. "index" is that of the sample; "gaussian" and "born-wolf" have one medium, whose index it is.
        "depth" is of models with layers, "gibson-lanni" and "vectorial".
    na, wavelength, model, modality, ni, ns, depth, excitation, pinhole, sheet_fwhm
        As of :func:`make_psf`: the first values, and what is known.
    disc_pinhole, disc_spacing, disc_magnification, ni0, ng, ng0, ti0, tg, tg0
        As of :func:`make_psf`.
    spacing : (z, y, x), optional
        Edge lengths of a voxel, µm. None: as the PSF says.
    background : float, optional
        Light in a voxel that belongs to no bead, as a share of a bead's light. None: of a BeadPsf its own, else 0.
    workers, progress
        As of :class:`convolume.Run`.

    Returns
    -------
    RefinedPsf

    Raises
    ------
    InvalidArgument
        Options or shapes that contradict themselves (a ValueError).
    BadData
        The measured PSF does not determine a parameter (a ValueError).

    Examples
    --------
    >>> import convolume
    >>> light = {"wavelength": 0.52, "ni": 1.0, "model": "born-wolf", "spacing": (0.4, 0.1, 0.1)}
    >>> measured = convolume.make_psf(na=0.8, shape=(9, 21, 21), **light)
    >>> refined = convolume.refine_psf(measured, ["na"], na=0.7, **light)
    >>> round(refined.parameters["na"].value, 3)
    0.8
    """
    pixels: Any = measured.psf if isinstance(measured, BeadPsf) else measured
    voxel = _spacing_of(pixels, options.get("spacing"))
    if voxel is None:
        raise InvalidArgument("the voxel size of the measured PSF is not known: pass spacing=(z, y, x) in µm")
    if isinstance(parameters, str):
        raise InvalidArgument(f"parameters is a sequence of names, such as ['{parameters}']")
    values = _volume(pixels, "the measured PSF")
    background = options.get("background")
    if background is None:
        background = max(0.0, measured.background / measured.flux) if isinstance(measured, BeadPsf) else 0.0
    model = psf_options(na, wavelength, voxel, values.shape, options, RefineKeywords)
    with progress_bar(options.get("progress")) as report:
        facts = _core.refine_psf(values, model, list(parameters), background, report)
    found = dict(zip(("na", "ni", "ns", "depth"), facts["model"]))
    given = {name: value for name, value in options.items()
             if name in MicroscopeKeywords.__annotations__ and value is not None}
    arguments = {"model": _REFINE["model"], "modality": _REFINE["modality"], "wavelength": wavelength, "spacing": voxel,
                 **given, **found}
    refined = {name: RefinedParameter(*one) for name, one in facts["parameters"].items()}
    return RefinedPsf(refined, arguments, facts["first_residual"], facts["residual"])
