# SPDX-License-Identifier: Apache-2.0
"""Random arrays for the tests of drop-ins, and the comparison of their results with the original's."""

import numpy as np
import pytest
from hypothesis import strategies as st

from convolume import _sums, signal
from convolume._plain_filters import _plain_filter, plain_product

FLOATS = ("float64", "float32", ">f4", ">f8")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "uint16", "int16", "int32", "int64")

seeds = st.integers(0, 2**32 - 1)


def random_array(shape, dtype, seed, layout="C"):
    """Makes values of some tens in the type `dtype`. The layout "strided" has gaps and reversed axes."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    full = tuple(2 * n for n in shape) if layout == "strided" else tuple(shape)
    values = rng.normal(0, 1, full) if dtype.kind in "fc" else rng.normal(10, 40, full)
    if dtype.kind == "c":
        values = values + 1j * rng.normal(0, 1, full)
    if dtype.kind == "u":
        values = np.abs(values)
    if dtype.kind in "iu":
        values = np.clip(values, max(-120, np.iinfo(dtype).min), min(250, np.iinfo(dtype).max))
    array = np.asarray(values > 10 if dtype.kind == "b" else values.astype(dtype))
    if layout == "strided":
        return array[tuple(slice(None, None, -2) for _ in shape)]
    return np.asfortranarray(array) if layout == "F" else array


@pytest.fixture(autouse=True, scope="module", params=["at once", "planned"])
def planning(request):
    """Runs all tests of a module twice: with small convolutions computed without a plan, and with plans."""

    def forget():
        for found_once in (_sums.small_sums, signal._plain_form, plain_product, _plain_filter):
            found_once.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        if request.param == "planned":
            patch.setattr(_sums, "_MOST_PRODUCTS", 0)
        forget()
        yield
    forget()


layouts = st.sampled_from(["C", "C", "F", "strided"])


def assert_same(drop_in, original, single=False, tolerance=None, scale=1.0):
    """Checks that type, shape and integers are equal, and floating-point numbers within their precision of `scale`, by
    default of the largest one."""
    original = np.asarray(original)
    assert type(drop_in) is np.ndarray or np.isscalar(drop_in)
    drop_in = np.asarray(drop_in)
    assert (drop_in.dtype, drop_in.shape) == (original.dtype, original.shape)
    if original.dtype.kind in "biu":
        np.testing.assert_array_equal(drop_in, original)
    elif original.size:
        if tolerance is None:
            tolerance = 2e-3 if original.dtype.char == "e" else 1e-5 if single or original.dtype.char in "fF" else 1e-12
        largest = max(scale, float(np.abs(original).max()))
        np.testing.assert_allclose(drop_in, original, rtol=0, atol=tolerance * largest)
