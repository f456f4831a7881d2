# SPDX-License-Identifier: Apache-2.0
"""Tests of convolume.restoration, against skimage.restoration."""

import inspect

import numpy as np
import pytest
from drop_in_cases import assert_same, random_array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage import restoration as original

import convolume
from convolume import restoration as drop_in

types = st.sampled_from(["float64", "float32", "float16", ">f4", "uint8", "int32"])


def observed(shape, dtype, seed):
    """Makes an array of positive numbers, as the iteration divides by them."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.1, 1, shape)
    return (values * 100 if np.dtype(dtype).kind in "iu" else values).astype(dtype)


def psf_of(shape, seed):
    values = np.random.default_rng(seed).uniform(0.01, 1, shape)
    return values / values.sum()


@pytest.mark.parametrize("name", ["richardson_lucy", "wiener"])
def test_parameters(name):
    expected = list(inspect.signature(getattr(original, name)).parameters.values())
    found = list(inspect.signature(getattr(drop_in, name)).parameters.values())
    assert [(one.name, one.default) for one in expected] == [(one.name, one.default) for one in found[:len(expected)]]
    assert {one.name for one in found[len(expected):]} == {"device", "workers", "max_host_mem", "max_gpu_mem"}


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 9)), min_size=1, max_size=3), types, st.integers(0, 8),
       st.booleans(), st.sampled_from([None, 0.0, 0.3, 40.0]), seeds)
def test_richardson_lucy(extents, dtype, iterations, clip, epsilon, seed):
    shape, kernel = zip(*extents)
    arguments = observed(shape, dtype, seed), psf_of(kernel, seed), iterations, clip, epsilon
    expected = original.richardson_lucy(*arguments)
    assert_same(drop_in.richardson_lucy(*arguments, device="cpu", workers=1), expected,
                tolerance=1e-5 if expected.dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-10)])
def test_richardson_lucy_of_many_samples(dtype, tolerance):
    image, psf = observed((30, 60, 50), dtype, 1), psf_of((9, 20, 15), 2)
    expected = original.richardson_lucy(image, psf, num_iter=10, clip=False)
    found = drop_in.richardson_lucy(image, psf, num_iter=10, clip=False, device="cpu")
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * expected.max())


def test_defaults_of_richardson_lucy():
    image = 200 * observed((20, 21), "float64", 1)
    found = drop_in.richardson_lucy(image, psf_of((3, 4), 2), device="cpu")
    assert found.max() == 1
    assert_same(found, original.richardson_lucy(image, psf_of((3, 4), 2)), tolerance=1e-9)
    assert drop_in.richardson_lucy(image, psf_of((3, 3), 2), 0).tolist() == np.full(image.shape, 0.5).tolist()


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(3, 12), st.integers(1, 3)), min_size=1, max_size=4), types,
       st.sampled_from([0.01, 1.0, 30]), st.booleans(), st.booleans(), st.booleans(), seeds)
def test_wiener(extents, dtype, balance, own_regularization, is_real, clip, seed):
    shape, kernel = zip(*extents)
    reg = psf_of([min(n, 2) for n in shape], seed) if own_regularization else None
    arguments = observed(shape, dtype, seed), psf_of(kernel, seed), balance, reg, is_real, clip
    assert_same(drop_in.wiener(*arguments, device="cpu", workers=1), original.wiener(*arguments), tolerance=None)


def test_wiener_with_transfer_functions():
    image = observed((16, 15), "float64", 1)
    response = np.fft.rfftn(psf_of((3, 3), 2), image.shape, (0, 1)).real + 2
    penalty = np.fft.rfftn(psf_of((5, 3), 3), image.shape, (0, 1))
    assert_same(drop_in.wiener(image, response, 0.1, penalty), original.wiener(image, response, 0.1, penalty))


def test_an_object_is_restored():
    truth = np.zeros((24, 40, 40))
    truth[12, 20, 10:30], truth[6:18, 10, 12] = 0.8, 0.6
    distance = np.add.outer(np.add.outer(np.arange(-3, 4) ** 2 / 2, np.arange(-4, 5) ** 2), np.arange(-4, 5) ** 2)
    psf = np.exp(-distance / 4) / np.exp(-distance / 4).sum()
    blurred = convolume.convolve(truth, psf, device="cpu")

    def error(estimate):
        return np.linalg.norm(estimate - truth)

    assert error(drop_in.richardson_lucy(blurred, psf, 30)) < 0.6 * error(blurred)
    assert error(drop_in.wiener(blurred, psf, 1e-8)) < 0.6 * error(blurred)


def test_inputs_are_left_alone():
    image, psf = observed((9, 9), "float64", 1), psf_of((3, 3), 1)
    copies = image.copy(), psf.copy()
    drop_in.richardson_lucy(image, psf, 2)
    drop_in.wiener(image, psf, 0.1)
    np.testing.assert_array_equal(image, copies[0])
    np.testing.assert_array_equal(psf, copies[1])


def test_empty_images():
    assert drop_in.richardson_lucy(np.ones((0, 3)), np.ones((1, 1))).shape == (0, 3)


@pytest.mark.parametrize("call, error, message", [
    (lambda: drop_in.richardson_lucy(np.ones((3, 3)), np.ones(3)), convolume.InvalidArgument, "and the PSF 1"),
    (lambda: drop_in.richardson_lucy(np.ones((2,) * 4), np.ones((2,) * 4)), convolume.InvalidArgument, "1 to 3"),
    (lambda: drop_in.richardson_lucy(np.ones(3, complex), np.ones(3)), convolume.InvalidArgument, "complex"),
    (lambda: drop_in.richardson_lucy(np.ones(3), np.zeros(3)), convolume.BadData, "PSF is zero everywhere"),
    (lambda: drop_in.wiener(np.ones((3, 3)), np.ones((5, 5)), 1), convolume.InvalidArgument, "does not fit"),
    (lambda: drop_in.wiener(np.ones((0, 3)), np.ones((3, 3)), 1), convolume.InvalidArgument, "has no pixels"),
    (lambda: drop_in.wiener(np.ones(3, complex), np.ones(3), 1), convolume.InvalidArgument, "complex"),
    (lambda: drop_in.wiener(np.ones((3, 3)), np.ones((3, 3)), 1, device="gpu"), convolume.Unavailable,
     "where its image is"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_transfer_functions_that_do_not_fit():
    with pytest.raises(convolume.InvalidArgument, match="all must be equal"):
        drop_in.wiener(np.ones((8, 8)), np.ones((3, 3)), 1, random_array((8, 8), "complex128", 1))
