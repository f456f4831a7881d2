# SPDX-License-Identifier: Apache-2.0
"""Tests the uncertainty of an object from several views, against the spread of many independent recordings."""

import numpy as np
import pytest
import scipy.ndimage

import convolume
from convolume import View, ViewDeconvolver

SHAPE = (22, 20, 22)
GAINS = (0.5, 0.25)  # photons for each unit of the views' images
OFFSET, BACKGROUND = 100.0, 4.0  # value without light, photons behind the specimen
QUARTER = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 21]])  # voxel (z, y, x) is (x, y, 21 - z) of the result


def gaussian(shape, sigma):
    grids = np.meshgrid(*[np.arange(n) - n // 2 for n in shape], indexing="ij")
    values = np.exp(-0.5 * sum((grid / width) ** 2 for grid, width in zip(grids, sigma)))
    return values / values.sum()


PSF = gaussian((9, 5, 5), (1.8, 0.9, 0.9))


def expected_photons():
    """Returns the photons that are expected at each pixel of two views of a known specimen."""
    random = np.random.default_rng(2)
    specimen = np.zeros(SHAPE)
    grid = np.ogrid[:SHAPE[0], :SHAPE[1], :SHAPE[2]]
    for _ in range(6):
        radius = np.sqrt(sum((one - random.uniform(6, n - 6)) ** 2 for one, n in zip(grid, SHAPE)))
        specimen += random.uniform(60, 200) / (1 + np.exp(3 * (radius - random.uniform(2, 4))))
    z, y, x = np.indices(SHAPE)
    turned = specimen[x, y, 21 - z]
    return [scipy.ndimage.convolve(one, PSF, mode="constant") + BACKGROUND for one in (specimen, turned)]


def recordings(photons, seed):
    random = np.random.default_rng(seed)
    return [(random.poisson(one) / gain + OFFSET).astype(np.float32) for one, gain in zip(photons, GAINS)]


def deconvolver(count=2, **options):
    known = {"iterations": 12, "edges": "zero", "device": "cpu", "workers": 1, "no_data": "off", "hot_pixels": "off",
             "saturation": None}
    views = [View(PSF, transform, background=OFFSET + BACKGROUND / gain, offset=OFFSET, gain=gain)
             for transform, gain in zip((None, QUARTER), GAINS)]
    return ViewDeconvolver(views[:count], [SHAPE] * count, **{**known, **options})


@pytest.mark.parametrize("options", [{}, {"method": "shb"}, {"method": "rl-tv", "tv_weight": 0.01},
                                     {"view_updates": "sequential", "iterations": 6}],
                         ids=lambda options: options.get("view_updates", options.get("method", "rl")))
def test_the_estimate_is_the_spread_of_many_recordings(options):
    photons = expected_photons()
    restore = deconvolver(**options)
    spread = np.std([restore(recordings(photons, 100 + seed)) for seed in range(40)], axis=0, ddof=1)
    result, estimate = deconvolver(uncertainty=True, **options)(recordings(photons, 7))
    np.testing.assert_array_equal(result, restore(recordings(photons, 7)))
    bright = photons[0] > np.quantile(photons[0], 0.8)
    ratio = estimate[bright] / spread[bright]
    assert estimate.dtype == np.float32 and estimate.shape == SHAPE
    # Halves of one view alone would make it 0.7 or less, a wrong factor of the noise 1.41 or 0.71.
    assert 0.87 < np.median(ratio) < 1.13
    assert 0.87 < np.sqrt(np.mean(estimate[bright] ** 2) / np.mean(spread[bright] ** 2)) < 1.13


@pytest.mark.parametrize("saturates", [False, True])
def test_one_view_has_the_uncertainty_of_a_single_image(saturates):
    image = recordings(expected_photons(), 3)[0]
    saturation = float(np.quantile(image, 0.98)) if saturates else None
    image[4, 5:9, 6] = 0  # no data
    options = {"iterations": 8, "saturation": saturation, "uncertainty": 3, "seed": 5, "no_data": 0.0}
    alone = convolume.Deconvolver(SHAPE, PSF, edges="zero", device="cpu", hot_pixels="off", gain=GAINS[0],
                                  offset=OFFSET, background=OFFSET + BACKGROUND / GAINS[0], **options)
    right, right_deviation = alone(image)
    restore = deconvolver(1, **options)
    result, deviation = restore([image])
    np.testing.assert_allclose(result, right, atol=1e-4 * right.max())
    np.testing.assert_allclose(deviation, right_deviation, atol=1e-3 * right_deviation.max())
    assert restore.reports[0]["left_out"] == alone.report["left_out"] != []


def test_halves_have_the_levels_and_iterations_of_the_result():
    """Levels that are estimated, and iterations that are searched for, are found once."""
    images = recordings(expected_photons(), 4)
    views = [View(PSF), View(PSF, QUARTER)]
    plain = {"edges": "zero", "device": "cpu", "no_data": "off", "hot_pixels": "off", "saturation": None}
    restore = ViewDeconvolver(views, [SHAPE] * 2, uncertainty=2, **plain)
    numbers = []
    result, deviation = restore(images, callback=lambda done: numbers.append((done.searching, done.number)))
    found = restore.reports
    given = [View(PSF, transform, **{name: report[name] for name in ("background", "offset", "gain")})
             for transform, report in zip((None, QUARTER), found)]
    iterations = found[0]["iterations"]
    assert numbers[-1] == (False, iterations)  # none of the halves
    again = ViewDeconvolver(given, [SHAPE] * 2, uncertainty=2, iterations=iterations, **plain)(images)
    np.testing.assert_allclose(again[0], result, atol=1e-4 * result.max())
    np.testing.assert_allclose(again[1], deviation, atol=1e-3 * deviation.max())
    assert "of 2 views, transforms of at most " in restore.plan and "0×0×0" not in restore.plan
    assert "4 further runs" in restore.plan


def test_what_has_no_uncertainty_is_refused():
    images = recordings(expected_photons(), 1)
    with pytest.raises(convolume.InvalidArgument, match="from 2 to 64"):
        deconvolver(uncertainty=100)
    with pytest.raises(convolume.InvalidArgument, match="iterations=3"):
        deconvolver(uncertainty=2)(images, callback=lambda done: done.number == 3)
    with pytest.raises(convolume.InvalidArgument, match="other memory"):
        deconvolver(uncertainty=2)(images, out=images[1])
    with pytest.raises(convolume.InvalidArgument, match="seed is that of the uncertainty"):
        deconvolver(seed=3)
