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
    with pytest.raises(ValueError, match="out"):
        convolume.Deconvolver((16, 16), np.ones((3, 3)), iterations=2)(image, out[:8])


def test_other_libraries_are_named():
    class Elsewhere:
        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(RuntimeError, match="CuPy and PyTorch"):
        convolume.convolve(Elsewhere(), [1.0])


@pytest.mark.parametrize("method", ["rl", "shb", "rl-tv", "wiener"])
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_deconvolution_against_the_host(library, random, method, dtype):
    image = random.poisson(50, (16, 33, 40)).astype(dtype)
    psf = random.random((5, 7, 7)).astype(np.float32)
    deconvolver = convolume.Deconvolver(image.shape, psf, method=method, iterations=6, background="auto")
    want = deconvolver(image)
    iterations = []
    there = on_gpu(library, image.astype(np.int32) if library.__name__ == "torch" and dtype == "uint16" else image)
    got = deconvolver(there, callback=lambda done: iterations.append((done.number, done.estimate.shape)))
    assert type(got).__module__.partition(".")[0] == library.__name__
    assert iterations == [(k, image.shape) for k in range(1, 7)]
    assert deconvolver.report["iterations"] == 6
    np.testing.assert_allclose(on_host(got), want, rtol=1e-3, atol=1e-3 * want.max())
    out = on_gpu(library, np.zeros(image.shape, np.float32))
    assert deconvolver(there, out) is out
    np.testing.assert_allclose(on_host(out), want, rtol=1e-3, atol=1e-3 * want.max())


def test_deconvolution_that_is_enough(library, random):
    image = random.poisson(50, (33, 40)).astype(np.float32)
    psf = random.random((7, 7)).astype(np.float32)
    third = convolume.richardson_lucy(image, psf, 3)
    got = convolume.richardson_lucy(on_gpu(library, image), psf, 9, callback=lambda done: done.number == 3)
    np.testing.assert_allclose(on_host(got), third, rtol=1e-3, atol=1e-3 * third.max())
