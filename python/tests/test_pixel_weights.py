# SPDX-License-Identifier: Apache-2.0
"""Weights of pixels in the likelihood, beside iterations in NumPy in float64."""

import numpy as np
import pytest
from scipy.signal import fftconvolve

import convolume

SHAPE, ITERATIONS = (7, 24, 26), 12
PLAIN = {
    "iterations": ITERATIONS,
    "edges": "zero",
    "background": 3.0,
    "offset": 0.0,
    "device": "cpu",
    "hot_pixels": "off",
    "no_data": "off",
}


@pytest.fixture(scope="module")
def recorded():
    """Returns a recording, its PSF, and weights from 0 to 2."""
    random = np.random.default_rng(5)
    specimen = np.zeros(SHAPE)
    specimen[tuple(random.integers(0, SHAPE, (60, 3)).T)] = 400
    psf = random.random((3, 5, 5))
    psf[1, 2, 2] = 4
    psf /= psf.sum()
    image = random.poisson(fftconvolve(specimen, psf, mode="same").clip(0) + 3).astype(np.float32)
    weights = random.choice([0, 0.25, 1, 2], SHAPE)
    return image, psf, weights


def restored_by_numpy(image, psf, weights, momentum):
    """Richardson–Lucy with weights: x ← p / (Aᵀw) · Aᵀ(w y / (A p + b)), from p = x or an extrapolation of it."""

    def blur(x):
        return fftconvolve(x, psf, mode="same")

    def project(x):
        return fftconvolve(x, psf[::-1, ::-1, ::-1], mode="same")

    weights = weights / weights.max()
    normal = project(weights)
    compared = image[weights > 0].astype(float)
    newest = np.full(SHAPE, compared.mean() - 3)
    before, misfits = newest, []
    for k in range(1, ITERATIONS + 1):
        point = newest
        if momentum:
            point = np.maximum(newest + (k - 1) / (k + 2) * (newest - before), 0.1 * newest)
        model = blur(point) + 3
        ratio = image / model
        log = np.log(np.where(image > 0, ratio, 1))
        misfits.append(np.sum(weights * (model - image + image * log)))
        before, newest = newest, np.where(normal >= 0.01, point / normal.clip(1e-9) * project(weights * ratio), 0)
    return newest, misfits


@pytest.mark.parametrize("method", ["rl", "shb"])
def test_iterations_with_weights_are_those_of_numpy(recorded, method):
    image, psf, weights = recorded
    expected, misfits = restored_by_numpy(image, psf, weights, method == "shb")
    plain = {"acceleration": "none"} if method == "rl" else {}
    deconvolver = convolume.Deconvolver(SHAPE, psf, method=method, **plain, **PLAIN)
    seen = []
    result = deconvolver(image, weights=weights, callback=lambda one: seen.append(one.likelihood))
    np.testing.assert_allclose(result, expected, rtol=2e-4, atol=1e-4 * expected.max())
    np.testing.assert_allclose(seen, -np.array(misfits), rtol=1e-4)
    assert "misfit" not in deconvolver.report or deconvolver.report["misfit"] is None


@pytest.mark.parametrize(
    "options",
    [{"method": "rl"}, {"method": "rl-tv", "tv_weight": 0.01}, {"method": "wb"}, {"method": "shb", "edges": "extend"}],
)
def test_equal_weights_change_nothing_and_0_leaves_out(recorded, options):
    image, psf, weights = recorded
    deconvolver = convolume.Deconvolver(SHAPE, psf, **(PLAIN | options))
    without = deconvolver(image)
    scale = without.max()
    np.testing.assert_allclose(deconvolver(image, weights=np.full(SHAPE, 0.5)), without, rtol=1e-3, atol=1e-4 * scale)
    mask = weights > 0
    left_out = deconvolver(image, mask=mask)
    np.testing.assert_allclose(deconvolver(image, weights=mask), left_out, rtol=1e-3, atol=1e-4 * scale)
    assert deconvolver.report["missing_pixels"] == np.count_nonzero(~mask)
    assert np.abs(left_out - without).max() > 0.01 * scale
    # A mask beside weights leaves out more.
    both = deconvolver(image, weights=np.where(mask, 1, 2), mask=mask)
    np.testing.assert_allclose(both, left_out, rtol=1e-3, atol=1e-4 * scale)


def test_weights_go_with_depths_uncertainty_and_a_search(recorded):
    image, psf, weights = recorded
    expected = convolume.Deconvolver(SHAPE, psf, **PLAIN)(image, weights=weights)
    at_depths = convolume.Deconvolver(SHAPE, [psf, psf], depths=(0, 3), spacing=(1, 1, 1), **PLAIN)
    np.testing.assert_allclose(at_depths(image, weights=weights), expected, rtol=1e-3, atol=1e-4 * expected.max())
    result, deviation = convolume.Deconvolver(SHAPE, psf, uncertainty=2, gain=1, **PLAIN)(image, weights=weights)
    np.testing.assert_array_equal(result, expected)
    assert np.isfinite(deviation).all() and deviation.max() > 0
    searched = convolume.Deconvolver(SHAPE, psf, **(PLAIN | {"iterations": None}))
    assert np.isfinite(searched(image, weights=weights)).all()
    assert searched.report["coarse_iterations"] == 0 and searched.report["searched"] > 0


def test_pixels_of_little_weight_hardly_count(recorded):
    image, psf, _ = recorded
    wrong, weights = image.copy(), np.ones(SHAPE)
    wrong[:, 1::4] *= 3
    weights[:, 1::4] = 0.02
    deconvolver = convolume.Deconvolver(SHAPE, psf, **PLAIN)
    clean = deconvolver(image)
    error = np.linalg.norm(deconvolver(wrong) - clean)
    assert np.linalg.norm(deconvolver(wrong, weights=weights) - clean) < 0.5 * error


@pytest.mark.parametrize(
    ("options", "weights", "match"),
    [
        ({}, np.ones((2, 2)), "the weights have the shape"),
        ({}, np.full(SHAPE, -1.0), r"the weight of the pixel at z,y,x = 0,0,0 is -1"),
        ({}, np.full(SHAPE, np.nan), "nan"),
        ({}, np.zeros(SHAPE), "no pixel|all pixels"),
        ({"coarse_start": 5}, np.ones(SHAPE), "coarse_start"),
        ({"method": "nnls"}, np.ones(SHAPE), "weights does not apply to the method nnls"),
        ({"method": "rlgc"}, np.ones(SHAPE), "weights does not apply to the method rlgc"),
    ],
)
def test_refused_in_one_sentence(recorded, options, weights, match):
    image, psf, _ = recorded
    plain = PLAIN | options
    if plain.get("method") == "nnls":
        plain = {"iterations": 3, "device": "cpu", "method": "nnls"}
    with pytest.raises(convolume.Error, match=match):
        convolume.Deconvolver(SHAPE, psf, **plain)(image, weights=weights)
