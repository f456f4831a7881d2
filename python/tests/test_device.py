# SPDX-License-Identifier: Apache-2.0
"""Arrays in a GPU's memory, of CuPy and PyTorch."""

import numpy as np
import pytest

import convolume


@pytest.fixture(params=["cupy", "torch"])
def library(request):
    if not any(gpu.usable for gpu in convolume.gpu_devices()):
        pytest.skip("no GPU here")
    return pytest.importorskip(request.param)


def on_gpu(library, array):
    return library.asarray(array, device="cuda") if library.__name__ == "torch" else library.asarray(array)


def on_host(array):
    return array.cpu().numpy() if hasattr(array, "cpu") else array.get()


@pytest.mark.parametrize("mode", ["same", "full", "valid"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex64"])
def test_against_the_host(library, random, mode, dtype):
    image = (100 * random.random((20, 33, 47))).astype(dtype)
    kernel = random.random((3, 5, 7)).astype(np.float32)
    got = convolume.convolve(on_gpu(library, image), kernel, mode=mode, boundary="reflect")
    assert type(got).__module__.partition(".")[0] == library.__name__
    want = convolume.convolve(image, kernel, mode=mode, boundary="reflect", device="cpu")
    assert on_host(got).dtype == want.dtype
    np.testing.assert_allclose(on_host(got), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def test_follows_the_current_stream(library, random):
    """What is enqueued before the call is seen by it, and its result by what is enqueued after it."""
    kernel = random.random((5, 5)).astype(np.float32)
    plan = convolume.Convolver((1024, 1024), kernel)
    image = random.random((1024, 1024)).astype(np.float32)
    want = plan(image)
    stream = library.cuda.Stream(non_blocking=True) if library.__name__ == "cupy" else library.cuda.Stream()
    with stream if library.__name__ == "cupy" else library.cuda.stream(stream):
        for _ in range(50):
            pixels = on_gpu(library, np.zeros_like(image))
            for _ in range(20):
                pixels = pixels + 0
            pixels = pixels + on_gpu(library, image)
            twice = 2 * plan(pixels)
    stream.synchronize()
    np.testing.assert_allclose(on_host(twice), 2 * want, rtol=1e-4)


def test_out_and_refusals(library, random):
    image = on_gpu(library, random.random((16, 16)).astype(np.float32))
    plan = convolume.Convolver((16, 16), np.ones((3, 3)), precision="float32")
    out = plan(image)
    assert plan(image, out) is out
    for bad in (out[:8], out[:, ::2], on_gpu(library, np.ones((16, 16)))):
        with pytest.raises(ValueError, match="out"):
            plan(image, bad)
    with pytest.raises(ValueError, match="planned"):
        plan(image[:8])
    with pytest.raises(RuntimeError, match="host"):
        convolume.richardson_lucy(image, np.ones((3, 3)))


def test_other_libraries_are_named():
    class Elsewhere:
        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(RuntimeError, match="CuPy and PyTorch"):
        convolume.convolve(Elsewhere(), [1.0])
