# SPDX-License-Identifier: Apache-2.0
"""Widgets of napari for deconvolution and point spread functions, and a reader and a writer for files."""

from typing import Any

__all__ = ["Deconvolve", "MakePsf", "get_reader", "write"]


def __getattr__(name: str) -> Any:
    """Imports a name at its first use: reader and writer need no window."""
    if name == "Deconvolve":
        from ._deconvolve import Deconvolve
        return Deconvolve
    if name == "MakePsf":
        from ._psf import MakePsf
        return MakePsf
    if name in ("get_reader", "write"):
        from . import _files
        return getattr(_files, name)
    raise AttributeError(f"module 'napari_convolume' has no attribute '{name}'")
