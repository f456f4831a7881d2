# SPDX-License-Identifier: Apache-2.0
"""Tests of the uncertainty of results, against the spread of many independent recordings."""

import numpy as np
import pytest
import scipy.ndimage

import convolume

GAIN, OFFSET, BACKGROUND = 0.5, 100.0, 4.0  # photons for each unit, value without light, photons behind the specimen
SHAPE = (16, 48, 48)


def microscope():
    """Returns the photons that are expected at each pixel of a known specimen, and the PSF."""
    random = np.random.default_rng(2)
    axis = np.exp(-np.linspace(-2, 2, 9) ** 2)
    psf = axis[:, None, None] * axis[:, None] * axis
    psf /= psf.sum()
    specimen = np.zeros(SHAPE)
    for _ in range(14):
        z, y, x = (random.uniform(2, n - 2) for n in SHAPE)
        grid = np.ogrid[:SHAPE[0], :SHAPE[1], :SHAPE[2]]
        radius = np.sqrt((grid[0] - z) ** 2 + (grid[1] - y) ** 2 + (grid[2] - x) ** 2)
        specimen += random.uniform(40, 200) / (1 + np.exp(3 * (radius - random.uniform(2, 6))))
    return scipy.ndimage.convolve(specimen, psf, mode="constant") + BACKGROUND, psf


def recording(photons, seed):
    return (np.random.default_rng(seed).poisson(photons) / GAIN + OFFSET).astype(np.float32)


def deconvolver(psf, **options):
    gain = GAIN if options.get("uncertainty") else None  # nothing else uses it
    known = {"gain": gain, "offset": OFFSET, "background": OFFSET + BACKGROUND / GAIN, "device": "cpu", "workers": 1}
    return convolume.Deconvolver(SHAPE, psf, **{"iterations": 12, "edges": "zero", **known, **options})


@pytest.mark.parametrize("options", [{}, {"method": "shb"}, {"method": "rl-tv", "tv_weight": 0.01},
                                     {"method": "wiener", "balance": 0.05}],
                         ids=lambda options: options.get("method", "rl"))
def test_the_estimate_is_the_spread_of_many_recordings(options):
    photons, psf = microscope()
    restore = deconvolver(psf, **options)
    spread = np.std([restore(recording(photons, 100 + seed)) for seed in range(40)], axis=0, ddof=1)
    result, estimate = deconvolver(psf, uncertainty=True, **options)(recording(photons, 7))
    np.testing.assert_array_equal(result, restore(recording(photons, 7)))
    bright = photons > np.quantile(photons, 0.8)
    ratio = estimate[bright] / spread[bright]
    assert estimate.dtype == np.float32 and estimate.shape == SHAPE
    # A wrong factor of the halves' noise would make it 1.41 or 0.71.
    assert 0.87 < np.median(ratio) < 1.13
    assert 0.87 < np.sqrt(np.mean(estimate[bright] ** 2) / np.mean(spread[bright] ** 2)) < 1.13


def test_calls_return_two_arrays_of_each_image():
    photons, psf = microscope()
    image = np.stack([recording(photons, seed) for seed in (1, 2)])
    two = deconvolver(psf, iterations=2, uncertainty=2)
    result, estimate = two(image)
    for number in range(2):
        one = two(image[number])
        np.testing.assert_array_equal(result[number], one[0])
        np.testing.assert_allclose(estimate[number], one[1], rtol=1e-3)
    out = np.empty(image.shape, np.uint16)
    assert two(image, out=out)[0] is out
    assert not np.allclose(deconvolver(psf, iterations=2, uncertainty=2, seed=5)(image)[1], estimate, rtol=0.05)
    numbers = []
    two(image, callback=lambda done: numbers.append(done.number))
    assert numbers == [1, 2, 1, 2]  # none of the halves


def test_functions_return_two_arrays():
    photons, psf = microscope()
    image = recording(photons, 1)
    for function, options in ((convolume.richardson_lucy, {"iterations": 2}), (convolume.wiener, {"balance": 0.05})):
        result, estimate = function(image, psf, background=104.0, uncertainty=3, device="cpu", **options)
        np.testing.assert_array_equal(function(image, psf, background=104.0, device="cpu", **options), result)
        assert estimate.shape == image.shape
        assert 0 < np.median(estimate) < image.max()


def test_what_has_no_uncertainty_is_refused():
    photons, psf = microscope()
    image = recording(photons, 1)
    with pytest.raises(convolume.InvalidArgument, match="from 2 to 64"):
        deconvolver(psf, uncertainty=100)
    with pytest.raises(convolume.InvalidArgument, match="iterations=3"):
        deconvolver(psf, uncertainty=2)(image, callback=lambda done: done.number == 3)
    with pytest.raises(convolume.InvalidArgument, match="other memory"):
        deconvolver(psf, uncertainty=2)(image, out=image)
    flat = convolume.Deconvolver(SHAPE, psf, iterations=2, background=0, uncertainty=2, device="cpu")
    with pytest.warns(convolume.ConvolumeWarning, match="give gain"):
        flat(np.full(SHAPE, 7, np.float32))


def test_a_seed_is_for_the_uncertainty():
    with pytest.raises(convolume.InvalidArgument, match="seed is that of the uncertainty"):
        convolume.Deconvolver((8, 8), np.ones((3, 3)), seed=3, device="cpu")
