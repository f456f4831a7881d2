# SPDX-License-Identifier: Apache-2.0
"""A PSF that is estimated from the image itself: beads and PSF are fitted in turns, by gradients of JAX and L-BFGS."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import convolume.jax

jax.config.update("jax_enable_x64", True)

# Beads are points of different brightness. The PSF is twice as long along one diagonal as along the other.
random = np.random.default_rng(5)
beads = np.zeros((64, 64))
beads[tuple(random.integers(6, 58, (2, 25)))] = random.uniform(500, 2000, 25)
y, x = np.mgrid[-6:7, -6:7]
psf = np.exp(-((x + y) / 4.5)**2 - ((x - y) / 2)**2)
psf /= psf.sum()
background = 2.0
image = random.poisson(convolume.convolve(beads, psf) + background).astype(float)


def misfit(roots, logarithms):
    """Negative log likelihood of photons, and a penalty that prefers few bright points to many faint ones."""
    points, kernel = roots**2, jnp.exp(logarithms)  # neither is negative
    light = convolume.jax.convolve(points, kernel / kernel.sum()) + background
    return (light - image * jnp.log(light)).sum() + jnp.sqrt(points + 0.01).sum()


gradients = [jax.jit(jax.value_and_grad(misfit, number)) for number in (0, 1)]


def fitted(values, number, iterations):
    """Returns the roots (number 0) or the logarithms (1) that fit better, with the others as they are."""

    def misfit_and_gradient(tried):
        pair = [*values]
        pair[number] = tried.reshape(values[number].shape)
        value, gradient = gradients[number](*pair)
        return float(value), np.asarray(gradient).ravel()

    found = minimize(misfit_and_gradient, values[number].ravel(), jac=True, method="L-BFGS-B",
                     options={"maxiter": iterations})
    return found.x.reshape(values[number].shape)


guess = -(x**2 + y**2) / 12.0  # round, and wider than the PSF
values = [np.sqrt(image), guess]
for _ in range(4):
    values[0] = fitted(values, 0, 30)
    values[1] = fitted(values, 1, 10)
estimate = np.exp(values[1]) / np.exp(values[1]).sum()


def likeness(kernel):
    return np.corrcoef(kernel.ravel(), psf.ravel())[0, 1]


before, after = likeness(np.exp(guess)), likeness(estimate)
print(f"likeness to the PSF: {before:.2f} of the guess, {after:.3f} of the estimate")
assert before < 0.9 and after > 0.99
