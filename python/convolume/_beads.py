# SPDX-License-Identifier: Apache-2.0
"""Measured point spread functions, and the microscope that fits them. Lengths are in µm, axes z, y, x."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import readable
from ._errors import InvalidArgument
from ._image import Image
from ._optics import MicroscopeKeywords, psf_options, voxel_known
from ._options import defaults_of, triple_of, whole_numbers, with_keywords
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
    """A measured point spread function.

    Attributes
    ----------
    psf : Image
        float32 (z, y, x), of sum 1, with the brightest point in the middle voxel.
    centers : float64 array of beads × 3
        z, y, x of the beads that were used, in voxels of the stack.
    fluxes : float64 array
        The light of each used bead, without background, in the units of the stack.
    found : int
        Number of beads in the stack, with those that were not used.
    crowded : int
        Number of beads with another bead in their box. They were not used.
    saturated : int
        Number of beads with several saturated samples. They were not used.
    at_border : int
        Number of beads whose box leaves the stack. They were not used.
    unusual : int
        Number of beads with less than 0.4 or more than 2.5 times the median light. They were not used.
    background : float
        Mean of the samples outside all boxes. With `optics`, the light that was subtracted in the boxes.
    flux : float
        Mean light of a bead.
    fwhm : (z, y, x)
        Full widths at half maximum, in voxels.
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
class RegionPsf(BeadPsf):
    """The measured point spread function of one region of the field.

    Numbers of beads that were not used, apart from `unusual`, and the background are those of all regions.

    Attributes
    ----------
    at : (z, y, x)
        Place in voxels of the stack. Along each axis it is the mean position of the beads that are used in this row of
        regions, so that the places of all regions form a grid, as `View.positions` does.
    """

    at: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class RefinedParameter:
    """One parameter of a microscope, as :func:`refine_psf` estimates it.

    Attributes
    ----------
    value : float
        An index, an NA, or a depth in µm.
    deviation : float
        Standard deviation of `value`, from the difference between model and measured PSF.
    low, high : float
        Bounds of the search.
    at_bound : bool
        The fit would be even better beyond `low` or `high`, so `value` may be wrong.
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
        The requested ones of "na", "index" and "depth".
    arguments : dict
        Arguments of :func:`make_psf`, without `shape`: ``convolume.make_psf(shape=(33, 65, 65), **refined.arguments)``.
    first_residual, residual : float
        Root mean square of the difference between model and measured PSF, as a share of the model's root mean square:
        with the first parameters, and with the refined ones.
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
    _core.check_real(values.dtype, what)
    return np.ascontiguousarray(values, np.float32)


def _options_of(optics: Mapping[str, Any], spacing: Sequence[float], shape: Sequence[int]) -> _core.PsfOptions:
    """Returns the library's options for `optics`, which are arguments of make_psf without spacing and shape."""
    for name in ("na", "wavelength"):
        if name not in optics:
            raise InvalidArgument(f"optics has no {name}: give what make_psf takes, such as "
                                  "{'na': 1.2, 'wavelength': 0.52}")
    options = {name: value for name, value in optics.items() if name not in ("na", "wavelength")}
    return psf_options(optics["na"], optics["wavelength"], spacing, shape, options, RefineKeywords)


@names_wrong_types
def psf_from_beads(stack: Any, *, shape: Sequence[int] | None = None, spacing: Sequence[float] | None = None,
                   saturation: float | Literal["auto"] | None = "auto", optics: Mapping[str, Any] | None = None,
                   progress: Progress = None) -> BeadPsf:
    """Measures the point spread function of a microscope, as the mean of the beads in a stack.

    Beads are found, aligned to a fraction of a voxel by least squares against their mean, and averaged. Between
    samples, values are interpolated by a windowed sinc, which keeps widths. Beads count as points: they should be
    smaller than a third of the PSF's width.

    Parameters
    ----------
    stack : Image or real array (z, y, x)
        One channel at one time, with some beads apart from each other.
    shape : (z, y, x) of odd numbers, optional
        Extents of the PSF in voxels. None takes those that follow from `optics`, as far as the stack allows: to either
        side, five Airy radii across and twice Rayleigh's distance along z.
    spacing : (z, y, x), optional
        Edge lengths of a voxel, µm. None takes those of the image, if they are known.
    saturation : float, "auto" or None
        Beads with several samples at this value are not used. "auto" takes the largest value of a camera of 8 to 16
        bits, if the stack reaches it.
    optics : mapping, optional
        Arguments of :func:`make_psf` without `spacing` and `shape`, such as ``{"na": 1.2, "wavelength": 0.52}``. A fit
        of that PSF estimates the light that belongs to no bead, which is subtracted. The mean outside all boxes would
        not do, as it holds light of the beads. Nothing is subtracted if the residual of the fit is above 20 %.
    progress
        See :class:`convolume.Run`.

    Returns
    -------
    BeadPsf

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, or a stack without usable beads (a ValueError).
    BadData
        A complex stack (a ValueError).

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
    values, options, voxel = _measurement(stack, shape, spacing, saturation, optics)
    with progress_bar(progress) as report:
        psf, facts = _core.psf_from_beads(values, *options, report)
    return BeadPsf(Image.of_array(psf, spacing=voxel), **_with_arrays(facts))


@names_wrong_types
def psfs_from_beads(stack: Any, regions: Sequence[int], *, shape: Sequence[int] | None = None,
                    spacing: Sequence[float] | None = None, saturation: float | Literal["auto"] | None = "auto",
                    optics: Mapping[str, Any] | None = None, progress: Progress = None) -> list[RegionPsf]:
    """Measures point spread functions that vary over the field, each as the mean of the beads in a region of a stack.

    The stack is divided into equal regions. The PSF of each is measured as :func:`psf_from_beads` does, by the beads
    whose middle is in it. :class:`View` takes the PSFs with their places.

    Parameters
    ----------
    stack : Image or real array (z, y, x)
        One channel at one time, with some beads in every region.
    regions : (z, y, x)
        Number of regions along each axis.
    shape, spacing, saturation, optics
        See :func:`psf_from_beads`; the same for all regions.
    progress
        See :class:`convolume.Run`.

    Returns
    -------
    list of RegionPsf
        In the order of the regions, x fastest.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, or a region without usable beads (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> z, y, x = np.mgrid[:15, :32, :80]
    >>> stack = sum(1000 * np.exp(-s * ((z - 7)**2 + (y - 16)**2 + (x - c)**2)) for c, s in ((20, 0.2), (60, 0.1)))
    >>> left, right = convolume.psfs_from_beads(stack, (1, 1, 2), shape=(9, 15, 15))
    >>> [[round(float(c), 2) for c in one.at] for one in (left, right)]
    [[7.0, 16.0, 20.0], [7.0, 16.0, 60.0]]
    >>> right.fwhm[2] > left.fwhm[2]
    True
    >>> view = convolume.View([left.psf, right.psf], positions=[left.at, right.at])
    """
    numbers = whole_numbers(regions, "regions")
    if len(numbers) != 3:
        raise InvalidArgument(f"regions has {len(numbers)} numbers: give (z, y, x)")
    values, options, voxel = _measurement(stack, shape, spacing, saturation, optics)
    with progress_bar(progress) as report:
        measured = _core.psfs_from_beads(values, numbers, *options, report)
    return [RegionPsf(Image.of_array(psf, spacing=voxel), **_with_arrays(facts)) for psf, facts in measured]


def _measurement(stack: Any, shape: Sequence[int] | None, spacing: Sequence[float] | None,
                 saturation: float | Literal["auto"] | None, optics: Mapping[str, Any] | None
                 ) -> tuple[Any, tuple[Any, Any, Any, Any], Any]:
    """Returns the samples of a stack of beads, the extents of a PSF, the value of saturated samples, the model of the
    PSF, and the voxel, if they are known."""
    if shape is not None and len(shape) != 3:
        raise InvalidArgument(f"shape has {len(shape)} numbers: give (z, y, x) of the PSF")
    values = _volume(stack, "the stack")
    if isinstance(saturation, str) and saturation != "auto":
        raise InvalidArgument(f"saturation is a number, 'auto' or None, not '{saturation}'")
    level, recorded = (None, readable(stack, "the stack").dtype) if saturation == "auto" else (saturation, None)
    voxel = voxel_known(stack, spacing)
    model = None
    if optics is not None:
        if voxel is None:
            raise InvalidArgument("the voxel size of the stack is not known: pass spacing=(z, y, x) in µm")
        model = _options_of(optics, voxel, (1, 1, 1))
    extents = _core.bead_psf_size(None if shape is None else triple_of(shape), model, triple_of(values.shape))
    if model is not None:
        model.shape = extents
    return values, (extents, level, recorded, model), voxel


def _with_arrays(facts: dict[str, Any]) -> dict[str, Any]:
    """Returns facts on beads with arrays of their centers and fluxes."""
    return facts | {"centers": np.array(facts["centers"], np.float64).reshape(-1, 3),
                    "fluxes": np.array(facts["fluxes"], np.float64)}


_REFINE = defaults_of(RefineKeywords, "PsfOptions")


@with_keywords(RefineKeywords, _REFINE, takes_others=True)
def refine_psf(measured: Any, parameters: Sequence[PsfParameter] = ("na",), *, na: float, wavelength: float,
               **options: Unpack[RefineKeywords]) -> RefinedPsf:
    """Finds the NA, index and depth with which a model fits a measured point spread function best.

    The fit is by least squares, with the brightness, a constant and the focus as further unknowns. Voxels are weighted
    by their photon noise. The search is from 0.6 to 1.4 times the first NA, within 0.15 of the first index, and from a
    depth of 0 to twice the first depth and 10 µm more, as far as the model allows.

    Parameters
    ----------
    measured : BeadPsf, or Image or real array (z, y, x)
        A result of :func:`psf_from_beads`, or another PSF with its source in the middle voxel; at least 5 planes.
    parameters : sequence of {"na", "index", "depth"}
        Parameters to refine. "index" is the index of the sample; of "gaussian" and "born-wolf", of their one medium.
        "depth" needs a model with layers: "gibson-lanni" or "vectorial".
    na, wavelength, model, modality, ni, ns, depth, excitation, pinhole, sheet_fwhm
        First values of the refined parameters, and values of the others, as :func:`make_psf` takes them.
    disc_pinhole, disc_spacing, disc_magnification, ni0, ng, ng0, ti0, tg, tg0
        See :func:`make_psf`.
    spacing : (z, y, x), optional
        Edge lengths of a voxel, µm. None takes those of the measured PSF.
    background : float, optional
        Light in a voxel that belongs to no bead, as a share of a bead's light. None takes that of a BeadPsf, else 0.
    workers, progress
        See :class:`convolume.Run`.

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
    voxel = voxel_known(pixels, options.get("spacing"))
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
    given = {name: value for name, value in options.items()
             if name in MicroscopeKeywords.__annotations__ and value is not None}
    arguments = {"model": _REFINE["model"], "modality": _REFINE["modality"], "wavelength": wavelength, "spacing": voxel,
                 **given, **facts["optics"]}
    refined = {name: RefinedParameter(*one) for name, one in facts["parameters"].items()}
    return RefinedPsf(refined, arguments, facts["first_residual"], facts["residual"])
