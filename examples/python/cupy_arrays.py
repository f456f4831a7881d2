# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy: image and result stay in the GPU's memory, and no call waits for the GPU."""

import sys

import numpy as np

import convolume

if not any(gpu.usable for gpu in convolume.gpu_devices()):
    sys.exit("skipped: there is no GPU that this build of convolume can use")
try:
    import cupy
except ImportError:
    sys.exit("skipped: CuPy is not installed")

image = np.random.default_rng(9).random((64, 256, 256), np.float32)
kernel = np.random.default_rng(9).random((9, 15, 15), np.float32)
plan = convolume.Convolver(image.shape, kernel, normalize="sum")

stream = cupy.cuda.Stream(non_blocking=True)
with stream:  # work that is enqueued here runs in order
    on_gpu = cupy.asarray(image)
    edges = on_gpu - plan(on_gpu)  # an array of CuPy
    mean = cupy.abs(edges).mean()
stream.synchronize()

on_host = image - plan(image)
assert np.isclose(float(mean), np.abs(on_host).mean(), rtol=1e-4)
print(f"mean difference from the blurred image: {float(mean):.4f}")
