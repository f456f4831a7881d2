# SPDX-License-Identifier: Apache-2.0
"""Tests of convolume.ndimage, against scipy.ndimage."""

import inspect

import numpy as np
import pytest
from drop_in_cases import COMPLEX, FLOATS, INTEGERS, assert_same, layouts, planning, random_array, seeds  # noqa: F401 (a fixture)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage as original

import convolume
from convolume import _neighborhoods
from convolume import ndimage as drop_in
from convolume._neighborhoods import boundary

NAMES = ("convolve", "correlate", "convolve1d", "correlate1d", "gaussian_filter", "gaussian_filter1d", "uniform_filter",
         "uniform_filter1d")
modes = st.sampled_from(["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant",
                         "grid-wrap"])
types = st.sampled_from((*FLOATS, *COMPLEX, *INTEGERS))
cvals = st.sampled_from([0.0, 3.0, 7.0])
shapes = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)


def compare(name, image, *arguments, **options):
    """Compares the results of both packages, relative to the largest possible sum, as terms cancel."""
    largest = np.abs(np.asarray(image, complex)).max(initial=10)
    if name.startswith(("convolve", "correlate")):
        largest *= np.abs(arguments[0]).sum()
    elif name == "gaussian_filter":  # second derivatives along 3 axes
        largest *= max(1, 1 / (np.min(arguments[0]) or 1)) ** 6
    assert_same(getattr(drop_in, name)(image, *arguments, device="cpu", workers=1, **options),
                getattr(original, name)(image, *arguments, **options), scale=largest)


def origins(data, lengths):
    return [data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in lengths]


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name):
    expected = list(inspect.signature(getattr(original, name)).parameters.values())
    found = list(inspect.signature(getattr(drop_in, name)).parameters.values())
    assert [(one.name, one.default, one.kind) for one in expected] \
        == [(one.name, one.default, one.kind) for one in found[:len(expected)]]
    assert {one.name for one in found[len(expected):]} == {"device", "workers", "max_host_mem", "max_gpu_mem"}


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from(["convolve", "correlate"]), shapes, types, modes, cvals,
       st.sampled_from(["float64", "float64", "int64", "complex128"]), layouts, seeds)
def test_weights(data, name, shape, dtype, mode, cval, weight_type, layout, seed):
    lengths = data.draw(st.tuples(*[st.integers(1, 6)] * len(shape)))
    weights = random_array(lengths, weight_type, seed + 1)
    image = random_array(shape, dtype, seed, layout)
    compare(name, image, weights, mode=mode, cval=cval, origin=origins(data, lengths))


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from(["convolve1d", "correlate1d"]), shapes, types, modes, cvals, st.integers(1, 20),
       layouts, seeds)
def test_weights_along_an_axis(data, name, shape, dtype, mode, cval, length, layout, seed):
    weights = random_array((length,), data.draw(st.sampled_from(["float64", "complex128", "int64"])), seed + 1)
    weights = data.draw(st.sampled_from([weights, weights + weights[::-1], weights - weights[::-1]]))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    compare(name, random_array(shape, dtype, seed, layout), weights, axis, mode=mode, cval=cval,
            origin=origins(data, [length])[0])


@settings(max_examples=200, deadline=None)
@given(st.data(), shapes, types, cvals, layouts, seeds)
def test_gaussians(data, shape, dtype, cval, layout, seed):
    each = [st.floats(0.2, 2.5), st.integers(0, 2) if np.dtype(dtype).kind in "fc" else st.just(0), modes]
    sigma, order, mode = (data.draw(st.tuples(*[one] * len(shape)) | one) for one in each)
    compare("gaussian_filter", random_array(shape, dtype, seed, layout), sigma, order, mode=mode, cval=cval)


@settings(max_examples=200, deadline=None)
@given(st.data(), shapes, types, cvals, layouts, seeds)
def test_means(data, shape, dtype, cval, layout, seed):
    size = data.draw(st.tuples(*[st.integers(1, 6)] * len(shape)))
    mode = data.draw(st.tuples(*[modes] * len(shape)) | modes)
    compare("uniform_filter", random_array(shape, dtype, seed, layout), size, mode=mode, cval=cval,
            origin=origins(data, size))


@settings(max_examples=60, deadline=None)
@given(st.data(), types, seeds)
def test_some_axes_of_four(data, dtype, seed):
    image = random_array((3, 5, 4, 6), dtype, seed)
    axes = tuple(data.draw(st.lists(st.integers(-4, 3), min_size=1, max_size=3, unique_by=lambda axis: axis % 4)))
    compare("gaussian_filter", image, 0.8, axes=axes)
    compare("uniform_filter", image, 3, axes=axes)
    axes = tuple(sorted(axis % 4 for axis in axes))
    compare("convolve", image, random_array((2, 3, 1)[:len(axes)], "float64", seed), axes=axes)


def test_all_of_four_axes_by_separable_filters():
    image = random_array((5, 4, 6, 3), "float64", 1)
    compare("gaussian_filter", image, [0.5, 1, 2, 0.7])
    compare("uniform_filter", image, 3)


@pytest.mark.parametrize("name, arguments", [("gaussian_filter", (2.0,)), ("gaussian_filter", (1.0, 1)),
                                             ("gaussian_filter", (7.0,)), ("uniform_filter", (7,))])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "uint16"])
def test_larger_ones(name, arguments, dtype):
    image = random_array((40, 50, 60), dtype, 1)
    if np.dtype(dtype).kind == "u":
        image[:20] = 200  # constant: sums that are near to an integer or are one
        image[20:25] = 0
    compare(name, image, *arguments)


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
@pytest.mark.parametrize("name, arguments", [("gaussian_filter", (2.0,)), ("gaussian_filter", (1.5, 1)),
                                             ("uniform_filter", (11,)), ("uniform_filter", (12,))])
def test_three_axes_at_once(random, name, arguments, mode):
    image = random.random((50, 40, 60)).astype(np.float32)
    for dtype in ("float32", "float64", "complex64"):
        compare(name, image.astype(dtype), *arguments, mode=mode)
    compare(name, image[:, :, ::-1], *arguments, mode=mode)
    if name == "gaussian_filter":  # SciPy's running means of uniform filters spread NaN
        image[3, 5, 7], image[20, 20, 20] = np.nan, np.inf
        with np.errstate(invalid="ignore"):
            got, want = (getattr(library, name)(image, *arguments, mode=mode) for library in (drop_in, original))
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("output", ["uint8", "int16", "uint32", "int64", "uint64", "bool", "float32", "float64"])
def test_output_types(output):
    image = np.array([200.5, -3.75, 0.25, 300.25, -200.0, 1 - 2.0**-20, -0.5, 7.0])  # sums of these are exact
    for name, arguments in (("correlate", ([0.0, 1.0, 0.0],)), ("correlate1d", ([1.0],)), ("uniform_filter1d", (1,))):
        expected = getattr(original, name)(image, *arguments, output=np.dtype(output))
        found = getattr(drop_in, name)(image, *arguments, output=np.dtype(output), device="cpu")
        np.testing.assert_array_equal(found, expected)


def test_output_arrays():
    image = random_array((6, 7), "float64", 1)
    for dtype in ("float64", "float32", "int16", ">f8"):
        for out in (np.empty((6, 7), dtype), np.empty((7, 6), dtype).T, np.empty((12, 14), dtype)[::2, ::2]):
            found = drop_in.gaussian_filter(image, 1, output=out, device="cpu")
            assert found is out
            np.testing.assert_allclose(out, original.gaussian_filter(image, 1, output=np.empty_like(out)), atol=1e-6)
    for call in (lambda m, x: m.gaussian_filter(x, 1.5, output=x),
                 lambda m, x: m.convolve(x, np.ones((3, 3)), output=x)):
        first, second = image.copy(), image.copy()
        call(original, first)
        call(drop_in, second)
        np.testing.assert_allclose(second, first, atol=1e-12)


def test_nan_and_infinities():
    image = random_array((20, 30), "float64", 1)
    image[7, 9] = np.nan
    for call in (lambda m: m.gaussian_filter(image, 1), lambda m: m.convolve(image, np.ones((3, 4)))):
        np.testing.assert_array_equal(np.isnan(call(drop_in)), np.isnan(call(original)))
    whole = np.nan_to_num(image)
    for cval in (np.nan, np.inf, -np.inf):
        for call in (lambda m, c: m.convolve(whole, [[1, 2], [3, -1]], mode="constant", cval=c),
                     lambda m, c: m.gaussian_filter(whole, 1, mode="constant", cval=c)):
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(call(drop_in, cval), call(original, cval), atol=1e-12)


def test_complex_cval():
    image, weights = random_array((9,), "complex128", 1), random_array((4,), "complex128", 2)
    compare("convolve", image, weights, mode="constant", cval=2 - 3j)
    with pytest.raises(convolume.InvalidArgument, match="cval is complex"):
        drop_in.convolve(np.ones(3), [1.0], mode="constant", cval=1j)


def test_published_examples():
    """Small examples of SciPy's documentation have its results."""
    image = np.array([[1, 2, 0, 0], [5, 3, 0, 4], [0, 0, 0, 7], [9, 3, 0, 0]])
    kernel = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]])
    assert drop_in.convolve(image, kernel, mode="constant", cval=0.0, device="cpu").tolist() \
        == [[11, 10, 7, 4], [10, 3, 11, 11], [15, 12, 14, 7], [12, 3, 7, 0]]
    assert drop_in.convolve(image, kernel, mode="constant", cval=1.0, device="cpu").tolist() \
        == [[13, 11, 8, 7], [11, 3, 11, 14], [16, 12, 14, 10], [15, 6, 10, 5]]
    small = np.array([[2, 0, 1], [1, 0, 0], [0, 0, 0]])
    column = np.array([[0, 1, 0]] * 5)
    assert drop_in.convolve(small, column, mode="nearest", device="cpu").tolist() == [[7, 0, 3], [5, 0, 2], [3, 0, 1]]
    line = [2, 8, 0, 4, 1, 9, 9, 0]
    assert drop_in.correlate1d(line, weights=[1, 3], device="cpu").tolist() == [8, 26, 8, 12, 7, 28, 36, 9]
    assert drop_in.convolve1d(line, weights=[1, 3], device="cpu").tolist() == [14, 24, 4, 13, 12, 36, 27, 0]
    assert drop_in.uniform_filter1d(line, size=3, device="cpu").tolist() == [4, 3, 4, 1, 4, 6, 6, 3]
    assert drop_in.gaussian_filter1d([1.0, 2.0, 3.0, 4.0, 5.0], 4, device="cpu") \
        == pytest.approx([2.91948343, 2.95023502, 3.0, 3.04976498, 3.08051657])
    assert drop_in.gaussian_filter(np.arange(50, step=2).reshape(5, 5), sigma=1, device="cpu")[3].tolist() \
        == [29, 31, 33, 34, 36]


def test_empty_inputs_scalars_and_nothing_to_do():
    for name, arguments in (("convolve", (np.ones((1, 2)),)), ("gaussian_filter", (1.0,)), ("uniform_filter", (3,))):
        compare(name, np.ones((0, 4)), *arguments)
    compare("gaussian_filter", np.array(3.0), 2.0)
    compare("gaussian_filter", np.arange(5.0), 0.0)
    compare("uniform_filter", np.arange(5), 1, output=np.float32)
    assert drop_in.convolve(np.ones(4), [0.0, 0.0], device="cpu").tolist() == [0.0] * 4
    kept = np.arange(5.0)
    assert not np.may_share_memory(drop_in.gaussian_filter(kept, 0), kept)


def test_types_that_only_we_have():
    half = random_array((8, 9), "float16", 1)
    found = drop_in.gaussian_filter(half, 1, device="cpu")
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, original.gaussian_filter(half.astype(float), 1), atol=2e-3)
    mask = np.array([0, 1, 1, 1, 0, 0], bool)
    assert drop_in.convolve(mask, [1, 1], device="cpu").tolist() == original.convolve(mask, [1, 1]).tolist()


@pytest.mark.parametrize("call, message", [
    (lambda: drop_in.convolve(np.ones(3), [1.0], mode="symmetric"), "no mode 'symmetric'"),
    (lambda: drop_in.convolve(np.ones(3), [1.0, 1.0], origin=1), "the origin 1 leaves 2 weights: it must be -1 to 0"),
    (lambda: drop_in.convolve(np.ones((3, 3)), [1.0]), r"weights.ndim \(1\) must match len\(axes\) \(2\)"),
    (lambda: drop_in.convolve(np.ones((3, 3)), [1.0], axes=2), "axis: 2 is out of range"),
    (lambda: drop_in.convolve(np.ones((2,) * 4), np.ones((2,) * 4)), "reaches along 4 axes: 1 to 3"),
    (lambda: drop_in.correlate1d(np.ones(3), []), "at least"),
    (lambda: drop_in.correlate1d(np.ones(3), [1.0], axis=1), "axis 1 exceeds the 1 dimensions"),
    (lambda: drop_in.gaussian_filter(np.ones((3, 3)), (1, 2, 3)), "sigma has 3 entries where 2 axes"),
    (lambda: drop_in.gaussian_filter(np.ones(3), 1, order=-1), "order -1"),
    (lambda: drop_in.gaussian_filter(np.ones(3), 1, radius=1.5), "radius 1.5"),
    (lambda: drop_in.gaussian_filter(np.ones(3), 1, output=np.empty(4)), r"shape \(4,\) and the input \(3,\)"),
    (lambda: drop_in.uniform_filter1d(np.ones(3), 0), "a size of 0"),
    (lambda: drop_in.uniform_filter(np.ones(3), 3, origin=2), "the origin 2 leaves"),
    (lambda: drop_in.convolve(np.ones(3, complex), [1.0], output=np.empty(3)), "results are complex"),
])
def test_errors(call, message):
    with pytest.raises(convolume.InvalidArgument, match=message):
        call()


@pytest.mark.parametrize("axes, origin", [((2, 0), (-1, 1)), ((0, 2), (1, -1)), ((-1, 1), (1, 0)),
                                          ((2, 0, 1), (1, 0, -1))])
def test_origins_come_in_the_order_of_axes(axes, origin):
    image, weights = np.arange(6.0 * 7 * 8).reshape(6, 7, 8) ** 1.5, np.arange(1.0, 16).reshape(3, 5)
    if len(axes) == 3:
        weights = np.stack([weights] * 3)
    compare("convolve", image, weights, axes=axes, origin=origin)
    compare("correlate", image, weights, axes=axes, origin=origin)


def test_errors_and_warnings_are_of_scipys_kinds():
    image = np.ones((3, 3))
    for call in (lambda of: of.convolve(image, np.ones((2, 2)), mode=["nearest", "reflect"]),
                 lambda of: of.convolve(image, np.ones((2, 2, 2))), lambda of: of.convolve1d(image, []),
                 lambda of: of.gaussian_filter(image, 1, output=np.empty(3)),
                 lambda of: of.convolve(1j * image, np.ones((2, 2)), output=np.empty((3, 3)))):
        for of in (original, drop_in):
            with pytest.raises(RuntimeError):
                call(of)
    with pytest.raises(TypeError):
        drop_in.convolve(image, [1.0], axes=[0.5])
    with pytest.warns(UserWarning, match="promoting specified output dtype to complex"):
        assert drop_in.convolve(1j * image, np.ones((2, 2)), output=np.float64).dtype == np.complex128


@pytest.mark.parametrize("mode", ["reflect", "constant", "wrap"])
def test_areas_of_one_value_in_integers(mode):
    """In areas of one value, all sums are near an integer."""
    image = np.full((30, 60, 50), 100, np.uint8)
    image[8:20, 10:50, 20:30], image[22:, 40:, :25] = 37, 255
    compare("gaussian_filter", image, 1.0, mode=mode, cval=100)
    compare("convolve", image, np.random.default_rng(1).dirichlet(np.ones(24)).reshape(3, 4, 2), mode=mode, cval=9)


@settings(max_examples=100, deadline=None)
@given(st.data(), shapes, modes, seeds)
def test_where_windows_are_constant(data, shape, mode, seed):
    """Constant neighborhoods are those whose smallest and largest sample are equal."""
    lengths = data.draw(st.tuples(*[st.integers(1, 4)] * len(shape)))
    image = (np.random.default_rng(seed).random(shape) < 0.9).astype(float)
    shift = origins(data, lengths)
    center = [k - 1 - k // 2 - o for k, o in zip(lengths, shift)]
    one = _neighborhoods.Filter(np.ones(lengths), center, boundary(mode), 0.0, 1)
    found = _neighborhoods._constant_around(image, one, _neighborhoods._SumsInOrder(image, one, "box")._sources)
    least = original.minimum_filter(image, size=lengths, mode=mode, cval=-5, origin=shift)
    most = original.maximum_filter(image, size=lengths, mode=mode, cval=5, origin=shift)  # constant windows lie inside
    np.testing.assert_array_equal(found, least == most)
