# SPDX-License-Identifier: Apache-2.0
"""Deskewing of stage scans of light-sheet microscopes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from . import _core
from ._arrays import readable
from ._errors import InvalidArgument, warn
from ._image import Image
from ._optics import Length, length_um, voxel_um
from ._options import defaults_of, with_keywords
from ._run import Progress, progress_bar

ShearAxis = Literal["y", "x"]
Interpolation = Literal["linear", "lanczos"]


class ScanKeywords(TypedDict, total=False):
    """Keywords that describe a scan and its result."""

    axis: ShearAxis
    opposite: bool
    interpolation: Interpolation
    rotate: bool
    inverse: bool
    output_spacing: Sequence[Length] | None
    fill: float


class DeskewKeywords(ScanKeywords, total=False):
    """Keywords of :func:`deskew`."""

    workers: int | None
    progress: Progress


def core_options(angle: float, step: Length, options: Mapping[str, Any],
                 pixels: Sequence[float] | None = None) -> _core.DeskewOptions:
    """Returns the library's options, with pixels of edges y and x in µm if these are known. `options` has some keywords
    of :class:`DeskewKeywords`."""
    own = {name: value for name, value in options.items() if name not in ("workers", "progress")}
    if own.get("output_spacing") is not None:
        own["output_spacing"] = voxel_um("output_spacing", own["output_spacing"])
    made = _core.DeskewOptions(angle=angle, step=length_um("step", step), workers=options.get("workers") or 0, **own)
    if pixels is not None:
        made.set_pixels(*pixels)
    return made


def take_pixels(made: _core.DeskewOptions, metadata: _core.ImageMetadata, name: str, pixel: Length | None) -> None:
    """Sets the pixels of a scan: their edge, or those of an image. Warns of what is doubtful."""
    doubt = made.take_pixels(metadata, name, None if pixel is None else length_um("pixel", pixel))
    if doubt is not None:
        warn(doubt)


@with_keywords(DeskewKeywords, defaults_of(DeskewKeywords, "DeskewOptions"))
def deskew(image: Any, *, angle: float, step: Length, pixel: Length | None = None,
           **options: Unpack[DeskewKeywords]) -> Image:
    """Deskews a stage scan of an oblique or lattice light-sheet microscope.

    Planes of such a stack are ``step * sin(angle)`` apart along the optical axis, and displaced by
    ``step * cos(angle)`` along an axis of the camera. Interpolation is along the optical axis and within planes. The
    page "Light sheet" has the options for the files of other programs.

    Parameters
    ----------
    image : array or Image (…, z, y, x)
        The recorded planes. Axes before them, such as times and channels, are deskewed one by one.
    angle : float
        Angle in degrees between the light sheet, which is the plane that the camera sees, and the cover glass.
    step : float or str
        Travel of the stage from plane to plane, in µm or with a unit, such as "400nm".
    pixel : float or str, optional
        Edge of a camera pixel in the specimen. By default that of an :class:`Image`.
    axis : {"y", "x"}
        Axis of the camera along which planes are displaced.
    opposite : bool
        Whether planes are displaced to lower indices of that axis.
    interpolation : {"linear", "lanczos"}
        Linear, or by a windowed sinc of 6 samples.
    rotate : bool
        Whether planes of the result are parallel to the cover glass. Otherwise they are those of the camera.
    inverse : bool
        Whether to displace the planes of a straight stack, such as a PSF, as the scan does. They must be
        ``step * sin(angle)`` apart.
    output_spacing : (z, y, x), optional
        Voxel of a rotated result. By default, all edges are those of the pixel along the sheared axis.
    fill : float
        Value outside of the recorded volume.
    workers, progress
        See :class:`convolume.Run`.

    Returns
    -------
    Image
        Of the image's type, with the spacing of the result. Integers are rounded half to even and clamped.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves, or an unknown pixel (a ValueError).
    BadData
        Complex samples, or one plane (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> scan = np.zeros((11, 40, 32), np.uint16)
    >>> straight = convolume.deskew(scan, angle=30, step=0.4, pixel=0.1)
    >>> straight.shape, [round(length, 3) for length in straight.spacing]
    ((11, 75, 32), [0.2, 0.1, 0.1])
    """
    if isinstance(image, Image) and not image.axes.endswith("ZYX"):
        raise InvalidArgument(f"a stage scan has the axes ZYX, and the image has {image.axes}: name its planes Z")
    recorded = image if isinstance(image, Image) else readable(image, "the image")
    if recorded.ndim < 3:
        raise InvalidArgument(f"a stage scan has axes z, y and x, and the image has {recorded.ndim} dimensions")
    if isinstance(image, Image):
        metadata, name = image._metadata.copy(), image._name
    else:
        metadata, name = _core.ImageMetadata(), ""
        metadata.shape = recorded.shape[-3:]
    made = core_options(angle, step, options)
    take_pixels(made, metadata, name, pixel)
    _core.deskew_metadata(metadata, made)
    shape = metadata.shape
    values = np.empty((*recorded.shape[:-3], *shape), recorded.dtype)
    with progress_bar(options.get("progress")) as report:
        for place in np.ndindex(*recorded.shape[:-3]):
            values[place] = _core.deskew(readable(recorded[place], "the image"), made, report)
    if not isinstance(image, Image):
        return Image.of_array(values, spacing=metadata.spacing)
    return Image(None, metadata, values, image.axes)
