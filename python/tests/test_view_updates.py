# SPDX-License-Identifier: Apache-2.0
"""Tests updates by one view after the other against sums in double precision, and how fast they converge."""

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import convolume
from convolume import ForwardModel, View, ViewDeconvolver

pytestmark = [pytest.mark.filterwarnings("ignore:the PSF has"),
              pytest.mark.filterwarnings("ignore:neighboring pixels share"),
              pytest.mark.filterwarnings("ignore:the light of the result")]

SHAPE = (14, 11, 14)
QUARTER = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 13]])  # voxel (z, y, x) is (x, y, 13 - z) of the result
BACKGROUND = 20.0


def gaussian(shape, sigma, shift=(0, 0, 0)):
    grids = np.meshgrid(*[np.arange(n) - n // 2 - s for n, s in zip(shape, shift)], indexing="ij")
    values = np.exp(-0.5 * sum((grid / width) ** 2 for grid, width in zip(grids, sigma)))
    return values / values.sum()


# Neither has a symmetry, so that mirrored ones are seen.
PSFS = [gaussian((9, 5, 5), (1.8, 0.8, 0.9), (0.3, 0.2, -0.4)), gaussian((7, 5, 5), (1.5, 0.9, 0.7), (-0.4, 0.3, 0.2))]


class Model:
    """The images of one view, and their adjoint, in double precision."""

    def __init__(self, psf, matrix, object_shape, at):
        margins = [n // 2 for n in psf.shape]
        places = np.indices([n + 2 * m for n, m in zip(SHAPE, margins)]).reshape(3, -1) - np.array(margins)[:, None]
        there = (matrix[:, :3] @ places + matrix[:, 3:] + np.array(at)[:, None]).astype(int)
        self.inside = np.all((there >= 0) & (there < np.array(object_shape)[:, None]), axis=0)
        self.index = np.ravel_multi_index(there[:, self.inside], object_shape)
        self.wide = tuple(n + 2 * m for n, m in zip(SHAPE, margins))
        self.psf, self.object_shape = psf, object_shape

    def __call__(self, thing):
        seen = np.zeros(len(self.inside))
        seen[self.inside] = thing.ravel()[self.index]
        return scipy.signal.fftconvolve(seen.reshape(self.wide), self.psf, mode="valid")

    def adjoint(self, image, psf=None):
        whole = scipy.signal.fftconvolve(image, (self.psf if psf is None else psf)[::-1, ::-1, ::-1])
        result = np.zeros(np.prod(self.object_shape))
        np.add.at(result, self.index, whole.ravel()[self.inside])
        return result.reshape(self.object_shape)


def recordings(photons, seed=5, blur=0.0):
    rng = np.random.default_rng(seed)
    thing = np.zeros(SHAPE)
    for _ in range(25):
        thing[tuple(rng.integers(2, n - 2) for n in SHAPE)] += photons
    thing = scipy.ndimage.gaussian_filter(thing, blur)
    views = [View(PSFS[0], background=BACKGROUND, offset=0), View(PSFS[1], QUARTER, background=BACKGROUND, offset=0)]
    light = ForwardModel(views, [SHAPE, SHAPE], device="cpu")(thing)
    return thing, views, [rng.poisson(np.maximum(one, 0) + BACKGROUND) for one in light]


def deconvolver(views, **options):
    return ViewDeconvolver(views, [SHAPE] * len(views), device="cpu", no_data="off", hot_pixels="off", saturation=None,
                           **options)


@pytest.mark.parametrize("updates", ["sequential", "efficient"])
def test_first_iterations_are_those_of_sums_in_double_precision(updates):
    _, views, images = recordings(3000)
    model = ForwardModel(views, [SHAPE, SHAPE], device="cpu")
    at = [one.start for one in model.result]
    matrices = [np.eye(3, 4), QUARTER]
    models = [Model(psf, matrix, model.object_shape, at) for psf, matrix in zip(PSFS, matrices)]
    backs = list(PSFS)
    if updates == "efficient":
        # Displacement (z, y, x) in view 2 is (x, y, -z) in view 1.
        second_in_first = np.empty((5, 5, 7))
        first_in_second = np.empty((5, 5, 9))
        for z, y, x in np.ndindex(7, 5, 5):
            second_in_first[x, y, 6 - z] = PSFS[1][z, y, x]
        for z, y, x in np.ndindex(5, 5, 9):  # its voxel (z, y, x) is (x, y, -z) from the center of the first
            first_in_second[z, y, x] = PSFS[0][x, y, 4 - z]
        for k, other in enumerate((second_in_first, first_in_second)):
            blurred = scipy.signal.fftconvolve(scipy.signal.fftconvolve(PSFS[k], other), other[::-1, ::-1, ::-1])
            cut = tuple(slice((m - n) // 2, (m - n) // 2 + n) for m, n in zip(blurred.shape, PSFS[k].shape))
            backs[k] = PSFS[k] * np.maximum(blurred[cut], 0)
            backs[k] /= backs[k].sum()
    start = np.random.default_rng(2).uniform(20, 100, SHAPE)
    expected = np.full(model.object_shape, start.mean())
    expected[model.result] = start
    expected[sum(one.adjoint(np.ones(SHAPE)) for one in models) < 0.01] = 0
    for _ in range(2):
        for one, image, back in zip(models, images, backs):
            ratio = image / (one(expected) + BACKGROUND)
            weights = one.adjoint(np.ones(SHAPE), back)
            correction = np.maximum(one.adjoint(ratio, back), 0)
            expected = np.where(weights < 0.01, expected, expected * correction / np.maximum(weights, 0.01))
    result = deconvolver(views, view_updates=updates, iterations=2)(images, start=start)
    right = expected[model.result]
    np.testing.assert_allclose(result, right, rtol=0, atol=2e-4 * right.max())


def test_one_view_after_the_other_needs_fewer_iterations():
    thing, views, images = recordings(20000)
    errors, misfits = {}, {}
    for updates in ("simultaneous", "sequential", "efficient"):
        for iterations in (4, 8):
            restore = deconvolver(views, view_updates=updates, iterations=iterations, acceleration="none")
            result = restore(images)
            errors[updates, iterations] = np.linalg.norm(result - thing) / np.linalg.norm(thing)
            misfits[updates, iterations] = -restore.reports[0]["likelihood"]
    # Two views: an iteration is as far as two simultaneous ones, and an efficient one farther.
    assert errors["sequential", 4] < 1.02 * errors["simultaneous", 8]
    assert errors["sequential", 4] < 0.95 * errors["simultaneous", 4]
    assert errors["efficient", 4] < 0.98 * errors["sequential", 4]
    assert misfits["sequential", 8] < misfits["simultaneous", 8]


def test_updates_of_one_view_are_those_of_all():
    _, views, images = recordings(3000)
    alone = [deconvolver(views[:1], view_updates=updates, iterations=5, acceleration="none")(images[:1])
             for updates in ("simultaneous", "sequential", "efficient")]
    np.testing.assert_array_equal(alone[0], alone[1])
    np.testing.assert_array_equal(alone[0], alone[2])


def test_views_that_end_elsewhere():
    """A view leaves voxels that it does not see as the other one makes them."""
    thing, views, images = recordings(3000)
    mask = np.broadcast_to(np.arange(14)[:, None, None] < 5, SHAPE)
    half = [views[0], View(PSFS[1], QUARTER, background=BACKGROUND, offset=0, mask=mask)]
    for updates in ("simultaneous", "sequential"):
        result = deconvolver(half, view_updates=updates, iterations=12, acceleration="none")(images)
        assert np.linalg.norm(result - thing) < 0.95 * np.linalg.norm(thing)
        assert result[:, :, :6].sum() > 0.8 * thing[:, :, :6].sum()  # the second view sees large x alone


def test_the_number_of_iterations_is_found():
    _, views, images = recordings(3000, blur=1.5)
    found = {}
    for updates in ("simultaneous", "sequential"):
        restore = deconvolver(views, view_updates=updates, acceleration="none")
        restore(images)
        found[updates] = restore.reports[0]["iterations"]
    assert 1 <= found["sequential"] < found["simultaneous"] < 100


def test_an_iteration_that_was_stopped_leaves_nothing():
    _, views, images = recordings(3000)
    restore = deconvolver(views, view_updates="sequential", iterations=4)
    right = restore(images)

    def stop(fraction):
        if 0.1 < fraction < 0.9:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        restore(images, progress=stop)
    np.testing.assert_array_equal(restore(images), right)


def test_what_is_wrong_is_said():
    _, views, images = recordings(3000)
    with pytest.raises(convolume.InvalidArgument, match="view_updates does not apply to the method shb"):
        deconvolver(views, view_updates="sequential", method="shb")
    with pytest.raises(convolume.InvalidArgument, match="simultaneous, sequential or efficient"):
        deconvolver(views, view_updates="serial")
    field = [View([PSFS[0], PSFS[0]], positions=[(0, 2, 0), (0, 8, 0)]), views[1]]
    deconvolver(field, view_updates="sequential", iterations=1)
    with pytest.raises(convolume.InvalidArgument, match="one PSF for each view"):
        deconvolver(field, view_updates="efficient", iterations=1)


@pytest.mark.parametrize("updates", ["sequential", "efficient"])
def test_acceleration_of_one_view_after_the_other_is_refused(updates):
    views = recordings(300)[1]
    with pytest.raises(convolume.InvalidArgument, match=f"acceleration does not apply to view_updates {updates}"):
        deconvolver(views, view_updates=updates, acceleration="biggs-andrews", iterations=2)
    deconvolver(views, view_updates=updates, acceleration="none", iterations=2)
    deconvolver(views, acceleration="biggs-andrews", iterations=2)
