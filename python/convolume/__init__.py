# SPDX-License-Identifier: Apache-2.0
"""Convolution and deconvolution of images larger than a GPU, and of very long signals.

Drop-ins for other libraries' functions are in :mod:`convolume.signal`, :mod:`convolume.ndimage` and
:mod:`convolume.restoration`.
"""

from ._convolve import Convolver, Plan, convolve, correlate
from ._core import GpuDevice, __version__, gpu_devices
from ._errors import (BadData, Cancelled, CannotCreate, DeviceFailure, Error, FileFailure, InputNotFound,
                      InvalidArgument, OutOfMemory, OutputExists, Unavailable)
from ._run import Run

__all__ = ["BadData", "Cancelled", "CannotCreate", "Convolver", "DeviceFailure", "Error", "FileFailure", "GpuDevice",
           "InputNotFound", "InvalidArgument", "OutOfMemory", "OutputExists", "Plan", "Run", "Unavailable",
           "__version__", "convolve", "correlate", "gpu_devices"]
