# SPDX-License-Identifier: Apache-2.0
"""Tests of convolve, correlate and Convolver, against sums in double precision by NumPy and scipy.ndimage."""

import gc
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given
from hypothesis import strategies as st

import convolume

PADDING = {"zero": {"mode": "constant"}, "constant": {"mode": "constant", "constant_values": 2.5},
           "nearest": {"mode": "edge"}, "reflect": {"mode": "symmetric"}, "mirror": {"mode": "reflect"},
           "wrap": {"mode": "wrap"}}


def sums(image, kernel, mode, boundary, center):
    """Returns a full convolution in double precision, with f padded: full[n] = sum_j h[j] f(n - j)"""
    image, kernel = image.astype(np.complex128), kernel.astype(np.complex128)
    reach = [k - 1 for k in kernel.shape]
    padded = np.pad(image, [(r, r) for r in reach], **PADDING[boundary])
    full = np.zeros([n + r for n, r in zip(image.shape, reach)], np.complex128)
    for j in np.ndindex(kernel.shape):
        full += kernel[j] * padded[tuple(slice(r - i, r - i + n) for r, i, n in zip(reach, j, full.shape))]
    if mode == "full":
        return full
    if mode == "same":
        return full[tuple(slice(c, c + n) for c, n in zip(center, image.shape))]
    return full[tuple(slice(k - 1, n) for k, n in zip(kernel.shape, image.shape))]


@pytest.mark.parametrize("boundary", PADDING)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_are_left_out(random, boundary, dtype):
    """Results are sums over finite values, relative to the part of the kernel that is on these."""
    image, kernel = random.random((6, 20, 23)).astype(dtype), random.random((3, 5, 4)).astype(dtype)
    image[random.random(image.shape) < 0.2], image[2, :3, :3], image[:, 5:18, 3:16] = np.nan, np.inf, np.nan
    there = np.isfinite(image)
    outside = {"cval": 2.5} if boundary == "constant" else {}
    found = convolume.convolve(image, kernel, nan="missing", boundary=boundary, device="cpu", **outside)
    center = [k // 2 for k in kernel.shape]
    total = sums(np.where(there, image, 0), kernel, "same", boundary, center).real
    # Values beyond the edges are there, also those that are 0.
    reach = [(k - 1, k - 1) for k in kernel.shape]
    constant = boundary in ("zero", "constant")
    mask = np.pad(there.astype(float), reach, **({"constant_values": 1} if constant else PADDING[boundary]))
    part = sums(mask, kernel, "same", "zero", center).real[tuple(slice(k - 1, 1 - k) for k in kernel.shape)]
    wanted = np.where(part > 1e-9, total * kernel.sum() / np.maximum(part, 1e-9), np.nan)
    assert np.isnan(wanted).any()
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=0.1 * tolerance)
    batch = convolume.convolve(np.stack([image, image]), kernel, axes=(1, 2, 3), nan="missing", boundary=boundary,
                               device="cpu", **outside)
    np.testing.assert_array_equal(batch[1], found)


def test_missing_values_of_other_data():
    with pytest.raises(convolume.InvalidArgument, match="the kernel's sum is 0"):
        convolume.convolve(np.ones((5, 5)), np.array([[-1.0, 1.0]]), nan="missing", device="cpu")
    with pytest.raises(convolume.InvalidArgument, match="real images and kernels only"):
        convolume.convolve(np.ones((5, 5), complex), np.ones((3, 3)), nan="missing", device="cpu")
    integers = np.arange(12, dtype=np.uint8).reshape(3, 4)
    np.testing.assert_array_equal(convolume.convolve(integers, np.ones((1, 2)), nan="missing", device="cpu"),
                                  convolume.convolve(integers, np.ones((1, 2)), device="cpu"))


TYPES = ["uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "float16", "float32", "float64", "complex64",
         "complex128", "bool", ">f4", ">u2", ">c16"]


def samples(random, shape, dtype):
    values = random.integers(0, 90, shape) - (0 if np.dtype(dtype).kind in "ub" else 40)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.integers(-40, 40, shape)
    return values.astype(dtype)


def with_layout(array, layout):
    """Returns an array of equal values with the strides of `layout`."""
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "reversed":
        return np.flip(np.flip(array).copy())
    if layout == "strided":
        wide = np.zeros([2 * n for n in array.shape], array.dtype)
        wide[tuple(slice(None, None, 2) for _ in array.shape)] = array
        return wide[tuple(slice(None, None, 2) for _ in array.shape)]
    return array


@given(data=st.data(), seed=st.integers(0, 2**32), dimensions=st.integers(1, 3),
       mode=st.sampled_from(["same", "full", "valid"]), boundary=st.sampled_from(sorted(PADDING)),
       dtype=st.sampled_from(TYPES), layout=st.sampled_from(["c", "fortran", "reversed", "strided"]),
       method=st.sampled_from(["auto", "in-core", "direct"]),
       operation=st.sampled_from(["convolve", "correlate"]))
def test_any_problem(data, seed, dimensions, mode, boundary, dtype, layout, method, operation):
    random = np.random.default_rng(seed)
    shape = [data.draw(st.integers(1, 9)) for _ in range(dimensions)]
    kernel_shape = [data.draw(st.integers(1, n)) for n in shape]
    image = with_layout(samples(random, shape, dtype), layout)
    kernel = random.standard_normal(kernel_shape)
    kernel.flat[0] += 3  # so that the kernel is not zero everywhere
    if data.draw(st.booleans()):
        kernel = kernel + 1j * random.standard_normal(kernel_shape)
    origin = [data.draw(st.integers(0, k - 1)) for k in kernel_shape]
    function = getattr(convolume, operation)
    outside = {"cval": 2.5} if boundary == "constant" else {}
    got = function(image, kernel, mode=mode, boundary=boundary, **outside, origin=origin, method=method, device="cpu")
    if operation == "convolve":
        want = sums(image, kernel, mode, boundary, origin)
    else:
        flipped = np.conj(np.flip(kernel))
        want = sums(image, flipped, mode, boundary, [k - 1 - c for k, c in zip(kernel_shape, origin)])
    assert got.shape == want.shape
    assert got.dtype == (np.complex128 if np.iscomplexobj(image) or np.iscomplexobj(kernel) else np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * (1 + np.abs(want).max()))


@given(data=st.data(), seed=st.integers(0, 2**32), dimensions=st.integers(1, 5))
def test_batches_along_any_axes(data, seed, dimensions):
    random = np.random.default_rng(seed)
    shape = [data.draw(st.integers(1, 6)) for _ in range(dimensions)]
    axes = data.draw(st.permutations(range(dimensions)))[:data.draw(st.integers(1, min(3, dimensions)))]
    image = random.standard_normal(shape)
    kernel = random.standard_normal([data.draw(st.integers(1, 4)) for _ in axes]) + 5
    named = [axis - dimensions if data.draw(st.booleans()) else axis for axis in axes]
    got = convolume.convolve(image, kernel, axes=named, boundary="nearest", device="cpu")
    placed = np.ones(dimensions, int)
    placed[list(axes)] = kernel.shape
    by_axis = np.transpose(kernel, np.argsort(axes)).reshape(placed)
    want = scipy.ndimage.convolve(image, by_axis, mode="nearest")
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_on_every_device(device, random):
    image, kernel = random.random((20, 33, 47)).astype(np.float32), random.random((5, 7, 9)).astype(np.float32)
    got = convolume.convolve(image, kernel, boundary="mirror", device=device)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, sums(image, kernel, "same", "mirror", (2, 3, 4)).real, rtol=1e-5)


def test_nothing_is_copied():
    image = np.ones((64, 256, 256), np.float32)
    strided = np.ones((64, 256, 512), np.uint16)[:, :, ::2]
    out = np.empty(image.shape, np.float32)
    plan = convolume.Convolver(image.shape, np.ones((1, 1, 3)), precision="float32", method="direct", device="cpu")
    import tracemalloc

    for one in (image, strided, image.transpose(0, 2, 1)):
        tracemalloc.start()
        assert plan(one, out) is out
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100_000


def test_results_of_other_types(random):
    image, kernel = random.integers(0, 255, (9, 9), np.uint8), np.full((3, 3), 0.5)
    want = np.clip(np.rint(scipy.ndimage.convolve(image.astype(float), kernel, mode="constant")), 0, 255)
    np.testing.assert_array_equal(convolume.convolve(image, kernel, dtype=np.uint8, device="cpu"), want)
    out = np.zeros((18, 9), np.int16)[::2]
    assert convolume.convolve(image, kernel, out=out, device="cpu") is out
    assert out.max() > 255


def test_adjoint_and_linear_operator(random):
    from scipy.sparse.linalg import LinearOperator

    kernel = random.standard_normal((3, 4))
    plan = convolume.Convolver((12, 15), kernel, dtype=np.float64, mode="full", boundary="reflect", device="cpu")
    x, y = random.standard_normal(plan.input_shape), random.standard_normal(plan.output_shape)
    assert np.vdot(plan(x), y) == pytest.approx(np.vdot(x, plan.adjoint()(y)), rel=1e-12)
    operator = plan.as_linear_operator()
    assert isinstance(operator, LinearOperator) and operator.shape == (14 * 18, 12 * 15)
    np.testing.assert_allclose(operator.rmatvec(y.ravel()), plan.adjoint()(y).ravel())


def test_plan():
    plan = convolume.Convolver((32, 64, 64), np.ones((9, 9, 9)), method="in-core", device="cpu").plan
    assert plan.method == "in-core" and plan.engines == ["cpu:0"]
    assert plan.seconds > 0 and plan.host_bytes > 32 * 64 * 64 * 8
    assert "in-core" in str(plan) and json.dumps(plan.to_dict())


@pytest.mark.parametrize("shape", [(4, 5, 6), (5, 6), (7,)])
def test_kernel_in_fft_order(random, shape):
    kernel = random.random(shape)
    image = random.random([2 * n + 1 for n in shape])
    want = scipy.ndimage.convolve(image, kernel, mode="constant")
    got = convolume.convolve(image, np.fft.ifftshift(kernel), origin="corner", device="cpu")
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_pickled_plans_anew(random):
    plan = convolume.Convolver((8, 9), random.random((3, 3)), boundary="wrap", origin=(0, 1), device="cpu")
    image = random.random((8, 9)).astype(np.float32)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan))(image), plan(image))


def test_sixteen_callers_of_one_plan(random):
    kernel = random.random((3, 5, 5)).astype(np.float32)
    plan = convolume.Convolver((16, 40, 40), kernel, method="in-core", device="cpu")
    images = [random.random((16, 40, 40)).astype(np.float32) for _ in range(16)]
    want = [plan(image) for image in images]
    wrong = []

    def call(i):
        for _ in range(5):
            if not np.array_equal(plan(images[i]), want[i]):
                wrong.append(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_lock_is_released(random):
    kernel = random.random((9, 9, 9)).astype(np.float32)
    plan = convolume.Convolver((64, 160, 160), kernel, method="direct", device="cpu", workers=1)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.perf_counter()
    plan(np.ones((64, 160, 160), np.float32))
    end = time.perf_counter()
    done.set()
    ticker.join()
    assert sum(begin < t < end for t in ticks) > 5


def test_no_memory_is_lost(random):
    image, kernel = random.random((8, 16, 16)).astype(np.float32), random.random((3, 3, 3)).astype(np.float32)
    plan = convolume.Convolver(image.shape, kernel, device="cpu")

    def work(times):
        for _ in range(times):
            plan(image)
            convolume.convolve(image, kernel, device="cpu")
            with pytest.raises(ValueError):
                plan(image[1:])
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    work(300)
    before = work(1000)
    assert work(4000) - before < 4096  # KiB


def test_progress(random):
    fractions = []
    convolume.convolve(random.random((3, 32, 64, 64)), np.ones((5, 5, 5)), method="direct", device="cpu",
                       progress=fractions.append)
    assert fractions == sorted(fractions) and fractions[-1] == pytest.approx(1)


def test_progress_that_raises_ends_the_work(random):
    def give_up(_):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        convolume.convolve(random.random((64, 128, 128)), random.random((7, 7, 7)), method="direct", device="cpu",
                           progress=give_up)


def test_control_c(tmp_path):
    program = ("import numpy, convolume, sys\n"
               "print('ready', flush=True)\n"
               "try:\n"
               "    image, kernel = numpy.ones((256, 512, 512), 'f4'), numpy.random.random((15, 15, 15))\n"
               "    convolume.convolve(image, kernel, method='direct', device='cpu', workers=1)\n"
               "except KeyboardInterrupt:\n"
               "    sys.exit(77)\n")
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    run.stdout.readline()
    time.sleep(1.5)
    run.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert run.wait(60) == 77
    assert time.monotonic() - begin < 20
    run.stdout.close()


def test_control_c_while_planning():
    program = ("import numpy, convolume, time\n"
               "kernel = numpy.ones((440, 440, 440), 'f4')  # the search for factors takes longest\n"
               "for turn in range(3):\n"
               "    print('ready', flush=True)\n"
               "    begin, stopped = time.monotonic(), 0\n"
               "    try:\n"
               "        convolume.Convolver((460, 460, 460), kernel, device='cpu', workers=1)\n"
               "    except KeyboardInterrupt:\n"
               "        stopped = 1\n"
               "    print(time.monotonic() - begin, stopped, flush=True)\n")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as run:
        for _ in range(2):  # memory is used for the first time in the first turn
            run.stdout.readline()
            whole, stopped = map(float, run.stdout.readline().split())
            assert not stopped
        run.stdout.readline()
        time.sleep(0.15 * whole)
        run.send_signal(signal.SIGINT)
        seconds, stopped = map(float, run.stdout.readline().split())
        assert stopped
        assert seconds < 0.7 * whole
        assert run.wait(60) == 0


def test_arrays_of_others():
    class Borrowed:
        """Stands for an array of another library in host memory."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **how):
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    got = convolume.convolve(Borrowed(np.arange(6.0)), [1, 1], mode="full", device="cpu")
    np.testing.assert_allclose(got, np.convolve(np.arange(6.0), [1, 1]))


IMAGE = np.ones((4, 5))
REFUSED = [
    (lambda: convolume.convolve(IMAGE, np.zeros((3, 3))), ValueError, "zero everywhere"),
    (lambda: convolume.convolve(IMAGE, np.ones((1, 1, 1, 1))), ValueError, "dimensions"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], mode="some"), ValueError, "some"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], boundary="magic"), ValueError, "magic"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], axes=(0, 0)), ValueError, "axes"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], axes=(0, 5)), ValueError, "axes"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], origin=(0,)), ValueError, "origin"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], origin=(0, 9)), ValueError, "center|inside|outside"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], out=np.empty((4, 4))), ValueError, "shape"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], out=np.empty((4, 5), np.float16)), ValueError, "float16"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], out=np.broadcast_to(1.0, (4, 5))), ValueError, "read-only"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], out=IMAGE), ValueError, "overlap|apart|memory"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], dtype="U3"), ValueError, "written as"),
    (lambda: convolume.convolve(IMAGE * 1j, [[1.0]], dtype=np.float32), ValueError, "complex"),
    (lambda: convolume.convolve(np.array([["a"]]), [[1.0]]), ValueError, "type"),
    (lambda: convolume.convolve([[1.0], [1.0, 2.0]], [[1.0]]), ValueError, "no array"),
    (lambda: convolume.convolve(np.ma.masked_equal(IMAGE, 1), [[1.0]]), ValueError, "masked"),
    (lambda: convolume.convolve(np.array([1.0, np.nan]), [1.0]), ValueError, "nan"),
    (lambda: convolume.convolve(np.array([2**60 + 1]), [1.0]), ValueError, "2\\*\\*53"),
    (lambda: convolume.convolve(np.empty((0, 3)), [[1.0]]), ValueError, "empty|extent|no"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], workers=0), ValueError, "workers"),
    (lambda: convolume.convolve(IMAGE, [[1.0]], device="tpu"), ValueError, "tpu"),
    (lambda: convolume.convolve(np.ones((99, 99)), np.ones((3, 3)), max_host_mem="1K", device="cpu"), MemoryError,
     "allow|memory"),
    (lambda: convolume.Convolver((4, 5), [[1.0]], device="cpu")(np.ones((5, 4))), ValueError, "planned"),
    (lambda: convolume.Convolver((4, 5, 6, 7), [[1.0]]), ValueError, "dimensions"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused_in_one_sentence(case):
    call, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words) as refused:
        call()
    assert isinstance(refused.value, convolume.Error)
    assert "\n" not in str(refused.value)


def test_fields_of_packed_records(random):
    """Their samples are not whole numbers of samples apart."""
    records = np.zeros(60, [("flag", "u1"), ("value", "f4")])
    records["value"] = random.random(60, np.float32)
    field, taps = records["value"], np.array([1.0, 2.0, 3.0])
    want = np.convolve(field, taps)
    assert np.allclose(convolume.convolve(field, taps, mode="full", device="cpu"), want)
    assert np.allclose(convolume.convolve(field, field[:3], mode="full", device="cpu"), np.convolve(field, field[:3]))
    assert np.allclose(convolume.filter_bank(field, [taps], device="cpu"), np.convolve(field, taps, "same"))
    with pytest.raises(convolume.InvalidArgument, match="no whole samples of 4"):
        convolume.convolve(field, taps, out=field, device="cpu")


@pytest.mark.parametrize("keywords, message", [({"axes": 1.5}, "axes is 1.5"), ({"axes": (0, "x")}, "axes is"),
                                               ({"workers": "2"}, "workers is '2'")])
def test_numbers_of_other_types_are_refused(keywords, message):
    with pytest.raises(convolume.InvalidArgument, match=message):
        convolume.convolve(np.ones((4, 4)), np.ones(2 if "axes" in keywords else (2, 2)), **keywords)


def test_no_gpu_is_said():
    if convolume.gpu_devices():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="CUDA|GPU"):
        convolume.convolve(IMAGE, [[1.0]], device="gpu")


def test_forked_processes():
    reading, writing = os.pipe()
    convolume.convolve(IMAGE, [[1.0]], device="cpu")
    child = os.fork()
    if child == 0:
        same = np.array_equal(convolume.convolve(IMAGE, [[1.0]], device="cpu"), IMAGE)
        os.write(writing, b"y" if same else b"n")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reading, 1) == b"y"
    os.close(reading)
    os.close(writing)


def test_libraries_of_transforms():
    random = np.random.default_rng(44)
    image, kernel = random.random((20, 30, 40), np.float32), random.random((9, 9, 9), np.float32)
    own = convolume.convolve(image, kernel, method="in-core", device="cpu", fft="own")
    try:
        other = convolume.convolve(image, kernel, method="in-core", device="cpu", fft="fftw")
    except convolume.Unavailable as error:
        assert "built without FFTW: leave out fft" in str(error)
    else:
        np.testing.assert_allclose(own, other, rtol=1e-5)
    with pytest.raises(ValueError, match='auto, own or fftw, not "mkl"'):
        convolume.convolve(image, kernel, device="cpu", fft="mkl")


def test_a_value_outside_that_is_far_from_the_image_costs_digits():
    """The figures of docs/accuracy.md, in the middle of an image that the boundary does not reach."""
    random = np.random.default_rng(0)
    image, kernel = random.random((100, 100)), random.random((3, 3))
    kernel /= kernel.sum()
    middle = np.s_[40:60, 40:60]
    want = scipy.ndimage.convolve(image, kernel)[middle]
    for precision, outside, least, most in (("float32", 1, 0, 1e-6), ("float32", 100, 1e-6, 3e-5),
                                            ("float32", 1e6, 1e-2, 2e-1), ("float64", 1e6, 0, 1e-9)):
        got = convolume.convolve(image, kernel, boundary="constant", cval=outside, precision=precision)[middle]
        error = np.linalg.norm(got - want) / np.linalg.norm(want)
        assert least <= error < most, (precision, outside, error)


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint16", "float32", "complex128"])
def test_convolvers_choose_the_precision_as_convolve_does(random, dtype):
    image = (1000 * random.random((6, 7))).astype(dtype)
    kernel = random.random((3, 3)).astype(np.float32)
    want = convolume.convolve(image, kernel, device="cpu")
    plan = convolume.Convolver(image.shape, kernel, device="cpu",
                               **({"dtype": dtype} if np.dtype(dtype).kind == "c" else {}))
    for one in (plan, pickle.loads(pickle.dumps(plan))):
        found = one(image)
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-13 if want.dtype.char in "dD" else 1e-5)
    assert plan(image.real.astype(np.float32)).dtype.char in "fD"
    if want.dtype == np.float64:
        assert plan.adjoint()(image).dtype == np.float64
        assert convolume.Convolver(image.shape, kernel, precision="float32", device="cpu")(image).dtype == np.float32
        assert convolume.Convolver(image.shape, kernel, dtype="float32", device="cpu")(image).dtype == np.float32


@pytest.mark.parametrize(("taps", "options"), [
    ((3, 4), {}), ((4,), {}), ((3, 4), {"mode": "full", "boundary": "reflect"}), ((3, 4), {"mode": "valid"}),
    ((3, 4), {"origin": (0, 3)}), ((3, 4), {"origin": "scipy"}), ((3, 4), {"origin": "corner"}),
    ((3, 4), {"origin": "peak"})])
def test_convolvers_take_kernels_of_fewer_dimensions(random, taps, options):
    image, kernel = random.random((5, 7, 8)), random.random(taps)
    plan = convolume.Convolver(image.shape, kernel, device="cpu", **options)
    np.testing.assert_allclose(plan(image), convolume.convolve(image, kernel, device="cpu", **options), rtol=1e-12)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(plan))(image), plan(image))
    result = random.random(plan.output_shape)
    assert np.vdot(plan(image), result) == pytest.approx(np.vdot(image, plan.adjoint()(result)))


def test_kernels_of_more_or_no_dimensions_are_refused():
    for kernel in (np.ones((3, 3)), np.float64(2)):
        with pytest.raises(convolume.InvalidArgument, match="the image 1: give one of at least one, and no"):
            convolume.Convolver((5,), kernel, device="cpu")
