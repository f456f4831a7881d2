# SPDX-License-Identifier: Apache-2.0
"""Tests the drop-ins with arrays in a GPU's memory against those with arrays in host memory. Without a GPU, a stand-in
takes its place."""

import gpu_stand_in
import numpy as np
import pytest

import convolume
from convolume import ndimage, restoration, signal


@pytest.fixture(params=["stand-in", "cupy", "torch", "jax"])
def library(request, monkeypatch):
    if request.param == "stand-in":
        return gpu_stand_in.install(monkeypatch)
    if not any(gpu.usable for gpu in convolume.gpu_devices()):
        pytest.skip("no GPU here")
    found = pytest.importorskip(request.param)
    if request.param == "jax":
        found.config.update("jax_enable_x64", True)  # else JAX has no types of 64 bits
    return found


def on_gpu(library, array):
    if library.__name__ == "torch":
        return library.from_numpy(np.asarray(array, order="C")).cuda()
    return library.numpy.asarray(array) if library.__name__ == "jax" else library.asarray(array)


def compare(library, function, image, *others, **options):
    """Compares a call with arrays on the GPU, each others' arrays too, with the call on the host."""
    want = function(image, *others, **options, device="cpu")
    given = [on_gpu(library, other) if isinstance(other, np.ndarray) else other for other in others]
    found = function(on_gpu(library, image), *given, **options)
    assert type(found).__module__.partition(".")[0] in (library.__name__, "jaxlib")
    values = (found.cpu().numpy() if library.__name__ == "torch" else np.asarray(found)
              if library.__name__ == "jax" else library.asnumpy(found))
    assert values.dtype == want.dtype and values.shape == want.shape
    if want.dtype.kind in "bui":
        np.testing.assert_array_equal(values, want)
    else:
        scale = np.abs(want).max()
        np.testing.assert_allclose(values / scale, want / scale, atol=3e-5 if want.dtype.char in "fF" else 1e-12)


def numbers(shape, dtype, seed=1):
    values = 20 * np.random.default_rng(seed).random(shape)
    return (values + 1j * values[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else values.astype(dtype)


@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "oaconvolve"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "uint8", "int64", "bool"])
def test_signal(library, name, mode, dtype):
    compare(library, getattr(signal, name), numbers((12, 17), dtype), numbers((3, 4), dtype, 2), mode=mode)


def test_batches_of_signals(library):
    image = numbers((3, 40, 2), "float32")
    compare(library, signal.fftconvolve, image, numbers((1, 7, 1), "float32", 2), axes=1)
    compare(library, signal.fftconvolve, image, numbers((3, 7, 2), "float32", 2), "same", axes=[1])
    compare(library, signal.fftconvolve, numbers((2, 3, 4, 5, 2), "float32"), numbers((1, 2, 1, 3, 1), "float32", 2))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint16"])
def test_long_signals(library, mode, dtype):
    image = numbers((2, 20000), dtype)
    compare(library, signal.oaconvolve, image, numbers((1, 30), dtype, 2), mode, axes=1)
    compare(library, signal.fftconvolve, image[0], numbers((257,), dtype, 2), mode)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16", "int64"])
@pytest.mark.parametrize("up, down", [(160, 147), (1, 2), (2, 1), (3, 7), (1, 100), (997, 1000)])
def test_resampling(library, up, down, dtype):
    signals = numbers((2, 3000), dtype)
    for axis in (0, 1):
        compare(library, signal.resample_poly, signals if axis else signals.T.copy(), up, down, axis=axis)
    compare(library, signal.resample_poly, signals[0], up, down, padtype="edge")
    if np.dtype(dtype).kind != "c":
        compare(library, signal.decimate, signals, down + 1, ftype="fir")


@pytest.mark.parametrize("mode", ["constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric",
                                  "antireflect", "line"])
def test_ends_of_resampled_signals(library, mode):
    taps = numbers((50,), "float32", 2)
    for signals in (numbers((2, 9), "float32"), numbers((200,), "complex64")):
        wanted = signal.upfirdn(taps, signals, 3, 2, mode=mode, device="cpu")
        found = signal.upfirdn(taps, on_gpu(library, signals), 3, 2, mode=mode)
        values = (found.cpu().numpy() if library.__name__ == "torch" else np.asarray(found)
                  if library.__name__ == "jax" else library.asnumpy(found))
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    with pytest.raises(convolume.InvalidArgument, match="leave device as 'auto'"):
        signal.upfirdn(taps, on_gpu(library, signals), 3, 2, device="cpu")


def test_resampled_signals_have_no_gaps(library):
    signals = on_gpu(library, numbers((5, 30, 4), "float32"))
    for axis in range(3):
        found = signal.upfirdn([1, 2, 3], signals, 2, axis=axis)
        if library.__name__ == "torch":
            assert found.is_contiguous()
        elif library.__name__ != "jax":
            assert getattr(found, "values", found).flags.c_contiguous  # of the stand-in, its values


@pytest.mark.parametrize("name", ["convolve", "fftconvolve", "oaconvolve"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128"])
def test_numbers_without_axes(library, name, dtype):
    compare(library, getattr(signal, name), np.array(3, dtype), np.array(2, dtype))


def test_sides_of_signals(library):
    image = numbers((9,), "float32")
    with pytest.raises(convolume.InvalidArgument, match="in1 is in host memory and in2 in a GPU's"):
        signal.fftconvolve(image, on_gpu(library, image))
    with pytest.raises(convolume.InvalidArgument, match="leave device as 'auto'"):
        signal.fftconvolve(on_gpu(library, image), image, device="cpu")
    if library.__name__ != "jax":
        with pytest.raises(convolume.InvalidArgument, match="cannot be summed exactly on a GPU"):
            signal.convolve(on_gpu(library, np.full(5, 2**40)), on_gpu(library, np.full(3, 2**40)))


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "complex64"])
def test_ndimage(library, mode, dtype):
    image = numbers((9, 11, 10), dtype)
    compare(library, ndimage.convolve, image, numbers((3, 2, 4), "float64", 2), mode=mode, cval=3)
    compare(library, ndimage.correlate, image, numbers((3, 2), "float64", 2), mode=mode, axes=(2, 0), origin=(-1, 1))
    compare(library, ndimage.convolve1d, image, np.array([1.0, 2.0, 3.0, 1.0]), axis=1, mode=mode, cval=2)
    compare(library, ndimage.gaussian_filter, image, 1.2, mode=mode)
    compare(library, ndimage.uniform_filter, image, 3, mode=mode)


@pytest.mark.parametrize("cval", [np.inf, -np.inf, np.nan])
def test_infinite_outside_of_images(library, cval):
    image, weights = numbers((7, 9), "float64"), np.array([[1.0, 0.0, -2.0], [0.5, 1.0, 0.0]])
    found = ndimage.correlate(on_gpu(library, image), on_gpu(library, weights), mode="constant", cval=cval)
    values = found.cpu().numpy() if library.__name__ == "torch" else np.asarray(
        found if library.__name__ == "jax" else library.asnumpy(found))
    wider = np.pad(image, 2, constant_values=cval)
    with np.errstate(invalid="ignore"):
        want = sum(weights[row, column] * wider[1 + row:8 + row, 1 + column:10 + column]
                   for row, column in np.argwhere(weights))
    np.testing.assert_allclose(values, want, rtol=1e-12, atol=1e-11)


def test_outputs_of_ndimage(library):
    image = numbers((8, 9), "float32")
    compare(library, ndimage.gaussian_filter, image, 1.0, output=np.uint8)
    compare(library, ndimage.gaussian_filter, numbers((8, 9), "float16"), 1.0)
    with pytest.raises(convolume.InvalidArgument, match="output is in host memory"):
        ndimage.gaussian_filter(on_gpu(library, image), 1.0, output=np.empty((8, 9)))
    if library.__name__ != "jax":
        out = on_gpu(library, np.zeros((8, 9), np.float32))
        assert ndimage.gaussian_filter(on_gpu(library, image), 1.0, output=out) is out
        assert float(out[4, 4].item()) == pytest.approx(ndimage.gaussian_filter(image, 1.0)[4, 4], rel=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_restoration(library, dtype):
    image, psf = numbers((20, 24), dtype) / 20, numbers((5, 3), dtype, 2)
    psf /= psf.sum()
    compare(library, restoration.richardson_lucy, image, psf, 8)
    compare(library, restoration.richardson_lucy, image, psf, 3, clip=False, filter_epsilon=0.2)
    compare(library, restoration.wiener, image, psf, 0.1)
    compare(library, restoration.wiener, image, psf, 0.1, is_real=False, clip=True)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_filter_banks_along_any_axis(library, axis):
    if library.__name__ == "cupy" and not hasattr(library, "ndarray"):
        pytest.skip("no GPU here")
    signals, bank = numbers((30, 40, 50), "float32"), numbers((2, 5), "float32", 2)
    for filters in (bank, bank[0]):
        found = convolume.filter_bank(on_gpu(library, signals), filters, axis=axis)
        want = convolume.filter_bank(signals, filters, axis=axis, device="cpu")
        values = found.cpu().numpy() if library.__name__ == "torch" else np.asarray(
            found.get() if library.__name__ == "cupy" else found)
        np.testing.assert_allclose(values, want, rtol=1e-4, atol=1e-3)
