# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong types get a sentence that names them, and errors of the caller's own functions pass through."""

import subprocess
import sys

import numpy as np
import pytest

import convolume
from convolume import cache, ndimage, restoration, signal

IMAGE, KERNEL = np.ones((4, 8, 8), np.float32), np.ones((3, 3, 3), np.float32)
ANALYTIC = np.ones(256, np.complex64)
OPTICS = {"na": 1.2, "ni": 1.33, "wavelength": 0.5, "spacing": (0.2, 0.1, 0.1), "shape": (3, 5, 5)}


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: convolume.convolve(IMAGE, KERNEL, device=1.5), "device is 1.5: choose 'auto', 'cpu', 'gpu', a "
                                                            "number, or several"),
    (lambda: convolume.convolve(IMAGE, KERNEL, dtype=IMAGE), "dtype is an array of float32 and shape .* give a type of "
                                                             "NumPy"),
    (lambda: convolume.convolve(IMAGE, KERNEL, method="\ud800"), "method is "),
    (lambda: convolume.richardson_lucy(IMAGE, KERNEL, "ten"), "iterations is "),
    (lambda: convolume.Deconvolver(IMAGE.shape, KERNEL, method=range(3)), "method is range"),
    (lambda: convolume.prototype_filter(8, 2**70), "taps_per_channel is 1180591620717411303424: give a whole number"),
    (lambda: convolume.StreamFilter(np.ones(9), np.bool_(True)), "block is .*True.*: give a whole number"),
    (lambda: list(convolume.Resampler(3, 2).blocks(5)), "blocks is 5: give a sequence or a generator of arrays"),
    (lambda: convolume.Phantom(7.5), "shape is 7.5: give a sequence of whole numbers"),
    (lambda: convolume.Camera(bits="many"), "bits is a whole number, not 'many'"),
    (lambda: convolume.open(7), "path is 7: give a text or a path"),
    (lambda: convolume.save("a.tif", IMAGE, axes=1e9), "axes is 1000000000.0: give a text or None"),
    (lambda: convolume.process(IMAGE, "a.zarr", IMAGE), "op is an array of float32 .* choose convolve"),
    (lambda: cache.limit([1]), r"max_host_mem is \[1\]: give a whole number or a text or None"),
    (lambda: signal.upfirdn([1.0], IMAGE, axis=(1,)), r"axis is \(1,\): give a whole number"),
    (lambda: ndimage.gaussian_filter(IMAGE, 1.0, output="gpu"), "output is 'gpu': give a type of NumPy"),
    (lambda: ndimage.convolve1d(IMAGE, [1.0], axis=[0, 1]), r"axis is \[0, 1\]: give a whole number"),
    (lambda: restoration.richardson_lucy(IMAGE / 2, KERNEL, num_iter=1j), "num_iter is 1j: give a whole number")])
def test_an_argument_of_a_wrong_type_is_named(call, sentence):
    with pytest.raises(convolume.InvalidArgument, match=sentence) as caught:
        call()
    assert isinstance(caught.value, TypeError)


def test_errors_of_the_caller_pass_through():
    def failing(*_):
        raise TypeError("an error of the caller")

    with pytest.raises(TypeError, match="an error of the caller") as caught:
        convolume.richardson_lucy(IMAGE, KERNEL, 2, callback=failing, background=0)
    assert not isinstance(caught.value, convolume.Error)
    with pytest.raises(TypeError, match="unexpected keyword argument 'iter'"):
        convolume.convolve(IMAGE, KERNEL, iter=3)


def test_numbers_that_cannot_be_meant():
    for call in (lambda: ndimage.gaussian_filter(IMAGE, 1e40), lambda: ndimage.gaussian_filter1d(IMAGE, float("nan")),
                 lambda: ndimage.gaussian_filter1d(IMAGE, 0), lambda: convolume.Phantom((4, 4, 4), workers=2**31),
                 lambda: restoration.wiener(np.float32(2), KERNEL, 0.1), lambda: signal.decimate(np.ones(5), 2),
                 lambda: signal.decimate(np.ones(500), 2, axis=3), lambda: convolume.Image.of_array(0.5),
                 lambda: convolume.Resampler(3, 2, dtype="float16"), lambda: convolume.Resampler(3, 2, taps=["a"]),
                 lambda: convolume.Camera().expose(IMAGE * 1j)):
        with pytest.raises((convolume.InvalidArgument, convolume.BadData)):
            call()


def test_arrays_of_types_that_are_not_taken():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for array in (IMAGE.astype(ml_dtypes.bfloat16), IMAGE.astype("O"), IMAGE.astype("U3"), np.zeros((4, 4), "M8[s]")):
        for call in (convolume.convolve, signal.fftconvolve, ndimage.convolve):
            with pytest.raises(convolume.InvalidArgument, match="type"):
                call(array, np.ones((3,) * array.ndim, np.float32))
    with pytest.raises(convolume.OutOfMemory, match="does not fit in memory as an array"):
        convolume.convolve(range(10**13), [1.0])


def test_objects_that_live_at_exit_are_not_reported():
    script = ("import threading, time, numpy as np, convolume\n"
              "kept = convolume.Image.of_array(np.ones((3, 3)))\n"
              "threading.Thread(target=lambda: (kept, time.sleep(60)), daemon=True).start()\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "leaked" not in done.stderr


@pytest.mark.parametrize(("call", "name"), [
    (lambda: convolume.convolve(IMAGE, KERNEL, cval=5.0), "cval is for boundary='constant'"),
    (lambda: convolume.convolve(IMAGE, KERNEL, out=np.empty_like(IMAGE), dtype="float64"), "leave dtype out"),
    (lambda: convolume.channelize(ANALYTIC, 8, prototype=np.ones(32), window="hann"), "window is for"),
    (lambda: convolume.channelize(ANALYTIC, 8, prototype=np.ones(32), taps_per_channel=3), "taps_per_channel is for"),
    (lambda: convolume.filter_bank(np.ones(50), np.ones((2, 5)), mode="full", span=(0, 10)), "mode and span"),
    (lambda: convolume.make_psf(**OPTICS, channel=1), "channel chooses"),
    (lambda: convolume.save("a.tif", IMAGE, zarr_format=2), "leave zarr_format out"),
    (lambda: convolume.process(IMAGE, "a.zarr", "convolve", kernel=KERNEL, level=1), "level says how a file is")])
def test_options_without_a_use_are_refused(call, name):
    with pytest.raises(convolume.InvalidArgument, match=name):
        call()


class Tensor:
    """An array that another library refuses to share, as PyTorch does tensors with gradients."""

    shape, ndim = (8, 8), 2

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")


def test_arrays_that_are_not_shared():
    sentence = "cannot be shared with NumPy: .* gradient.*convert it first"
    for call in (convolume.convolve, signal.fftconvolve, ndimage.convolve):
        with pytest.raises(convolume.InvalidArgument, match=sentence):
            call(Tensor(), np.ones((3, 3)))


def test_shapes_that_are_no_shapes():
    for call in (lambda: convolume.FilterBank(range(10**12), np.ones((2, 5))),
                 lambda: convolume.CorrelationBank(range(10**12), np.ones((2, 5))),
                 lambda: convolume.Deconvolver(range(10**12), KERNEL)):
        with pytest.raises(convolume.InvalidArgument, match="a shape of 1000000000000 numbers"):
            call()
