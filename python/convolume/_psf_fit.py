# SPDX-License-Identifier: Apache-2.0
"""The optics that fit a recording of a specimen that nobody knows. Lengths are in µm, axes z, y, x."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np

from . import _core
from ._arrays import readable
from ._errors import InvalidArgument
from ._image import Image
from ._optics import Length, MicroscopeKeywords, psf_options, voxel_known
from ._options import defaults_of, with_keywords
from ._run import Devices, Progress, engines, progress_bar


class FitKeywords(MicroscopeKeywords, Devices, total=False):
    """Keywords of :func:`fit_psf`."""

    spacing: Sequence[Length] | None
    shape: Sequence[int] | Literal["auto"]
    saturation: float | None
    progress: Progress


@dataclass(frozen=True)
class FittedPsf:
    """A point spread function whose model was fitted to an image.

    Attributes
    ----------
    psf : Image
        float32 (z, y, x), of sum 1, as :func:`make_psf` makes it with the fitted parameters.
    optics : dict
        The parameters that may have been changed, as keywords of :func:`make_psf`.
    changes : str
        What was changed, such as "NA 1.45 → 1.28"; empty if no change predicts the image better.
    first_error, error : float
        Mean squares of the errors of predicting half of the photons by the other half, as multiples of that of noise
        alone: with the given parameters, and with the fitted ones.
    """

    psf: Image
    optics: Mapping[str, float]
    changes: str
    first_error: float
    error: float


@with_keywords(FitKeywords, defaults_of(FitKeywords, "PsfOptions", shape="auto"), takes_others=True)
def fit_psf(image: Any, *, na: float, wavelength: Length, **options: Unpack[FitKeywords]) -> FittedPsf:
    """Finds the optics with which a deconvolution predicts a recording of an unknown specimen best.

    The photons of the image's brightest part are divided at random into halves. One is restored with a PSF, and the
    blurred estimate is compared with the other one. The NA, and for models with layers the index of the sample, the
    depth and the thickness of the cover glass are changed by steps, which become smaller where they do not help. An NA
    and the voxel size are hardly told apart.

    Parameters
    ----------
    image : Image or real array (z, y, x)
        The recording, not filtered or resampled; at least 3 planes.
    na, wavelength, model, modality, ni, ns, depth, excitation, pinhole, sheet_fwhm
        First values of the parameters, as :func:`make_psf` takes them.
    disc_pinhole, disc_spacing, disc_magnification, ni0, ng, ng0, ti0, tg, tg0, shape
        See :func:`make_psf`.
    spacing : (z, y, x), optional
        Edge lengths of a voxel, µm. None takes those of the image.
    saturation : float, optional
        Pixels of at least this value are lower bounds.
    device, workers, max_gpu_mem, fft, progress
        See :class:`convolume.Run`.

    Returns
    -------
    FittedPsf

    Raises
    ------
    InvalidArgument
        Options or shapes that contradict themselves (a ValueError).
    BadData
        The noise of the image does not tell its photons (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> light = {"wavelength": 0.52, "ni": 1.0, "model": "born-wolf", "spacing": (0.6, 0.2, 0.2), "shape": (13, 25, 25)}
    >>> cells = convolume.Phantom((8, 48, 48), spacing=light["spacing"], kind="cells", radius=2.0)
    >>> blurred = convolume.convolve(cells[:], convolume.make_psf(na=0.8, **light), device="cpu").clip(0)
    >>> image = np.random.default_rng(1).poisson(0.3 * np.asarray(blurred) + 5).astype(np.uint16)
    >>> fitted = convolume.fit_psf(image, na=0.65, device="cpu", **light)
    >>> abs(fitted.optics["na"] - 0.8) < 0.1
    True
    """
    pixels = readable(image, "the image")
    if pixels.ndim != 3:
        raise InvalidArgument(f"the image has {pixels.ndim} dimensions: give one volume (z, y, x)")
    voxel = voxel_known(image, options.get("spacing"))
    if voxel is None:
        raise InvalidArgument("the voxel size of the image is not known: pass spacing=(z, y, x) in µm")
    model = psf_options(na, wavelength, voxel, options.get("shape", "auto"), options, FitKeywords)
    with progress_bar(options.get("progress")) as report:
        psf, optics, changes, first, last = _core.fit_psf(np.ascontiguousarray(pixels), model,
                                                          options.get("saturation"), engines(options), report)
    return FittedPsf(Image.of_array(psf, spacing=voxel), optics, changes, first, last)
