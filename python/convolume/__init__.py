# SPDX-License-Identifier: Apache-2.0
"""Convolution and deconvolution of images larger than a GPU, and of very long signals.

Drop-ins for other libraries' functions are in :mod:`convolume.signal`, :mod:`convolume.ndimage` and
:mod:`convolume.restoration`. Convolutions with gradients are in ``convolume.torch`` and ``convolume.jax``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._beads import (
    BeadPsf,
    RefinedParameter,
    RefinedPsf,
    RegionPsf,
    psf_from_beads,
    psfs_from_beads,
    refine_psf,
)
from ._bleaching import correct_bleaching
from ._channels import Channelizer, Synthesizer, channelize, synthesize
from ._chirps import chirp_bank, spectral_chirp_bank
from ._convolve import convolve, correlate
from ._convolver import Convolver
from ._core import version
from ._correlation import CorrelationBank, correlation_peaks, divide_by_noise
from ._deconvolve import Deconvolver
from ._deconvolve_images import richardson_lucy, wiener
from ._deskew import deskew
from ._errors import (
    BadData,
    Cancelled,
    CannotCreate,
    ConvolumeWarning,
    DeviceFailure,
    Error,
    FileFailure,
    InputNotFound,
    InvalidArgument,
    OutOfMemory,
    OutputExists,
    Unavailable,
)
from ._files import open, save  # noqa: A004 (the usual name of such a function)
from ._filters import FilterBank, FilterPlan, filter_bank
from ._forward_model import ForwardModel
from ._image import Image
from ._image_peaks import find_peaks
from ._iteration import Iteration
from ._optics import Camera, Phantom, make_psf, psf_facts, resample_kernel
from ._problem import Plan
from ._prototypes import dual_prototype, prototype_filter
from ._psf_fit import FittedPsf, fit_psf
from ._rate_converter import RateConverter, convert_rate
from ._resample import Resampler
from ._run import GpuDevice, Run, gpu_devices
from ._signals import Signal, open_signal, save_signal
from ._stream_filter import StreamFilter
from ._templates import masked_correlation, match_template
from ._view_deconvolver import ViewDeconvolver
from ._views import View, voxel_transform

if TYPE_CHECKING:
    from . import cache as cache
    from . import jax as jax
    from . import ndimage as ndimage
    from . import restoration as restoration
    from . import signal as signal
    from . import torch as torch
    from ._process import process
    from ._process_plan import ProcessPlan, plan_process
    from ._process_report import BlocksFailed, ProcessReport, process_status

__version__: str = version()

__all__ = ["BadData", "BeadPsf", "BlocksFailed", "Camera", "Cancelled", "CannotCreate", "Channelizer",
           "ConvolumeWarning", "Convolver", "CorrelationBank", "Deconvolver", "DeviceFailure", "Error", "FileFailure",
           "FilterBank", "FilterPlan", "FittedPsf", "ForwardModel", "GpuDevice", "Image", "InputNotFound",
           "InvalidArgument", "Iteration", "OutOfMemory", "OutputExists", "Phantom", "Plan", "ProcessPlan",
           "ProcessReport", "RateConverter", "RefinedParameter", "RefinedPsf", "RegionPsf", "Resampler", "Run",
           "Signal", "StreamFilter", "Synthesizer", "Unavailable", "View", "ViewDeconvolver", "__version__",
           "channelize", "chirp_bank", "convert_rate", "convolve", "correct_bleaching", "correlate",
           "correlation_peaks", "deskew", "divide_by_noise", "dual_prototype", "filter_bank", "find_peaks", "fit_psf",
           "gpu_devices", "make_psf", "masked_correlation", "match_template", "open", "open_signal", "plan_process",
           "process", "process_status", "prototype_filter", "psf_facts", "psf_from_beads", "psfs_from_beads",
           "refine_psf", "resample_kernel", "richardson_lucy", "save", "save_signal", "spectral_chirp_bank",
           "synthesize", "voxel_transform", "wiener"]

# Names and modules that are imported at their first use. Some need threads, sockets and more, which take longer to
# import than all other modules.
_LATER = {"BlocksFailed": "_process_report", "ProcessReport": "_process_report", "process": "_process",
          "ProcessPlan": "_process_plan", "plan_process": "_process_plan", "process_status": "_process_report"}
_MODULES = ("cache", "ndimage", "restoration", "signal")
_MODULES_OF_PACKAGES = ("jax", "torch")  # which may be missing, so that dir() does not list them


def __getattr__(name: str) -> Any:
    if name in _MODULES or name in _MODULES_OF_PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _LATER:
        raise AttributeError(f"module 'convolume' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_MODULES})
