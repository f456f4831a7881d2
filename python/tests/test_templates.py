# SPDX-License-Identifier: Apache-2.0
"""Tests normalized cross-correlation and its peaks, against direct sums in double precision and scikit-image."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import convolume

SHAPES = [((40,), (7,)), ((19, 23), (5, 6)), ((9, 11, 12), (3, 4, 5))]


def direct(image, template, mask=None):
    """Returns the definition of match_template, by sums over every window."""
    weights = np.ones(template.shape) if mask is None else np.asarray(mask, float)
    axes = tuple(range(-template.ndim, 0))

    def varied(samples):
        mean = (samples * weights).sum(axes, keepdims=True) / weights.sum()
        return (samples - mean) * weights

    windows = varied(sliding_window_view(image.astype(float), template.shape))
    taps = varied(template.astype(float))
    squares = (windows**2).sum(axes) * (taps**2).sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(squares > 0, (windows * taps).sum(axes) / np.sqrt(squares), 0)


def direct_masked(a, b, of_a, of_b, ratio):
    """Returns the definition of masked_correlation, by sums over every overlap."""
    shape = tuple(n + m - 1 for n, m in zip(a.shape, b.shape))
    result, counts = np.zeros(shape), np.zeros(shape)
    for index in np.ndindex(*shape):
        shift = [i - (m - 1) for i, m in zip(index, b.shape)]
        here = tuple(slice(max(0, s), min(n, s + m)) for s, n, m in zip(shift, a.shape, b.shape))
        there = tuple(slice(one.start - s, one.stop - s) for s, one in zip(shift, here))
        both = of_a[here] & of_b[there]
        counts[index] = both.sum()
        if counts[index] > 1:
            x, y = a[here][both] - a[here][both].mean(), b[there][both] - b[there][both].mean()
            squares = (x**2).sum() * (y**2).sum()
            result[index] = 0 if squares < 1e-20 else (x * y).sum() / np.sqrt(squares)
    result[counts < ratio * counts.max()] = 0
    return result


@pytest.mark.parametrize(("shape", "window"), SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8", "uint16", "int32", "int64", "bool", "float16"])
def test_images_of_all_types_and_dimensions(random, shape, window, dtype):
    image, template = ((random.random(one) < 0.5 if dtype == "bool" else 250 * random.random(one)).astype(dtype)
                       for one in (shape, window))
    got = convolume.match_template(image, template, device="cpu")
    assert got.dtype == (np.float32 if dtype in ("float32", "float16") else np.float64)
    np.testing.assert_allclose(got, direct(image, template), atol=1e-6 if got.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(("shape", "window"), SHAPES)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_padded_images(random, shape, window, mode):
    image, template = random.random(shape), random.random(window)
    options = {"constant_values": 0.7} if mode == "constant" else {}
    padded = np.pad(image, [(m // 2, (m - 1) // 2) for m in window], mode, **options)
    got = convolume.match_template(image, template, True, mode, 0.7, device="cpu")
    assert got.shape == shape
    np.testing.assert_allclose(got, direct(padded, template), atol=1e-12)
    if len(shape) > 1:
        feature = pytest.importorskip("skimage.feature")
        for pad in (True, False):
            want = feature.match_template(image, template, pad, mode, 0.7)
            np.testing.assert_allclose(convolume.match_template(image, template, pad, mode, 0.7, device="cpu"), want,
                                       atol=1e-10)


@pytest.mark.parametrize(("shape", "window"), SHAPES)
def test_masks_of_templates(random, shape, window):
    image, template, mask = random.random(shape), random.random(window), random.random(window) < 0.6
    template[~mask] = 1e9  # which is not compared
    want = direct(image, np.where(mask, template, 0), mask)
    np.testing.assert_allclose(convolume.match_template(image, template, mask=mask, device="cpu"), want, atol=1e-9)
    every = convolume.match_template(image, np.where(mask, template, 0), mask=np.ones(window), device="cpu")
    np.testing.assert_array_equal(every, convolume.match_template(image, np.where(mask, template, 0), device="cpu"))


@pytest.mark.parametrize("mask", [None, np.ones((6, 6)) - np.eye(6)])
def test_small_signals_on_large_offsets(random, mask):
    signal = random.standard_normal((50, 60))
    for offset, scale in ((1e6, 1), (-1e6, 1e-3), (1e12, 1e3), (1e-200, 1e-200), (0, 1e200)):
        image = offset + scale * signal
        exact = (image - offset) / scale  # without a rounding error, or with the image's own
        template = image[20:26, 30:36]
        got = convolume.match_template(image, template, mask=mask, device="cpu")
        np.testing.assert_allclose(got, direct(exact, exact[20:26, 30:36], mask), atol=1e-9)
        assert got.max() == got[20, 30] and abs(got[20, 30] - 1) < 1e-9


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mask", [None, np.ones((5, 5)) - np.eye(5)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint16])
def test_flat_regions_are_0(random, dtype, mask):
    for flat in (0, 0.1, 1e4 / 3):
        image = (random.random((60, 60)) * 1e4).astype(dtype)
        image[10:40, 15:45] = flat
        got = convolume.match_template(image, random.random((5, 5)), mask=mask, device="cpu")
        assert np.isfinite(got).all() and np.abs(got).max() <= 1
        assert (got[10:36, 15:41] == 0).all()
        assert np.count_nonzero(got) == got.size - 26 * 26
    assert (convolume.match_template(np.full((9, 9), 1 / 3, dtype), np.eye(4), device="cpu") == 0).all()
    assert (convolume.match_template(np.full((9, 9), 7, dtype), np.eye(4), True, "edge", device="cpu") == 0).all()


def test_faint_structures_beside_bright_ones(random):
    image = 1e-3 * random.standard_normal((80, 80))
    image[:, 60:] += 1e6
    template = image[20:30, 20:30].copy()
    got = convolume.match_template(image, template, device="cpu")
    np.testing.assert_allclose(got[:, :48], direct(image[:, :57], template), atol=1e-5)
    assert got.argmax() == 20 * got.shape[1] + 20


def test_windows_as_long_as_the_image_and_of_one_row(random):
    image = random.random((6, 300))
    for window in ((6, 300), (1, 300), (6, 1), (1, 255), (3, 7)):
        template = random.random(window)
        np.testing.assert_allclose(convolume.match_template(image, template, device="cpu", workers=1),
                                   direct(image, template), atol=1e-12)
    big = random.random((700, 31))  # of several blocks
    np.testing.assert_allclose(convolume.match_template(np.tile(big, (1, 12)), big[:3], device="cpu"),
                               direct(np.tile(big, (1, 12)), big[:3]), atol=1e-11)


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda m: m(np.ones((4, 5)), np.eye(6)), "template of shape .6, 6. is larger than the image"),
    (lambda m: m(np.ones((4, 5)), np.ones(3)), "image has 2 dimensions and the template 1"),
    (lambda m: m(np.ones((2, 2, 2, 2)), np.ones((1, 1, 1, 1))), "1 to 3"),
    (lambda m: m(np.array([1, np.nan, 2]), [1, 2]), "image holds nan at .1,."),
    (lambda m: m(np.ones(5), [1, np.inf]), "template holds inf at .1,."),
    (lambda m: m(np.ones(5), [2.0, 2.0]), "template has the value 2.0 everywhere"),
    (lambda m: m(np.ones(5), [1.0, 2, 2], mask=[0, 1, 1]), "template has the value 2.0 everywhere"),
    (lambda m: m(np.ones(5), [1.0, 2], mask=[0, 0]), "mask is 0 everywhere"),
    (lambda m: m(np.ones(5), [1.0, 2], mask=[1]), "mask has the shape .1,."),
    (lambda m: m(np.ones(5), [1j, 2]), "template is complex"),
    (lambda m: m(np.ones(0), [1.0, 2]), "no samples"),
    (lambda m: m(np.ones(5), [1.0, 2], True, "mean"), "mode is 'mean': give one of 'constant'"),
    (lambda m: m(np.ones(5), [1.0, 2], True, constant_values=np.nan), "constant_values is nan"),
])
def test_refusals(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(convolume.match_template)


@pytest.mark.parametrize(("shape", "window"), [((25,), (9,)), ((11, 12), (7, 5)), ((5, 6, 7), (4, 3, 5))])
@pytest.mark.parametrize("ratio", [0, 0.3, 0.8])
def test_masks_of_both_images(random, shape, window, ratio):
    a, b = random.random(shape), random.random(window)
    of_a, of_b = random.random(shape) < 0.7, random.random(window) < 0.8
    want = direct_masked(a, b, of_a, of_b, ratio)
    a[~of_a], b[~of_b] = np.nan, np.inf
    options = {"fixed_mask": of_a, "moving_mask": of_b, "overlap_ratio": ratio, "device": "cpu"}
    got = convolume.masked_correlation(a, b, **options)
    np.testing.assert_allclose(got, want, atol=1e-6)
    same = convolume.masked_correlation(a, b, "same", **options)
    cut = tuple(slice((m - 1) // 2, (m - 1) // 2 + n) for n, m in zip(shape, window))
    np.testing.assert_array_equal(same, got[cut])
    single = convolume.masked_correlation(a.astype(np.float32), b.astype(np.float32), **options)
    assert single.dtype == np.float32
    if len(shape) > 1:
        module = pytest.importorskip("skimage.registration._masked_phase_cross_correlation")
        for mode, ours in (("full", got), ("same", same)):
            of_skimage = module.cross_correlate_masked(np.where(of_a, a, 0), np.where(of_b, b, 0), of_a, of_b, mode,
                                                       tuple(range(len(shape))), ratio)
            np.testing.assert_allclose(ours, of_skimage, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_displacements_of_masked_images(random):
    scene = 1e6 + random.standard_normal((60, 80))
    fixed, moving = scene[:50, :60].copy(), scene[7:57, 12:72].copy()
    fixed[5:15, 5:15] = 1e6  # a flat region
    moving[20:30, 20:30] = np.nan
    found = convolume.masked_correlation(fixed, moving, moving_mask=np.isfinite(moving), device="cpu")
    assert np.isfinite(found).all() and np.abs(found).max() <= 1
    peak, = convolume.find_peaks(found, 0.5)
    np.testing.assert_allclose(peak["position"] - (np.array(moving.shape) - 1), (7, 12), atol=0.1)
    half = np.zeros((9, 9))
    half[:, 5:] = random.random((9, 4))
    assert (convolume.masked_correlation(half, random.random((3, 3)), overlap_ratio=0, device="cpu")[:, :5] == 0).all()


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda m: m(np.eye(3), np.ones(3)), "moving has the value 1.0 everywhere"),
    (lambda m: m(np.eye(3), np.arange(3)), "fixed has 2 dimensions and moving 1"),
    (lambda m: m(np.eye(3), np.eye(3), fixed_mask=np.zeros((3, 3))), "fixed_mask is 0 everywhere"),
    (lambda m: m(np.eye(3), np.eye(3), moving_mask=np.ones(3)), "moving_mask has the shape"),
    (lambda m: m(np.eye(3), np.eye(3), overlap_ratio=2), "overlap_ratio is 2"),
    (lambda m: m(np.eye(3), np.eye(3), "valid"), "mode is 'valid'"),
    (lambda m: m(np.eye(3) * np.nan, np.eye(3)), "fixed holds nan at .0, 0."),
    (lambda m: m(np.eye(3) * 1j, np.eye(3)), "fixed is complex"),
])
def test_refusals_of_masked_images(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(convolume.masked_correlation)


@pytest.mark.parametrize("shape", [(200,), (40, 50), (14, 15, 16)])
@pytest.mark.parametrize("distance", [1, 2, 5])
def test_peaks_are_those_of_scikit_image(random, shape, distance):
    feature = pytest.importorskip("skimage.feature")
    values = random.random(shape)
    got = convolume.find_peaks(values, 0.8, distance)
    want = feature.peak_local_max(values, distance, 0.8, exclude_border=False)
    assert {tuple(place) for place in got["position"].round()} >= {tuple(place) for place in want}
    for place, value in got:  # the definition, by each peak's neighbors
        index = tuple(int(round(one)) for one in place)
        near = values[tuple(slice(max(0, i - distance), i + distance + 1) for i in index)]
        assert value == values[index] == near.max()
    assert (np.diff(got["value"]) <= 0).all()
    assert len(convolume.find_peaks(values, 0.8, distance, 3)) == 3


def test_places_between_samples():
    z, y, x = np.ogrid[:20, :24, :28]
    center = (9.3, 0.0, 14.75)
    values = 5 - (z - center[0])**2 / 50 - (y - center[1])**2 / 40 - (x - center[2])**2 / 30
    peak, = convolume.find_peaks(values, 4.9)
    np.testing.assert_allclose(peak["position"], center, atol=1e-9)
    np.testing.assert_array_equal(convolume.find_peaks(np.uint8([1, 9, 9, 9, 2, 9]), 3, 2)["position"], [[1.5], [5]])
    assert convolume.find_peaks(np.zeros((4, 4)), 0)["position"].tolist() == [[0, 0], [0, 2], [2, 0], [2, 2]]
    assert len(convolume.find_peaks(np.zeros((4, 4)), 1)) == 0
    for bad, sentence in (((np.ones(3), 0, 0), "min_distance is 0"), ((np.ones(3), 0, 1, -1), "max_peaks -1"),
                          (([1, np.nan], 0), "array holds nan"), ((np.ones((1, 1, 1, 1)),), "found in 1 to 3")):
        with pytest.raises(ValueError, match=sentence):
            convolume.find_peaks(*bad)


def test_peaks_along_a_short_axis():
    values = np.zeros((2, 3000))
    values[1, 700], values[0, 1900] = 2, 1
    peaks = convolume.find_peaks(values, 0.5, min_distance=1000)
    assert peaks["position"].tolist() == [[1, 700], [0, 1900]]
    assert convolume.find_peaks(values, 0.5, min_distance=1200)["value"].tolist() == [2]
