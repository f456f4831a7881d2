# SPDX-License-Identifier: Apache-2.0
"""A stack in a file, convolved slab by slab: memory holds some planes at a time.

The command `convolume convolve` does this by itself. Slabs are for programs that do more to each.
"""

import numpy as np

import convolume

shape, planes = (96, 256, 256), 24
random = np.random.default_rng(5)
convolume.save("stack.tif", random.integers(0, 4000, shape, np.uint16), spacing=(0.5, 0.2, 0.2))
kernel = convolume.make_psf(na=0.8, ni=1.0, wavelength=0.52, spacing=(0.5, 0.2, 0.2), shape=(11, 21, 21))

stack = convolume.open("stack.tif")  # slices are read when they are indexed
result = np.lib.format.open_memmap("blurred.npy", "w+", np.float32, stack.shape)
reach = kernel.shape[0] // 2
for begin in range(0, stack.shape[0], planes):
    end = min(begin + planes, stack.shape[0])
    # A slab is read with the planes around it that the kernel reaches. At the ends of the stack, where these are
    # missing, the boundary continues the slab as it continues the whole stack.
    first, last = max(0, begin - reach), min(end + reach, stack.shape[0])
    slab = convolume.convolve(stack[first:last], kernel, boundary="reflect")
    result[begin:end] = slab[begin - first:end - first]
result.flush()

whole = convolume.convolve(stack, kernel, boundary="reflect")
difference = np.abs(convolume.open("blurred.npy")[:] - whole).max() / whole.max()
print(f"largest difference from the stack as a whole: {difference:.1e} of its maximum")
assert difference < 1e-5
