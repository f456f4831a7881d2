# SPDX-License-Identifier: Apache-2.0
"""Tests of mathematical properties of convolution with random problems. They need no oracle, and failures shrink to a
small problem."""

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import convolume

BOUNDARIES = ["zero", "constant", "nearest", "reflect", "mirror", "wrap"]
LINEAR = [boundary for boundary in BOUNDARIES if boundary != "constant"]  # with the value 0, "constant" equals "zero"
METHODS = ["auto", "in-core", "direct", "dif", "tiled"]


@st.composite
def problems(draw, boundaries=BOUNDARIES, modes=("same", "full", "valid"), methods=METHODS):
    """Draws arguments of a Convolver, and a generator of random numbers."""
    shape = [draw(st.integers(1, 14)) for _ in range(3)]
    mode = draw(st.sampled_from(modes))
    longest = shape if mode == "valid" else [16] * 3
    kernel_shape = [draw(st.integers(1, n)) for n in longest]
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    precision = draw(st.sampled_from(["float32", "float64"]))
    is_complex = draw(st.booleans())
    kernel = samples(random, kernel_shape, is_complex)
    if draw(st.booleans()):  # kernels of rank 1, which direct sums compute axis by axis
        kernel = np.ones(())
        for axis, length in enumerate(kernel_shape):
            line = samples(random, [length], is_complex) + 2
            kernel = kernel * line.reshape([-1 if a == axis else 1 for a in range(3)])
    method = draw(st.sampled_from(methods))
    arguments = {"mode": mode, "boundary": draw(st.sampled_from(boundaries)), "precision": precision,
                 "origin": [draw(st.integers(0, k - 1)) for k in kernel_shape], "device": "cpu",
                 "dtype": "complex128" if is_complex else "float64", "method": method}
    return shape, kernel, arguments, random


def samples(random, shape, is_complex):
    values = random.uniform(0.1, 1, shape)
    return values + 1j * random.uniform(-1, 1, shape) if is_complex else values


def planned(shape, kernel, arguments):
    try:
        return convolume.Convolver(shape, kernel, **arguments)
    except convolume.InvalidArgument as error:  # some problems allow no parts or tiles
        note(str(error))
        return None


def planned_or_automatic(shape, kernel, arguments):
    return planned(shape, kernel, arguments) or convolume.Convolver(shape, kernel, **{**arguments, "method": "auto"})


def assert_near(found, wanted, precision, scale):
    tolerance = (2e-5 if precision == "float32" else 1e-12) * scale
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0) <= tolerance


def scale_of(kernel, *images):
    """Returns an upper bound of the magnitude of results."""
    return np.abs(kernel).sum() * max(np.abs(image).max() for image in images)


@given(problem=problems(LINEAR), factor=st.floats(-4, 4))
def test_linearity(problem, factor):
    shape, kernel, arguments, random = problem
    convolve = planned_or_automatic(shape, kernel, arguments)
    one, other = (samples(random, shape, np.iscomplexobj(kernel)) for _ in range(2))
    found = convolve(factor * one + other)
    assert_near(found, factor * convolve(one) + convolve(other), arguments["precision"],
                10 * scale_of(kernel, one, other))


@given(problem=problems(["wrap"], modes=["same"]), data=st.data())
def test_shift(problem, data):
    """A shift of a periodic image shifts the result."""
    shape, kernel, arguments, random = problem
    shift = [data.draw(st.integers(-n, n)) for n in shape]
    image = samples(random, shape, np.iscomplexobj(kernel))
    convolve = planned_or_automatic(shape, kernel, arguments)
    assert_near(convolve(np.roll(image, shift, (0, 1, 2))), np.roll(convolve(image), shift, (0, 1, 2)),
                arguments["precision"], scale_of(kernel, image))


@given(problem=problems(["zero"], modes=["full"]), data=st.data())
def test_shift_of_what_surrounds_the_image(problem, data):
    """Zeros before an image shift its full result."""
    shape, kernel, arguments, random = problem
    before = [data.draw(st.integers(0, 3)) for _ in shape]
    image = samples(random, shape, np.iscomplexobj(kernel))
    padded = np.pad(image, [(n, 0) for n in before])
    found = planned_or_automatic(padded.shape, kernel, arguments)(padded)
    wanted = np.pad(planned_or_automatic(shape, kernel, arguments)(image), [(n, 0) for n in before])
    assert_near(found, wanted, arguments["precision"], scale_of(kernel, image))


@given(problem=problems(LINEAR))
def test_adjoint(problem):
    """⟨Ax, y⟩ = ⟨x, Aᵀy⟩ for every mode and boundary."""
    shape, kernel, arguments, random = problem
    forward = planned_or_automatic(shape, kernel, arguments)
    back = planned_or_automatic(shape, kernel, {**arguments, "operation": "adjoint"})
    assert back.input_shape == forward.output_shape
    assert back.output_shape == forward.input_shape
    x = samples(random, forward.input_shape, np.iscomplexobj(kernel))
    y = samples(random, forward.output_shape, np.iscomplexobj(kernel))
    found, wanted = np.vdot(y, forward(x)), np.vdot(back(y), x)
    tolerance = 2e-5 if arguments["precision"] == "float32" else 1e-12
    # Terms of both signs may cancel, so that the error is relative to the sum of their magnitudes.
    assert abs(found - wanted) <= tolerance * np.abs(kernel).sum() * np.abs(x).sum() * np.abs(y).max()


@given(problem=problems(["zero"], modes=["full"]))
def test_sum(problem):
    """The sum of a full result is the product of the sums of image and kernel, also for one period of a periodic
    image."""
    shape, kernel, arguments, random = problem
    image = samples(random, shape, np.iscomplexobj(kernel))
    periodic = planned_or_automatic(shape, kernel, {**arguments, "mode": "same", "boundary": "wrap"})
    tolerance = 2e-5 if arguments["precision"] == "float32" else 1e-12
    for convolve in (planned_or_automatic(shape, kernel, arguments), periodic):
        found = np.asarray(convolve(image), np.complex128).sum()
        assert abs(found - image.sum() * kernel.sum()) <= tolerance * np.abs(image).sum() * np.abs(kernel).sum()


@given(problem=problems(["zero"], modes=["full"]), other_shape=st.tuples(*[st.integers(1, 5)] * 3))
def test_associativity(problem, other_shape):
    """Convolutions with two kernels, one after another, equal a convolution with the kernels' convolution."""
    shape, kernel, arguments, random = problem
    image = samples(random, shape, np.iscomplexobj(kernel))
    other = samples(random, other_shape, np.iscomplexobj(kernel))
    arguments["origin"] = "middle"
    exact = {**arguments, "precision": "float64", "method": "auto"}
    both = planned_or_automatic(kernel.shape, other, exact)(kernel)
    once = planned_or_automatic(shape, kernel, arguments)(image)
    twice = planned_or_automatic(once.shape, other, arguments)(np.asarray(once, arguments["dtype"]))
    assert_near(planned_or_automatic(shape, both, arguments)(image), twice, arguments["precision"],
                np.abs(other).sum() * scale_of(kernel, image))


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_methods_agree(method, data):
    """The result does not depend on the method."""
    shape, kernel, arguments, random = data.draw(problems(methods=[method]))
    convolve = planned(shape, kernel, arguments)
    if convolve is None:
        return
    image = samples(random, shape, np.iscomplexobj(kernel))
    exact = convolume.Convolver(shape, kernel, **{**arguments, "method": "direct", "precision": "float64"})
    assert_near(convolve(image), exact(image), arguments["precision"], scale_of(kernel, image))
