# SPDX-License-Identifier: Apache-2.0
"""Tests with arrays of CuPy and PyTorch in a GPU's memory."""

import sys
from types import SimpleNamespace

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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(9, 30, 30), (4, 5, 90, 131), (6, 20, 22)])
def test_images_of_16_bits(library, random, dtype, shape):
    """They are computed with as float32, and results are those or rounded ones."""
    if not hasattr(library, dtype):
        pytest.skip(f"{library.__name__} has no {dtype}")
    kernel = random.random((3 if shape[0] == 6 else 1, 5, 7)).astype(np.float32)
    values = on_gpu(library, random.random(shape).astype(np.float32))
    kind = getattr(library, dtype)
    halves = values.to(kind) if library.__name__ == "torch" else values.astype(kind)
    as_single = halves.float() if library.__name__ == "torch" else halves.astype(np.float32)
    plan = convolume.Convolver(shape[-3:], kernel)
    want = on_host(plan(as_single))
    got = plan(halves)
    np.testing.assert_allclose(on_host(got), want, rtol=1e-6, atol=1e-6 * want.max())
    out = library.empty_like(halves)
    assert plan(halves, out) is out
    in_double = convolume.Convolver(shape[-3:], kernel, precision="float64")
    with pytest.raises(convolume.InvalidArgument, match="precision='float32'"):
        in_double(halves, out)
    rounded = out.float() if library.__name__ == "torch" else out.astype(np.float32)
    np.testing.assert_allclose(on_host(rounded), want, rtol=2 ** -8 if dtype == "bfloat16" else 2 ** -11, atol=1e-5)


def test_follows_the_current_stream(library, random):
    """A call runs after work that is enqueued before it, and before work that is enqueued after it."""
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

    with pytest.raises(RuntimeError, match="CuPy or PyTorch"):
        convolume.convolve(Elsewhere(), [1.0])
    with pytest.raises(RuntimeError, match="CuPy or PyTorch"):
        convolume.filter_bank(Elsewhere(), [1.0])
    with pytest.raises(RuntimeError, match="CuPy or PyTorch"):
        convolume.FilterBank((8,), [1.0], device="cpu")(Elsewhere())


@pytest.fixture
def stand_in(monkeypatch):
    """Stands for an array of CuPy: it has the attributes of one, but no memory."""
    def array(shape, dtype="float32"):
        made = type("ndarray", (), {"__module__": "cupy", "__dlpack_device__": lambda self: (2, 0)})()
        made.shape, made.dtype, made.device = shape, np.dtype(dtype), SimpleNamespace(id=0)
        made.data = SimpleNamespace(ptr=64)
        return made

    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ascontiguousarray=lambda array: array))
    return array


def test_signals_that_are_refused_before_a_gpu_is_needed(stand_in):
    bank = convolume.FilterBank((2, 8), [1.0, 1.0], device="cpu")
    with pytest.raises(ValueError, match=r"shape \(2, 9\) where this bank was planned for \(2, 8\)"):
        bank(stand_in((2, 9)))
    with pytest.raises(ValueError, match="int64: convert it"):
        bank(stand_in((2, 8), "int64"))
    with pytest.raises(ValueError, match="positions are those of peaks"):
        convolume.filter_bank(stand_in((8,)), [1.0], positions=True)


@pytest.mark.skipif(any(gpu.usable for gpu in convolume.gpu_devices()), reason="a GPU would be given a wrong address")
def test_signals_on_a_gpu_without_one(stand_in):
    with pytest.raises(RuntimeError, match="GPU|CUDA"):
        convolume.filter_bank(stand_in((8,)), [1.0])


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


@pytest.mark.parametrize("mode", ["same", "full", "valid"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("taps", [5, 301])
def test_filters_against_numpy(library, random, mode, dtype, taps):
    signals = (50 * random.standard_normal((2, 3, 4000))).astype(dtype)
    bank = random.standard_normal((4, taps)).astype(np.float64 if dtype == "float64" else np.float32)
    got = convolume.filter_bank(on_gpu(library, signals), bank, mode=mode)
    assert type(got).__module__.partition(".")[0] == library.__name__
    got = on_host(got)
    assert got.dtype == {"float64": np.float64, "complex64": np.complex64}.get(dtype, np.float32)
    for i, j, k in np.ndindex(2, 3, 4):
        full = np.convolve(signals[i, j].astype(np.complex128), bank[k])
        want = {"full": full, "same": full[(taps - 1) // 2:][:4000], "valid": full[taps - 1:4000]}[mode]
        near = 1e-9 if dtype == "float64" else 2e-5
        np.testing.assert_allclose(got[i, j, k], want, rtol=0, atol=near * np.abs(full).max())


@pytest.mark.parametrize("dtype", ["float16", "int16"])
def test_storage_of_16_bits_on_a_gpu(library, random, dtype):
    signals = (50 * random.standard_normal((2, 50_001))).astype(dtype)
    taps = random.standard_normal((3, 65)).astype(np.float32)
    steps = {"scale": 1.0, "output_scale": 0.0625} if dtype == "int16" else {}
    bank = convolume.FilterBank(signals.shape, taps, dtype=dtype, output_dtype=dtype, **steps)
    got = bank(on_gpu(library, signals))
    assert type(got).__module__.partition(".")[0] == library.__name__
    got = on_host(got)
    assert got.dtype == dtype
    step = steps.get("output_scale", 1.0)
    exact = signals.astype(np.float64) / step
    want = np.array([[np.convolve(one, row)[32:][:50_001] for row in taps] for one in exact])
    near = 5e-6 * np.abs(want).max()
    if dtype == "int16":
        low, high = (np.rint(want + error).clip(-32768, 32767) for error in (-near, near))
        assert bank.clamped() == (int((np.rint(want) < -32768).sum()), int((np.rint(want) > 32767).sum()))
    else:
        low, high = ((want + error).astype(dtype).astype(np.float64) for error in (-near, near))
        plain = on_host(convolume.filter_bank(on_gpu(library, signals), taps))
        np.testing.assert_allclose(plain, want, rtol=0, atol=near)
    assert (low <= got).all() and (got <= high).all()
    out = on_gpu(library, np.zeros(bank.result_shape, dtype))
    assert bank(on_gpu(library, signals), out) is out
    assert (on_host(out) == got).all()


def test_peaks_on_a_gpu(library, random):
    signal = random.standard_normal((3, 20_000)).astype(np.float32)
    bank = random.standard_normal((2, 33)).astype(np.float32)
    options = {"window": ("peak", 100), "positions": True}
    for origin in ("center", "causal"):
        got, where = convolume.filter_bank(on_gpu(library, signal), bank, origin=origin, **options)
        want, there = convolume.filter_bank(signal, bank, origin=origin, device="cpu", **options)
        np.testing.assert_allclose(on_host(got), want, rtol=1e-4, atol=1e-3)
        assert (on_host(where) == there).mean() > 0.999  # two samples may differ by rounding only


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex64"])
def test_peaks_of_templates_on_a_gpu(library, random, dtype):
    """Peaks are computed again from samples, so that they have the bits of those of the CPU."""
    signals = (50 * random.standard_normal((2, 40_000))).astype(dtype)
    templates = [random.standard_normal(taps).astype(np.float32) for taps in (33, 900)]
    options = {"noise": 50, "threshold": 3, "window": 500, "position": "interpolated"}
    got = convolume.correlation_peaks(on_gpu(library, signals), templates, **options)
    want = convolume.correlation_peaks(signals, templates, device="cpu", **options)
    assert len(want) > 20
    np.testing.assert_array_equal(got, want)
    bank = convolume.CorrelationBank(signals.shape, templates, dtype=dtype, noise=50)
    np.testing.assert_allclose(on_host(bank.snr(on_gpu(library, signals))), bank.snr(signals), atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
@pytest.mark.parametrize(("channels", "step"), [(1024, 512), (100, 45)])
def test_channels_and_synthesis_on_a_gpu(library, random, dtype, channels, step):
    """A signal is divided and put together again without leaving the GPU, also in a batch and on a CUDA stream."""
    signals = random.standard_normal((20_000, 3))
    signals = (signals + 1j * random.standard_normal(signals.shape)).astype(dtype) if dtype.startswith("complex") \
        else signals.astype(dtype)
    options = {"step": step, "axis": 0, "taps_per_channel": 4}
    tolerance = 1e-3 if dtype != "complex128" else 1e-9
    want = convolume.channelize(signals, channels, tail=True, **options)
    frames = convolume.channelize(on_gpu(library, signals), channels, tail=True, **options)
    np.testing.assert_allclose(on_host(frames), want, atol=tolerance)
    joined = convolume.Synthesizer(channels, dtype=dtype, **options)
    again = joined(frames, samples=len(signals))
    assert type(again).__module__.partition(".")[0] == library.__name__
    assert on_host(again).dtype == signals.dtype
    np.testing.assert_allclose(on_host(again), signals, atol=tolerance)
    stream = library.cuda.Stream(non_blocking=True) if library.__name__ == "cupy" else library.cuda.Stream()
    with stream if library.__name__ == "cupy" else library.cuda.stream(stream):
        late = frames * 0
        for _ in range(20):
            late = late + 0
        late = late + frames
    got = joined(late, samples=len(signals), stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(on_host(got), on_host(again))


def test_a_planned_bank_on_a_gpu(library, random):
    """Results go to the caller's array, on the caller's CUDA stream, which is an object or an address."""
    signals = random.standard_normal((4, 100_000)).astype(np.float32)
    bank = convolume.FilterBank(signals.shape, random.standard_normal((3, 65)).astype(np.float32))
    want = bank(signals)
    there = on_gpu(library, signals)
    out = on_gpu(library, np.zeros(bank.result_shape, np.float32))
    assert bank(there, out) is out
    np.testing.assert_allclose(on_host(out), want, atol=1e-3)
    stream = library.cuda.Stream(non_blocking=True) if library.__name__ == "cupy" else library.cuda.Stream()
    address = stream.ptr if library.__name__ == "cupy" else stream.cuda_stream
    for given in (stream, address):
        with stream if library.__name__ == "cupy" else library.cuda.stream(stream):
            late = on_gpu(library, np.zeros_like(signals))
            for _ in range(20):
                late = late + 0
            late = late + on_gpu(library, signals)
        got = bank(late, stream=given)  # a CUDA stream that is not the library's current one
        stream.synchronize()
        np.testing.assert_allclose(on_host(got), want, atol=1e-3)
    for bad in (out[:2], out[..., ::2], on_gpu(library, np.ones(bank.result_shape))):
        with pytest.raises(ValueError, match="out"):
            bank(there, bad)


def test_strided_and_whole_numbers_on_a_stream(library, random):
    """Copies and conversions before the computation are also on the caller's CUDA stream."""
    image = (100 * random.random((400, 600))).astype(np.int16)
    blur = convolume.Convolver((400, 300), np.ones((5, 5), np.float32), dtype=np.int16)
    bank = convolume.FilterBank((400, 300), np.ones(9, np.float32), dtype=np.int16)
    stream = library.cuda.Stream(non_blocking=True) if library.__name__ == "cupy" else library.cuda.Stream()
    for plan in (blur, bank):
        want = plan(np.ascontiguousarray(image[:, ::2]))
        with stream if library.__name__ == "cupy" else library.cuda.stream(stream):
            late = on_gpu(library, np.zeros_like(image))
            for _ in range(50):
                late = late + 0
            late = late + on_gpu(library, image)
        got = plan(late[:, ::2], stream=stream)
        stream.synchronize()
        np.testing.assert_allclose(on_host(got), want, rtol=1e-4)
