# SPDX-License-Identifier: Apache-2.0
"""An image in the memory of two GPUs: each holds a slab of its planes, and of those of the result."""

import sys

import numpy as np

import convolume

if sum(gpu.usable for gpu in convolume.gpu_devices()) < 2:
    sys.exit("skipped: there are no two GPUs that this build of convolume can use")
try:
    import cupy
except ImportError:
    sys.exit("skipped: CuPy is not installed")

image = np.random.default_rng(9).random((64, 256, 256), np.float32)
kernel = np.random.default_rng(9).random((9, 15, 15), np.float32)
plan = convolume.Convolver(image.shape, kernel, normalize="sum")

halves = []
for gpu, planes in enumerate(np.split(image, 2)):
    with cupy.cuda.Device(gpu):
        halves.append(cupy.asarray(planes))
blurred = plan(halves)  # two arrays of CuPy, on the same GPUs

result = np.concatenate([cupy.asnumpy(half) for half in blurred])
assert np.allclose(result, plan(image), rtol=1e-4)
print(f"mean of the blurred image: {result.mean():.4f}")
