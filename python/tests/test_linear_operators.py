# SPDX-License-Identifier: Apache-2.0
"""Tests convolvers and forward models as operators of SciPy, against dense matrices of direct sums."""

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
    np.testing.assert_allclose(found, np.linalg.pinv(dense) @ images, atol=1e-6)
