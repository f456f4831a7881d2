# SPDX-License-Identifier: Apache-2.0
"""Method "map" beside its objective and the objective's gradient in NumPy in float64."""

import numpy as np
import pytest
from scipy.signal import fftconvolve

import convolume

SHAPE, LEVEL, SPACING = (7, 20, 22), 3.0, (0.3, 0.1, 0.1)
PLAIN = {"method": "map", "edges": "zero", "background": LEVEL, "offset": 0.0, "spacing": SPACING, "device": "cpu",
         "hot_pixels": "off", "no_data": "off"}


class Objective:
    """Misfit and roughness of an object, and their gradient, with weights of pixels."""

    def __init__(self, image, psf, roughness, weights=None):
        self.image, self.psf, self.roughness = image.astype(float), psf, roughness
        self.weights = np.ones(SHAPE) if weights is None else weights / weights.max()
        self.light = self.project(self.weights)

    def project(self, pixels):
        return fftconvolve(pixels, self.psf[::-1, ::-1, ::-1], mode="same")

    def model(self, x):
        return fftconvolve(x, self.psf, mode="same") + LEVEL

    def pairs(self, x):
        """Yields the weight, the lower and the higher neighbors, and the differences of roots along each axis."""
        root = np.sqrt(x)
        for axis in range(3):
            low = tuple(slice(0, -1) if a == axis else slice(None) for a in range(3))
            high = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
            lit = (x[low] > 0) & (x[high] > 0)
            yield self.roughness * (0.1 / SPACING[axis]) ** 2, low, high, lit * (root[high] - root[low])

    def misfit(self, x):
        model = self.model(x)
        log = np.log(np.where(self.image > 0, self.image / model, 1))
        return np.sum(self.weights * (model - self.image + self.image * log))

    def value(self, x):
        return self.misfit(x) + sum(weight * np.sum(steps**2) for weight, _, _, steps in self.pairs(x))

    def slopes(self, x):
        """Returns x times the gradient by x."""
        slopes = x * (self.light - self.project(self.weights * self.image / self.model(x)))
        root = np.sqrt(x)
        for weight, low, high, steps in self.pairs(x):
            slopes[low] -= weight * root[low] * steps
            slopes[high] += weight * root[high] * steps
        return slopes

    def residual(self, x):
        return np.abs(self.slopes(x)).sum() / (self.light * x).sum()


@pytest.fixture(scope="module")
def recorded():
    """Returns a recording and its PSF."""
    random = np.random.default_rng(7)
    specimen = np.zeros(SHAPE)
    specimen[2:5, 6:12, 5:15] = 30
    specimen[tuple(random.integers(0, SHAPE, (12, 3)).T)] = 300
    psf = random.random((3, 5, 5))
    psf[1, 2, 2] = 4
    psf /= psf.sum()
    image = random.poisson(fftconvolve(specimen, psf, mode="same").clip(0) + LEVEL).astype(np.float32)
    return image, psf


def test_the_gradient_is_that_of_the_objective(recorded):
    image, psf = recorded
    objective = Objective(image, psf, 0.02)
    random = np.random.default_rng(1)
    x, direction = random.random(SHAPE) + 1, random.standard_normal(SHAPE)
    step = 1e-5
    numeric = (objective.value(x + step * direction) - objective.value(x - step * direction)) / (2 * step)
    assert numeric == pytest.approx(np.sum(objective.slopes(x) / x * direction), rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("roughness", [0.002, 0.05])
def test_iterations_converge_to_the_optimum(recorded, roughness, weighted):
    image, psf = recorded
    weights = np.random.default_rng(2).choice([0, 0.5, 1, 2], SHAPE) if weighted else None
    objective = Objective(image, psf, roughness, weights)
    reached = []
    for acceleration in ("biggs-andrews", "none"):
        plan = convolume.Deconvolver(SHAPE, psf, iterations=20000, stop=2e-5, roughness=roughness,
                                     acceleration=acceleration, **PLAIN)
        done = []
        x = plan(image, weights=weights, callback=done.append).astype(float)
        assert objective.residual(x) < 3e-5
        assert done[-1].residual <= 2e-5 < done[-2].residual
        assert (x[objective.light >= 0.01] > 0).all()
        reached.append((objective.value(x), len(done), x))
    assert reached[0][0] == pytest.approx(reached[1][0], rel=2e-5)
    assert reached[0][1] < 0.7 * reached[1][1]
    assert np.linalg.norm(reached[0][2] - reached[1][2]) < 0.02 * np.linalg.norm(reached[0][2])


def test_no_step_raises_the_objective(recorded):
    image, psf = recorded
    objective = Objective(image, psf, 0.02)
    values = []
    plan = convolume.Deconvolver(SHAPE, psf, iterations=40, stop=0, roughness=0.02, acceleration="none", **PLAIN)
    plan(image, callback=lambda done: values.append((objective.value(done.estimate.astype(float)), done.likelihood)))
    objectives, likelihoods = np.array(values).T
    assert (np.diff(objectives) < 0).all()
    assert len(values) == 40
    # A callback gets the likelihood at the starting point of its iteration.
    assert likelihoods[0] < likelihoods[-1] < 0


def test_starting_points_never_raise_the_objective(recorded):
    """Without a weight the objective is the misfit, which is reported for each starting point."""
    image, psf = recorded
    done = []
    convolume.Deconvolver(SHAPE, psf, iterations=150, stop=0, roughness=0, **PLAIN)(image, callback=done.append)
    misfits = np.array([-one.likelihood for one in done])
    assert (np.diff(misfits) <= 2e-6 * misfits[:-1]).all()


def test_spacing_weighs_the_axes(recorded):
    image, psf = recorded
    objective = Objective(image, psf, 0.05)
    wrong = convolume.Deconvolver(SHAPE, psf, stop=1e-4, roughness=0.05, **PLAIN | {"spacing": None})(image)
    assert objective.residual(wrong.astype(float)) > 1e-2


def test_the_weight_that_is_found_is_near_the_best():
    """Two halves of the photons tell the weight with which the error is least, to a few percent of that error."""
    random = np.random.default_rng(3)
    shape = (12, 40, 40)
    specimen = np.zeros(shape)
    specimen[4:8, 8:30, 10:28] = 40
    z, y, x = np.mgrid[-2:3, -4:5, -4:5]
    psf = np.exp(-(z / 1.5) ** 2 - (y**2 + x**2) / 8)
    psf /= psf.sum()
    image = random.poisson(fftconvolve(specimen, psf, mode="same").clip(0) + 5).astype(np.float32)
    options = {"method": "map", "background": 5.0, "offset": 0.0, "device": "cpu"}

    def error(**more):
        result = convolume.Deconvolver(shape, psf, **options, **more)(image)
        return np.linalg.norm(result - specimen)

    errors = [error(roughness=weight) for weight in np.geomspace(1e-4, 1, 9)]
    found = error(gain=1.0)
    assert found < 1.05 * min(errors)
    assert found < 0.9 * errors[0]
    assert found < 0.9 * errors[-1]
