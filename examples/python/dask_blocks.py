# SPDX-License-Identifier: Apache-2.0
"""A file as a dask array: blocks are read, convolved with the samples around them, and reduced, one after the other."""

import numpy as np

import convolume

shape = (32, 200, 300)
convolume.save("stack.h5", np.random.default_rng(6).random(shape, np.float32))
kernel = np.ones((3, 9, 9)) / 243

stack = convolume.open("stack.h5").to_dask(chunks=(16, 100, 100))
# Each convolution has one thread, as dask has threads of its own.
blurred = stack.map_overlap(convolume.convolve, depth=(1, 4, 4), boundary="reflect", dtype=np.float32,
                            kernel=kernel, workers=1, device="cpu")
projection = blurred.max(axis=0).compute()

whole = convolume.convolve(convolume.open("stack.h5"), kernel, boundary="reflect")
np.testing.assert_allclose(projection, whole.max(axis=0), rtol=1e-5)
print(f"a projection of {projection.shape} from {stack.npartitions} blocks")
