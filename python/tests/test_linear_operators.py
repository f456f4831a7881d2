# SPDX-License-Identifier: Apache-2.0
"""Tests linear operators of SciPy, which convolvers, banks, resamplers and models are, against dense matrices."""

import itertools
import sys

import numpy as np
import pytest
import scipy.ndimage
from scipy.sparse.linalg import LinearOperator, lsqr

import convolume


def dense_blur(shape, kernel, boundary):
    """Returns the matrix of a convolution of mode "same", by direct sums of SciPy."""
    columns = []
    for index in np.ndindex(shape):
        point = np.zeros(shape)
        point[index] = 1
        columns.append(scipy.ndimage.convolve(point, kernel, mode=boundary).ravel())
    return np.array(columns).T


def dense_bank(samples, rows, origins, first, count, step):
    """Returns the matrix of a bank, by its definition: result i is the sum of h[m] x[first + i step + c - m]."""
    matrix = np.zeros((len(rows), count, samples), np.result_type(*rows))
    for row, (taps, origin) in enumerate(zip(rows, origins)):
        for i, m in itertools.product(range(count), range(len(taps))):
            k = first + i * step + origin - m
            if 0 <= k < samples:
                matrix[row, i, k] = taps[m]
    return matrix.reshape(-1, samples)


@pytest.mark.parametrize("options, origins, first, count, step", [
    ({}, (1, 2, 0), 0, 11, 1), ({"origin": "causal"}, (0, 0, 0), 0, 11, 1), ({"mode": "full"}, (1, 2, 0), -2, 15, 1),
    ({"origin": "anticausal", "mode": "valid"}, (3, 4, 0), 0, 7, 1), ({"mode": "valid"}, (1, 2, 0), 2, 7, 1),
    ({"window": ("decimate", 3)}, (1, 2, 0), 0, 4, 3),
    ({"mode": "full", "window": ("decimate", 2)}, (1, 2, 0), -2, 8, 2),
])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_bank_is_its_dense_matrix(random, options, origins, first, count, step, dtype):
    rows = [random.standard_normal(n).astype(dtype) for n in (4, 5, 1)]
    if dtype == "complex128":
        rows = [row + 1j * random.standard_normal(len(row)) for row in rows]
    bank = convolume.FilterBank((11,), rows, dtype=dtype, device="cpu", **options)
    operator = bank.as_linear_operator()
    matrix = dense_bank(11, rows, origins, first, count, step)
    assert bank.result_shape == (3, count) and operator.shape == matrix.shape and operator.dtype == dtype
    np.testing.assert_allclose(operator @ np.eye(11), matrix, atol=1e-12)
    np.testing.assert_allclose(operator.H @ np.eye(3 * count), matrix.conj().T, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_adjoints_of_banks_of_several_signals(random, axis):
    filters = random.standard_normal((2, 3))
    for bank in (convolume.FilterBank((4, 5, 6), filters, axis=axis, dtype=float, device="cpu"),
                 convolume.FilterBank((4, 5, 6), filters[0], axis=axis, dtype=float, device="cpu")):
        operator = bank.as_linear_operator()
        x, y = random.standard_normal(120), random.standard_normal(operator.shape[0])
        np.testing.assert_allclose(bank(x.reshape(4, 5, 6)).ravel(), operator @ x, atol=1e-12)
        assert y @ (operator @ x) == pytest.approx((operator.H @ y) @ x, rel=1e-12)


def test_banks_that_are_not_linear():
    for options in ({"post": "power"}, {"window": ("peak", 2)}, {"output_dtype": "float16"}):
        with pytest.raises(convolume.InvalidArgument, match="plan it without|16 bits"):
            convolume.FilterBank((9,), [1., 2.], device="cpu", **options).as_linear_operator()
    with pytest.raises(convolume.InvalidArgument, match="dtype=complex64"):
        convolume.FilterBank((9,), np.array([1, 2j], "complex64"), device="cpu").as_linear_operator()


@pytest.mark.parametrize("up, down", [(3, 2), (2, 3), (1, 4), (5, 1), (7, 7)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_resampler_is_its_dense_matrix(random, up, down, dtype):
    taps = random.standard_normal(10).astype(dtype)
    if dtype == "complex128":
        taps += 1j * random.standard_normal(10)
    count = -(-13 * up // down)
    matrix = np.zeros((count, 13), dtype)
    for n, k in np.ndindex(matrix.shape):
        tap = n * down + 4 - k * up  # the middle one of ten taps is number 4
        if 0 <= tap < 10:
            matrix[n, k] = taps[tap]
    operator = convolume.Resampler(up, down, taps=taps, dtype=dtype).as_linear_operator(13)
    assert operator.shape == matrix.shape and operator.dtype == dtype
    np.testing.assert_allclose(operator @ np.eye(13), matrix, atol=1e-12)
    np.testing.assert_allclose(operator.H @ np.eye(count), matrix.conj().T, atol=1e-12)
    two = convolume.Resampler(up, down, taps=taps, dtype=dtype, signals=2).as_linear_operator(13)
    np.testing.assert_allclose(two @ np.eye(26), np.kron(np.eye(2), matrix), atol=1e-12)
    np.testing.assert_allclose(two.H @ np.eye(2 * count), np.kron(np.eye(2), matrix.conj().T), atol=1e-12)


def test_resamplers_that_are_no_operators():
    with pytest.raises(convolume.BadData, match="without samples"):
        convolume.Resampler(3, 2).as_linear_operator(0)
    with pytest.raises(convolume.InvalidArgument, match="complex"):
        convolume.Resampler(3, 2, taps=[1j, 2]).as_linear_operator(9)


@pytest.mark.parametrize("boundary", ["constant", "wrap", "reflect"])
def test_a_convolver_is_its_dense_matrix(random, boundary):
    shape, kernel = (5, 6), random.standard_normal((3, 4))
    matrix = dense_blur(shape, kernel, boundary)
    operator = convolume.Convolver(shape, kernel, dtype="float64", boundary=boundary, device="cpu").as_linear_operator()
    assert isinstance(operator, LinearOperator) and operator.shape == (30, 30) and operator.dtype == np.float64
    np.testing.assert_allclose(operator @ np.eye(30), matrix, atol=1e-12)
    np.testing.assert_allclose(operator.H @ np.eye(30), matrix.T, atol=1e-12)


def test_deconvolution_by_least_squares(random):
    kernel = np.array([[0.2, 0.5, 0.1], [0.4, 3.0, 0.3]])
    matrix, specimen = dense_blur((7, 6), kernel, "constant"), random.random((7, 6))
    blur = convolume.Convolver((7, 6), kernel, dtype="float64", device="cpu")
    found = lsqr(blur.as_linear_operator(), blur(specimen).ravel(), atol=1e-13, btol=1e-13)[0]
    np.testing.assert_allclose(found.reshape(7, 6), specimen, atol=1e-9)
    np.testing.assert_allclose(found, np.linalg.lstsq(matrix, blur(specimen).ravel())[0], atol=1e-9)


def test_matrices_of_several_columns_and_complex_vectors(random):
    blur = convolume.Convolver((4, 5), random.random((3, 3)), mode="full", dtype="float64", device="cpu")
    operator = blur.as_linear_operator()
    assert operator.shape == (42, 20)
    columns = random.random((20, 3)) + 1j * random.random((20, 3))
    right = operator @ columns.real + 1j * (operator @ columns.imag)
    np.testing.assert_allclose(operator @ columns, right)
    np.testing.assert_allclose(operator.matvec(columns[:, :1]).ravel(), right[:, 0])


def test_complex_convolvers_have_the_conjugate_transpose(random):
    kernel = random.random((3, 3)) + 1j * random.random((3, 3))
    operator = convolume.Convolver((4, 4), kernel, dtype="complex128", device="cpu").as_linear_operator()
    assert operator.dtype == np.complex128
    np.testing.assert_allclose(operator.H @ np.eye(16), (operator @ np.eye(16)).conj().T, atol=1e-12)


def test_operators_that_are_not_linear():
    with pytest.raises(convolume.InvalidArgument, match="with a cval adds a constant"):
        convolume.Convolver((5,), [1., 2.], boundary="constant", cval=3, device="cpu").as_linear_operator()
    with pytest.raises(convolume.InvalidArgument, match="adjoint of a correlation is not offered"):
        convolume.Convolver((5,), [1., 2.], operation="correlate", device="cpu").as_linear_operator()


def test_operators_say_that_scipy_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", None)
    with pytest.raises(convolume.Unavailable, match="needs SciPy: pip install scipy"):
        convolume.Convolver((5,), [1., 2.], device="cpu").as_linear_operator()


@pytest.mark.filterwarnings("ignore::convolume.ConvolumeWarning")
def test_a_forward_model_is_its_dense_matrix(random):
    """Two views: the first is blurred, the second is turned by a quarter around the y axis."""
    psf = random.random((1, 3, 3))
    quarter = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 3]]
    views = [convolume.View(psf), convolume.View(np.full((1, 1, 1), 2.0), quarter)]
    model = convolume.ForwardModel(views, [(4, 5, 4), (4, 5, 4)], dtype="float64", device="cpu")
    assert model.dtype == np.float64
    operator = model.as_linear_operator()
    begin = [one.start for one in model.result]
    matrix = np.zeros((2, 4, 5, 4, *model.object_shape))
    for z, y, x in itertools.product(range(4), range(5), range(4)):
        for dy, dx in itertools.product(range(-1, 2), repeat=2):
            at = (z + begin[0], y + dy + begin[1], x + dx + begin[2])
            matrix[(0, z, y, x, *at)] = psf[0, 1 - dy, 1 - dx] / psf.sum()
        matrix[1, z, y, x, x + begin[0], y + begin[1], 3 - z + begin[2]] = 1
    dense = matrix.reshape(operator.shape)
    np.testing.assert_allclose(operator @ np.eye(operator.shape[1]), dense, atol=1e-12)
    np.testing.assert_allclose(operator.T @ np.eye(operator.shape[0]), dense.T, atol=1e-12)
    thing = random.random(model.object_shape)
    images = operator @ thing.ravel()
    np.testing.assert_array_equal(images, np.concatenate([image.ravel() for image in model(thing)]))
    found = lsqr(operator, images, atol=1e-12, btol=1e-12)[0]
    np.testing.assert_allclose(found, np.linalg.pinv(dense, rcond=1e-10) @ images, atol=1e-6)
