# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong types get a sentence that names them, and errors of the caller's own functions pass through."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import convolume
from convolume import cache, ndimage, restoration, signal
from convolume._argument_types import names_wrong_types

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
    (lambda: convolume.Phantom(7.5), "shape is 7.5, which cannot be interpreted as an integer: give a sequence"),
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
                 lambda: ndimage.gaussian_filter1d(IMAGE, 0), lambda: ndimage.gaussian_filter1d(IMAGE, 1e-320, order=2),
                 lambda: convolume.Phantom((4, 4, 4), workers=2**31),
                 lambda: restoration.wiener(np.float32(2), KERNEL, 0.1), lambda: signal.decimate(np.ones(5), 2),
                 lambda: signal.decimate(np.ones(500), 2, axis=3), lambda: convolume.Image.of_array(0.5),
                 lambda: signal.resample_poly(np.ones(50), 3, 2, window=()),
                 lambda: signal.resample_poly(np.ones(50), 3, 2, window=("kaiser", "a")),
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
    (lambda: convolume.convolve(IMAGE, KERNEL, cval=5.0), "cval is for the boundary 'constant'"),
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
        with pytest.raises(convolume.InvalidArgument, match="shape has 1000000000000 numbers"):
            call()


@pytest.mark.parametrize(("call", "name"), [
    (lambda kind: convolume.convolve(kind, KERNEL), "image"),
    (lambda kind: convolume.convolve(IMAGE, kind), "kernel"),
    (lambda kind: convolume.wiener(IMAGE, kind), "PSF|psf"),
    (lambda kind: convolume.richardson_lucy(IMAGE, KERNEL, 2, background=0, callback=kind), "callback .* a function"),
    (lambda kind: convolume.process(convolume.Image.of_array(IMAGE), "a.zarr", "deconvolve", psf=kind), "PSF|psf")])
@pytest.mark.parametrize("kind", [int, np.float32, convolume.Image])
@pytest.mark.filterwarnings("ignore::convolume.ConvolumeWarning")
def test_a_class_is_no_argument(call, name, kind):
    with pytest.raises(convolume.InvalidArgument, match=name):
        call(kind)


@pytest.mark.parametrize("call", [
    lambda many: convolume.process(convolume.Image.of_array(IMAGE), "a.zarr", np.sqrt, halo=many),
    lambda many: convolume.process(convolume.Image.of_array(IMAGE), "a.zarr", "deconvolve", psf=KERNEL, halo=many),
    lambda many: convolume.process(convolume.Image.of_array(IMAGE), "a.zarr", "convolve", kernel=KERNEL, block=many),
    lambda many: convolume.make_psf(**{**OPTICS, "shape": many}),
    lambda many: convolume.Phantom(many),
    lambda many: convolume.convolve(IMAGE, KERNEL, axes=many),
    lambda many: convolume.wiener(IMAGE, KERNEL, axes=many),
    lambda many: ndimage.convolve(IMAGE, KERNEL, axes=many),
    lambda many: ndimage.gaussian_filter(IMAGE, 1.0, axes=many)])
def test_sequences_of_more_numbers_than_dimensions(call):
    with pytest.raises(convolume.InvalidArgument, match="1000000000000 numbers"):
        call(range(10**12))


def test_four_extents_are_no_shape_of_a_volume():
    with pytest.raises(convolume.InvalidArgument, match="shape has 4 numbers"):
        convolume.Phantom((3, 4, 5, 6))


@pytest.mark.parametrize("call", [lambda text: convolume.Phantom(text), lambda text: convolume.Phantom((3, 3, 3), text),
                                  lambda text: ndimage.gaussian_filter(IMAGE, 1.0, axes=text)])
def test_bytes_are_no_sequence_of_numbers(call):
    with pytest.raises(convolume.InvalidArgument, match="b'abc'"):
        call(b"abc")


@pytest.mark.parametrize("call", [lambda view: ndimage.gaussian_filter(IMAGE, 1.0, axes=view),
                                  lambda view: ndimage.uniform_filter(IMAGE, origin=view)])
def test_a_memoryview_is_no_sequence_of_numbers(call):
    with pytest.raises(convolume.InvalidArgument, match="(axes|origin) is <memory"):
        call(memoryview(np.zeros(3, np.int64)))


def test_arrays_and_scalars_of_numpy_as_options():
    numbers = np.array([0.2, 0.1, 0.1])
    expected = convolume.richardson_lucy(IMAGE, KERNEL, 2, background=0, spacing=(0.2, 0.1, 0.1))
    assert np.array_equal(convolume.richardson_lucy(IMAGE, KERNEL, 2, background=0, spacing=numbers), expected)
    line = np.ones(3, np.float32) / 3
    assert np.array_equal(convolume.wiener(IMAGE, line, axes=np.int8(-1)), convolume.wiener(IMAGE, line, axes=-1))
    convolume.richardson_lucy(IMAGE, KERNEL, 2, background=0, saturation=np.array(50.0), no_data=np.float32(-1))
    axis = np.array(-1)
    assert signal.upfirdn([1.0, 2.0], IMAGE, axis=axis).shape == (4, 8, 9) and axis == -1
    for device in ([], np.array([], "M8[s]")):
        with pytest.raises(convolume.InvalidArgument, match="device is .*: choose"):
            convolume.convolve(IMAGE, KERNEL, device=device)
    with pytest.raises(convolume.InvalidArgument, match="spacing has 0 numbers"):
        convolume.wiener(IMAGE, KERNEL, spacing=np.array([]))
    with pytest.raises(convolume.InvalidArgument, match="too many samples"):
        ndimage.gaussian_filter1d(IMAGE, 1.0, truncate=np.array(np.inf, np.float16))


def test_a_block_of_samples_holds_plain_numbers():
    resampler, samples = convolume.Resampler(3, 2), np.ones(20, np.float32)
    with pytest.raises(convolume.InvalidArgument, match="masked"):
        resampler.push(np.ma.masked_array(samples, mask=samples > 0))
    for block in (samples.astype("U3"), samples.astype("O")):
        with pytest.raises(convolume.InvalidArgument, match="type"):
            resampler.push(block)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(convolume.InvalidArgument, match="bfloat16"):
        resampler.push(samples.astype(ml_dtypes.bfloat16))


def test_a_mask_holds_numbers():
    with pytest.raises(convolume.InvalidArgument, match="the mask is of type"):
        convolume.richardson_lucy(IMAGE, KERNEL, 2, mask=np.zeros(IMAGE.shape, "V4"))


@pytest.mark.parametrize("name", ["a\0.zarr", "\ud800.zarr"])
def test_names_of_files_that_no_system_has(name):
    image = convolume.Image.of_array(IMAGE)
    for call in (lambda: convolume.process(image, name, np.sqrt, halo=(0, 0, 0)),
                 lambda: convolume.process(name, "a.zarr", np.sqrt, halo=(0, 0, 0)),
                 lambda: convolume.open(pathlib.Path(name)),
                 lambda: convolume.process(image, "a.zarr", "convolve", kernel=name),
                 lambda: convolume.plan_process(image, "a.zarr", "convolve", kernel=name)):
        with pytest.raises(convolume.Error):
            call()


def test_numbers_beyond_memory():
    noise = np.random.default_rng(1).normal(0, 1, (2, 200))
    assert np.array_equal(convolume.divide_by_noise(noise, 2**62), convolume.divide_by_noise(noise, 200))
    with pytest.raises(convolume.InvalidArgument, match="too many samples for an axis of 8: give"):
        ndimage.uniform_filter1d(IMAGE, 2**62)
    with pytest.raises(convolume.InvalidArgument, match="too many samples for an axis of 8: give"):
        ndimage.gaussian_filter1d(IMAGE, 1.0, radius=2**30)

    @names_wrong_types
    def refused(samples: int) -> np.ndarray:
        return np.empty(samples)

    with pytest.raises(convolume.OutOfMemory, match="does not fit in memory"):
        refused(2**55)


def test_long_double_is_decimated_in_double_precision():
    for kind, double in (("longdouble", "float64"), ("clongdouble", "complex128")):
        samples = np.arange(100).astype(kind)
        assert np.array_equal(signal.decimate(samples, 2), signal.decimate(samples.astype(double), 2))


SIGNALS, FRAMES = np.ones((2, 64)), np.ones((8, 10), np.complex64)


@pytest.mark.parametrize("call", [
    lambda: convolume.convolve(IMAGE, KERNEL, stream=1),
    lambda: convolume.correlate(IMAGE, KERNEL, stream=1),
    lambda: convolume.Convolver(IMAGE.shape, KERNEL)(IMAGE, stream=1),
    lambda: convolume.Deconvolver(IMAGE.shape, KERNEL, iterations=2)(IMAGE, stream=1),
    lambda: convolume.filter_bank(SIGNALS, [1.0, 2.0], stream=1),
    lambda: convolume.FilterBank(SIGNALS.shape, [1.0, 2.0])(SIGNALS, stream=1),
    lambda: convolume.correlation_peaks(SIGNALS, [1.0, 2.0], noise=1, stream=1),
    lambda: convolume.CorrelationBank(SIGNALS.shape, [1.0, 2.0], noise=1).snr(SIGNALS, stream=1),
    lambda: convolume.CorrelationBank(SIGNALS.shape, [1.0, 2.0], noise=1).peaks(SIGNALS, stream=1),
    lambda: convolume.channelize(ANALYTIC, 8, stream=1), lambda: convolume.Channelizer(8)(ANALYTIC, stream=1),
    lambda: convolume.synthesize(FRAMES, 8, stream=1), lambda: convolume.Synthesizer(8)(FRAMES, stream=1)])
@pytest.mark.filterwarnings("ignore::convolume.ConvolumeWarning")
def test_a_stream_is_for_arrays_on_a_gpu(call):
    with pytest.raises(convolume.InvalidArgument, match="stream is for arrays in a GPU's memory"):
        call()


@pytest.mark.parametrize("option", [{"ns": 1.38}, {"ns": "prolong"}, {"depth": 3}, {"ni0": 1.33}, {"tg": "170um"}])
@pytest.mark.parametrize("model", ["born-wolf", "gaussian"])
def test_layers_are_for_models_with_layers(option, model):
    for call in (lambda: convolume.make_psf(**OPTICS, model=model, **option),
                 lambda: convolume.psf_facts(na=1.2, ni=1.33, wavelength=0.5, model=model, **option)):
        with pytest.raises(convolume.InvalidArgument, match=f"^{next(iter(option))} does not apply to models without "
                                                            "layers; leave it out, or choose model gibson-lanni or "):
            call()
    convolume.make_psf(**OPTICS, model=model, ns=None, ni0=None)
