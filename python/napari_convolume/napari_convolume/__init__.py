# SPDX-License-Identifier: Apache-2.0
"""Widgets of napari for deconvolution and point spread functions."""

from ._deconvolve import Deconvolve
from ._psf import MakePsf

__all__ = ["Deconvolve", "MakePsf"]
