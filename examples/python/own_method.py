# SPDX-License-Identifier: Apache-2.0
"""A custom method: a convolution and its exact adjoint as an operator of SciPy's solvers."""

import numpy as np
from scipy.sparse.linalg import lsqr

import convolume

spacing = (0.2, 0.1, 0.1)
psf = convolume.make_psf(na=1.2, ni=1.33, wavelength=0.52, spacing=spacing, shape=(9, 21, 21))
blur = convolume.Convolver((16, 64, 64), psf, boundary="zero", precision="float64")
operator = blur.as_linear_operator()

# The adjoint is exact, edges included: <A x, y> = <x, A' y>.
random = np.random.default_rng(8)
x, y = random.random(operator.shape[1]), random.random(operator.shape[0])
assert np.isclose(operator.matvec(x) @ y, x @ operator.rmatvec(y), rtol=1e-10)

specimen = np.asarray(convolume.Phantom(blur.input_shape, spacing, kind="beads", count=8, radius=0.3, seed=2,
                                         brightness=20_000), np.float64)
image = blur(specimen) + random.normal(scale=1.0, size=blur.output_shape)
solution = lsqr(operator, image.ravel(), damp=0.05, iter_lim=60)[0].reshape(specimen.shape)


def misfit(estimate):
    return np.linalg.norm(estimate - specimen) / np.linalg.norm(specimen)


print(f"distance from the specimen: {misfit(image):.2f} before, {misfit(solution):.2f} after")
assert misfit(solution) < 0.8 * misfit(image)
