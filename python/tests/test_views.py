# SPDX-License-Identifier: Apache-2.0
"""Tests the forward model of several views against SciPy, and their deconvolution."""

import warnings

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import convolume
from convolume import ForwardModel, View, ViewDeconvolver, voxel_transform

pytestmark = [pytest.mark.filterwarnings("ignore:the PSF has"),
              pytest.mark.filterwarnings("ignore:neighboring pixels share")]


def gaussian(shape, sigma):
    grids = np.meshgrid(*[np.arange(extent) - extent // 2 for extent in shape], indexing="ij")
    values = np.exp(-0.5 * sum((grid / width) ** 2 for grid, width in zip(grids, sigma)))
    return values / values.sum()


def turned(degrees, shape):
    """Returns a turn around the y axis through the middle of a result of this shape."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    matrix = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    middle = (np.array(shape) - 1) / 2
    return np.column_stack([matrix, middle - matrix @ middle])


def specimen(shape, seed=1, count=50):
    random = np.random.default_rng(seed)
    thing = np.zeros(shape)
    for _ in range(count):
        thing[tuple(random.integers(3, extent - 3) for extent in shape)] += 3000
    return scipy.ndimage.gaussian_filter(thing, 0.7)


PSF = gaussian((13, 7, 7), (2.5, 1, 1))
SHAPE = (24, 20, 28)


@pytest.mark.parametrize("degrees", [0, 35, 90])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_images_are_those_of_scipy(degrees, dtype):
    transform = turned(degrees, SHAPE)
    model = ForwardModel([View(PSF, transform)], [SHAPE], dtype=dtype, device="cpu")
    thing = np.random.default_rng(3).random(model.object_shape)
    # The view with margins as wide as half of the PSF: each voxel is looked up in the object.
    margins = [extent // 2 for extent in PSF.shape]
    at = np.array([one.start for one in model.result])
    matrix, offset = transform[:, :3], transform[:, 3] + at - transform[:, :3] @ margins
    wide = scipy.ndimage.affine_transform(np.pad(thing, 2), matrix, offset + 2, order=1, mode="constant",
                                          output_shape=[n + 2 * m for n, m in zip(SHAPE, margins)])
    right = scipy.signal.fftconvolve(wide, PSF, mode="valid")
    image, = model(thing)
    assert image.dtype == dtype
    np.testing.assert_allclose(image, right, rtol=0, atol=(1e-5 if dtype == "float32" else 1e-12) * right.max())


def test_the_adjoint():
    random = np.random.default_rng(4)
    views = [View(PSF), View(PSF, turned(60, SHAPE), mask=random.random((20, 20, 20))),
             View([PSF, gaussian((9, 9, 9), (2, 2, 2))], positions=[(0, 0, 5), (0, 0, 20)])]
    shapes = [SHAPE, (20, 20, 20), SHAPE]
    model = ForwardModel(views, shapes, dtype="float64", device="cpu")
    thing, images = random.random(model.object_shape), [random.random(shape) for shape in shapes]
    forward = sum(float((a * b).sum()) for a, b in zip(model(thing), images))
    back = float((thing * model.adjoint(images)).sum())
    assert forward == pytest.approx(back, rel=1e-12)


def test_an_object_of_the_results_shape_has_nothing_around_it():
    model = ForwardModel([View(PSF)], [SHAPE], device="cpu")
    thing = specimen(SHAPE)
    whole = np.zeros(model.object_shape)
    whole[model.result] = thing
    assert np.array_equal(model(thing)[0], model(whole)[0])


def test_two_dimensions():
    psf = gaussian((7, 9), (1, 2))
    quarter = [[0, 1, 0], [-1, 0, 29]]
    thing = specimen((30, 30), count=30)
    views = [View(psf, background=5), View(psf, quarter, background=5)]
    images = ForwardModel(views, [thing.shape] * 2, device="cpu")(thing)
    # What is along x in the object is along y in the second view.
    seen = scipy.signal.fftconvolve(np.rot90(thing, 1), psf, mode="same")
    np.testing.assert_allclose(images[1], seen, atol=1e-3 * seen.max())
    both = ViewDeconvolver(views, [thing.shape] * 2, iterations=50, device="cpu")([one + 5 for one in images])
    alone = ViewDeconvolver(views[:1], [thing.shape], iterations=50, device="cpu")([images[0] + 5])
    assert np.linalg.norm(both - thing) < 0.7 * np.linalg.norm(alone - thing)


def recordings(views, thing, backgrounds, seed=5):
    random = np.random.default_rng(seed)
    images = ForwardModel(views, [thing.shape] * len(views), device="cpu")(thing)
    return [random.poisson(np.maximum(image, 0) + background).astype(np.uint16)
            for image, background in zip(images, backgrounds)]


def test_two_views_restore_better_than_either():
    thing = specimen(SHAPE)
    views = [View(PSF), View(PSF, turned(90, SHAPE))]
    images = recordings(views, thing, (100, 40))

    def error(chosen):
        some = [views[v] for v in chosen]
        restore = ViewDeconvolver(some, [SHAPE] * len(some), device="cpu")
        result = restore([images[v] for v in chosen])
        assert len(restore.reports) == len(some)
        for report, v in zip(restore.reports, chosen):
            assert report["background"] == pytest.approx((100, 40)[v], abs=5)
        return np.linalg.norm(result - thing) / np.linalg.norm(thing)

    assert error([0, 1]) < 0.85 * min(error([0]), error([1]))


def test_missing_pixels_of_a_view_are_left_out():
    thing = specimen(SHAPE)
    views = [View(PSF, background=20), View(PSF, turned(90, SHAPE), background=20)]
    images = [one.astype(np.float32) for one in recordings(views, thing, (20, 20))]
    restore = ViewDeconvolver(views, [SHAPE] * 2, iterations=15, nan="missing", device="cpu")
    right = restore(images)
    images[1][5:8] = np.nan
    found = restore(images)
    assert restore.reports[0]["left_out"] == [] and len(restore.reports[1]["left_out"]) == 1
    assert np.linalg.norm(found - right) < 0.25 * np.linalg.norm(right)
    masks = np.ones(SHAPE)
    masks[5:8] = 0
    images[1][5:8] = 0
    views[1] = View(PSF, turned(90, SHAPE), background=20, mask=masks)
    masked = ViewDeconvolver(views, [SHAPE] * 2, iterations=15, no_data="off", device="cpu")(images)
    np.testing.assert_allclose(masked, found, rtol=0.02, atol=0.02 * right.max())


def test_views_of_different_exposure():
    thing = specimen(SHAPE)
    views = [View(PSF, background=10), View(PSF, turned(90, SHAPE), background=10, light=0.25)]
    images = ForwardModel(views, [SHAPE] * 2, device="cpu")(thing)
    recorded = [images[0] + 10, 0.25 * images[1] + 10]
    result = ViewDeconvolver(views, [SHAPE] * 2, iterations=30, device="cpu")(recorded)
    assert result.sum() == pytest.approx(thing.sum(), rel=0.02)


def test_a_psf_that_varies_over_the_field():
    narrow, wide = gaussian((9, 9, 9), (1, 1, 1)), gaussian((9, 9, 9), (1.5, 1.5, 1.5))
    view = View([narrow, wide], positions=[(0, 0, 4), (0, 0, 23)], background=10)
    thing = specimen(SHAPE)
    image = ForwardModel([view], [SHAPE], device="cpu")(thing)[0] + 10

    def error(chosen):
        result = ViewDeconvolver([chosen], [SHAPE], iterations=40, device="cpu")([image])
        return np.linalg.norm(result - thing) / np.linalg.norm(thing)
    assert error(view) < 0.7 * min(error(View(narrow, background=10)), error(View(wide, background=10)))


def test_a_callback_ends_the_work():
    thing = specimen(SHAPE)
    views = [View(PSF, background=0)]
    images = ForwardModel(views, [SHAPE], device="cpu")(thing)
    seen = []

    def stop(iteration):
        seen.append(iteration.estimate)
        return iteration.number == 3

    restore = ViewDeconvolver(views, [SHAPE], iterations=10, device="cpu")
    result = restore(images, callback=stop)
    assert len(seen) == 3 and np.array_equal(result, seen[-1])
    assert restore.reports[0]["iterations"] == 3


def test_transforms_in_micrometers():
    transform = voxel_transform([[0, 0, 1, 1], [0, 1, 0, 2], [-1, 0, 0, 3]], spacing=(0.5, 0.1, 0.1),
                                to_spacing=(0.2, 0.2, 0.2))
    np.testing.assert_allclose(transform @ [2, 3, 4, 1], [7, 11.5, 10])


@pytest.mark.parametrize("call, sentence", [
    (lambda: ForwardModel([], []), "at least one"),
    (lambda: ForwardModel([View(PSF)], [SHAPE, SHAPE]), "2 shapes and 1 views"),
    (lambda: ForwardModel([PSF], [SHAPE]), "give convolume.View"),
    (lambda: ForwardModel([View(PSF[0])], [SHAPE]), "2 dimensions and its image 3"),
    (lambda: ForwardModel([View(PSF, np.eye(3))], [SHAPE]), "give 3 rows and 4 columns"),
    (lambda: ForwardModel([View(PSF, np.ones((4, 4)))], [SHAPE]), "last row"),
    (lambda: ForwardModel([View(PSF, np.zeros((3, 4)))], [SHAPE]), "no inverse"),
    (lambda: ForwardModel([View(PSF, "t.txt")], [SHAPE]), "matrix of numbers"),
    (lambda: ForwardModel([View([PSF, PSF], positions=[(0, 0, 0)])], [SHAPE]), "2 PSFs and 1 positions"),
    (lambda: ForwardModel([View([PSF, PSF], positions=[(0, 0, 0), (0, 0, 0)])], [SHAPE]), "grid of 1 places"),
    (lambda: ForwardModel([View(PSF, mask=np.ones(3))], [SHAPE]), "mask of a view has the shape"),
    (lambda: ForwardModel([View(PSF)], [SHAPE], dtype="int16"), "float32 or float64"),
    (lambda: ForwardModel([View(PSF)], [SHAPE], device="cpu")(np.ones((3, 3, 3))), "where (36, 26, 34) was planned"),
    (lambda: ForwardModel([View(PSF)], [SHAPE], device="cpu").adjoint([]), "0 images where 1 views"),
    (lambda: ViewDeconvolver([View(PSF)], [SHAPE], method="nnls"), "choose rl"),
    (lambda: ViewDeconvolver([View([], positions=[])], [SHAPE]), "has no PSF"),
    (lambda: ViewDeconvolver([View(PSF)], [SHAPE], shape=(3, 0, 3)), "extent of the result along y is 0"),
    (lambda: ViewDeconvolver([View(PSF, light=0)], [SHAPE]), "above 0"),
    (lambda: ViewDeconvolver([View(PSF, border=-1)], [SHAPE]), "number from 0"),
    (lambda: ViewDeconvolver([View(PSF)], [SHAPE], tv_weight=0.1), "tv"),
    (lambda: ViewDeconvolver([View(PSF)], [SHAPE], device="cpu")([np.ones((2, 2, 2))]), "view 1 has the shape"),
    (lambda: ViewDeconvolver([View(PSF)], [SHAPE], device="cpu", max_host_mem=1000), "of host memory instead"),
])
def test_what_is_wrong_is_said(call, sentence):
    with warnings.catch_warnings(), pytest.raises(convolume.Error) as caught:
        warnings.simplefilter("ignore")
        call()
    assert sentence in str(caught.value)
