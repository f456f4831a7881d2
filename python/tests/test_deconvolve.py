# SPDX-License-Identifier: Apache-2.0
"""Tests of deconvolution, against a plain loop in double precision."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import convolume


def blurred(random, shape=(12, 24, 24)):
    specimen = np.zeros(shape)
    specimen[tuple(random.integers(4, n - 4, 6) for n in shape)] = 1000
    axes = [np.exp(-np.linspace(-2, 2, k) ** 2) for k in (5, 7, 7)]
    psf = axes[0][:, None, None] * axes[1][:, None] * axes[2]
    psf[1, 2, 3] *= 1.5  # makes the PSF asymmetric
    psf /= psf.sum()
    return random.poisson(scipy.ndimage.convolve(specimen, psf, mode="constant") + 2).astype(np.float64), psf


def test_psf_in_fft_order(random):
    image, psf = blurred(random)
    for method in ({}, {"method": "rl-tv"}):
        want = convolume.Deconvolver(image.shape, psf, iterations=5, device="cpu", **method)(image)
        got = convolume.Deconvolver(image.shape, np.fft.ifftshift(psf), iterations=5, origin="corner", device="cpu",
                                    **method)(image)
        np.testing.assert_array_equal(got, want)


def plain_richardson_lucy(image, psf, iterations, background=0.0):
    """Runs Richardson-Lucy from the mean, with zeros outside: x <- x / (Aᵀ1) Aᵀ(y / (A x + b))"""
    def forward(x):
        return scipy.ndimage.convolve(x, psf, mode="constant")

    def backward(y):
        return scipy.ndimage.correlate(y, psf, mode="constant")

    estimate = np.full(image.shape, (image - background).mean())
    weight = backward(np.ones(image.shape))
    for _ in range(iterations):
        estimate = estimate / weight * backward(image / (forward(estimate) + background))
    return estimate


def test_against_the_plain_loop(device, random):
    image, psf = blurred(random)
    got = convolume.richardson_lucy(image, psf, 15, acceleration="none", edges="zero", background=1.5, device=device)
    want = plain_richardson_lucy(image, psf, 15, 1.5)
    assert got.dtype == np.float32 and got.shape == image.shape
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4 * want.max())


def test_wiener_with_wrapped_edges_is_the_filter(device, random):
    image, psf = blurred(random)
    got = convolume.wiener(image, psf, 0.05, edges="wrap", background=0, stop=1e-6, iterations=200, device=device)
    padded = np.zeros(image.shape)
    padded[:5, :7, :7] = psf
    transfer = np.fft.fftn(np.roll(padded, (-2, -3, -3), (0, 1, 2)))
    want = np.fft.ifftn(np.conj(transfer) * np.fft.fftn(image) / (np.abs(transfer) ** 2 + 0.05)).real
    np.testing.assert_allclose(got, want, atol=1e-3 * np.abs(want).max())


def test_planned_once_called_often(random):
    image, psf = blurred(random)
    plan = convolume.Deconvolver(image.shape, psf, iterations=4, device="cpu")
    first = plan(image)
    out = np.empty(image.shape, np.uint16)
    assert plan(image.astype(np.uint16), out) is out
    np.testing.assert_allclose(out, np.clip(np.rint(first), 0, 65535), atol=1)
    assert plan.report["iterations"] == 4 and plan.report["likelihood"] < 0
    assert "object" in plan.plan or "memory" in plan.plan


def test_iterations_are_told(random):
    image, psf = blurred(random)
    seen_iterations = []
    convolume.richardson_lucy(image, psf, 6, acceleration="none", callback=seen_iterations.append, device="cpu")
    assert [one.number for one in seen_iterations] == list(range(1, 7)) and seen_iterations[0].of == 6
    likelihoods = [one.likelihood for one in seen_iterations]
    assert likelihoods == sorted(likelihoods) and likelihoods[-1] <= 0


def test_callback_that_raises_ends_it(random):
    image, psf = blurred(random)
    seen_iterations = []

    def stop_at_three(iteration):
        seen_iterations.append(iteration.number)
        if iteration.number == 3:
            raise StopIteration("three are enough")

    with pytest.raises(StopIteration, match="three"):
        convolume.richardson_lucy(image, psf, 50, callback=stop_at_three, device="cpu")
    assert seen_iterations == [1, 2, 3]


def test_callback_that_has_enough(random):
    image, psf = blurred(random)
    seen = []

    def three(iteration):
        seen.append(iteration)
        return iteration.number == 3

    got = convolume.richardson_lucy(image, psf, 50, acceleration="none", callback=three, device="cpu")
    assert len(seen) == 3
    want = convolume.richardson_lucy(image, psf, 3, acceleration="none", device="cpu")
    np.testing.assert_allclose(got, want, rtol=1e-5)
    with pytest.raises(ValueError, match="callback"):
        seen[0].estimate  # noqa: B018


def test_callback_that_has_enough_in_the_words_of_numpy(random):
    image, psf = random.random((6, 8, 9)), random.random((3, 3, 3))
    seen = []

    def enough(iteration):
        seen.append(iteration.number)
        return np.float64(len(seen)) >= 3

    convolume.richardson_lucy(image, psf, 50, acceleration="none", callback=enough, device="cpu")
    assert seen == [1, 2, 3]


def test_goes_on_from_an_estimate(random):
    image, psf = blurred(random)
    plan = convolume.Deconvolver(image.shape, psf, iterations=4, acceleration="none", edges="zero", device="cpu")
    want = convolume.richardson_lucy(image, psf, 8, acceleration="none", edges="zero", device="cpu")
    np.testing.assert_allclose(plan(image, start=plan(image)), want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("method", ["rl", "rl-tv", "shb", "wb", "rlgc", "wiener"])
def test_every_method_sharpens(method, random):
    image, psf = blurred(random)
    plan = convolume.Deconvolver(image.shape, psf, method=method, background=2, iterations=20, device="cpu")
    assert plan(image).max() > 1.5 * image.max()


def test_held_out_photons_end_it(random):
    image, psf = blurred(random)
    plan = convolume.Deconvolver(image.shape, psf, stop="auto", iterations=100, background=2, gain=1, offset=0,
                                 device="cpu")
    plan(image)
    assert 0 < plan.report["iterations"] < 100 and plan.report["searched"] > 0


def test_a_search_is_the_default(random):
    image, psf = blurred(random)
    want = convolume.Deconvolver(image.shape, psf, stop="auto", iterations=200, coarse_start=100, device="cpu")
    plan, numbers = convolume.Deconvolver(image.shape, psf, device="cpu"), []
    found = plan(image, callback=lambda done: numbers.append((done.number, done.estimate.shape)))
    np.testing.assert_array_equal(found, want(image))
    assert plan.report["searched"] > 0
    assert numbers == [(1 + n, image.shape) for n in range(plan.report["iterations"])]  # none of the search
    np.testing.assert_array_equal(convolume.richardson_lucy(image, psf, device="cpu"), found)


def test_a_given_number_of_iterations_is_done(random):
    image, psf = blurred(random)
    for options in ({"iterations": 7}, {"iterations": 7, "stop": None}, {"iterations": 7, "method": "shb"}):
        plan = convolume.Deconvolver(image.shape, psf, device="cpu", **options)
        plan(image)
        assert (plan.report["iterations"], plan.report["coarse_iterations"]) == (7, 0)
        assert plan.report.get("searched", 0) == 0
    for method in ("nnls", "wiener"):
        plan = convolume.Deconvolver(image.shape, psf, method=method, device="cpu")
        plan(image)
        assert 0 < plan.report["iterations"] <= 30


def test_one_and_two_dimensions(random):
    image = random.poisson(50, 40).astype(float)
    assert convolume.richardson_lucy(image, [1.0, 2, 1], 3, device="cpu").shape == (40,)
    assert convolume.richardson_lucy(np.outer(image, image), np.ones((3, 3)), 3, device="cpu").shape == (40, 40)


def test_control_c():
    program = ("import numpy, convolume, sys\n"
               "image = numpy.random.poisson(9, (64, 256, 256)).astype('f4')\n"
               "print('ready', flush=True)\n"
               "try:\n"
               "    convolume.richardson_lucy(image, numpy.ones((9, 9, 9)), 10000, device='cpu')\n"
               "except KeyboardInterrupt:\n"
               "    sys.exit(77)\n")
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    run.stdout.readline()
    time.sleep(1.5)
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 77
    run.stdout.close()


IMAGE, PSF = np.ones((9, 9)), np.ones((3, 3))
REFUSED = [
    (lambda: convolume.richardson_lucy(IMAGE, np.ones((3, 3, 3)), device="cpu"), "dimensions"),
    (lambda: convolume.richardson_lucy(IMAGE, np.zeros((3, 3)), device="cpu"), "zero"),
    (lambda: convolume.richardson_lucy(IMAGE * np.nan, PSF, device="cpu"), "nan"),
    (lambda: convolume.richardson_lucy(IMAGE * 1j, PSF, device="cpu"), "complex"),
    (lambda: convolume.richardson_lucy(IMAGE, PSF, 0, device="cpu"), "iteration"),
    (lambda: convolume.richardson_lucy(IMAGE, PSF, edges="constant", device="cpu"), "constant"),
    (lambda: convolume.richardson_lucy(IMAGE, PSF, acceleration="warp", device="cpu"), "warp"),
    (lambda: convolume.Deconvolver((9, 9), PSF, device="cpu")(np.ones((8, 9))), "planned"),
    (lambda: convolume.Deconvolver((9, 9), PSF, device="cpu")(IMAGE, start=np.ones((9, 8))), "start has the shape"),
    (lambda: convolume.Deconvolver((9, 9), PSF, spacing=(1, 1, 1), device="cpu"), "spacing"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused_in_one_sentence(case):
    call, words = REFUSED[case]
    with pytest.raises(ValueError, match=words) as refused:
        call()
    assert isinstance(refused.value, convolume.Error)


def test_saturated_pixels_are_bounds(random):
    image = random.poisson(50, (6, 20, 24)).astype(np.uint16)
    image[2, 5:9, 5:9] = 4095
    psf = random.random((3, 5, 5)).astype(np.float32)
    deconvolver = convolume.Deconvolver(image.shape, psf, iterations=4, saturation=4095, device="cpu")
    first = deconvolver(image)
    assert deconvolver.report["saturated_pixels"] == 16
    np.testing.assert_array_equal(first, deconvolver(np.where(image == 4095, 60000, image)))
    assert not np.array_equal(first, convolume.richardson_lucy(image, psf, 4, device="cpu", saturation=None))


def test_coarse_start_comes_nearer(device, random):
    image, psf = blurred(random, (18, 48, 50))
    psf = scipy.ndimage.gaussian_filter(np.pad(psf, 4), 1.5)
    image = random.poisson(scipy.ndimage.gaussian_filter(image, 1.5)).astype(np.uint16)
    plain = convolume.Deconvolver(image.shape, psf, iterations=3, background=1, device=device)
    coarse = convolume.Deconvolver(image.shape, psf, iterations=3, background=1, coarse_start=15, device=device)
    assert "15 iterations on an image of 18×24×25" in coarse.plan and "begins" not in plain.plan
    seen_iterations = []
    result = coarse(image, callback=lambda iteration: seen_iterations.append(iteration.number))
    assert seen_iterations == [1, 2, 3]
    assert coarse.report["coarse_iterations"] >= 15 and coarse.report["iterations"] == 3
    plain(image)
    assert plain.report["coarse_iterations"] == 0
    assert coarse.report["likelihood"] > plain.report["likelihood"]
    np.testing.assert_array_equal(
        result, convolume.richardson_lucy(image, psf, 3, background=1, coarse_start=15, device=device))
    # Runs that continue from an estimate ignore the coarse start.
    np.testing.assert_array_equal(coarse(image, start=result), plain(image, start=result))
    assert coarse.report["coarse_iterations"] == 0


def test_coarse_start_is_refused_in_one_sentence():
    with pytest.raises(convolume.InvalidArgument, match="coarse_start does not apply to the method wiener"):
        convolume.Deconvolver((20, 20), np.ones((5, 5)), method="wiener", coarse_start=3, device="cpu")
    with pytest.raises(convolume.InvalidArgument, match="from 0"):
        convolume.Deconvolver((20, 20), np.ones((5, 5)), coarse_start=-3, device="cpu")


@pytest.mark.parametrize("method", ["rl", "shb", "wb", "rlgc", "nnls", "wiener"])
def test_values_that_ask_for_nothing_are_accepted_with_every_method(method):
    idle = {"acceleration": "none", "tv_weight": 0, "roughness": "auto", "coarse_start": 0, "unmatched": 0,
            "saturation": None, "no_data": "auto", "hot_pixels": "off", "nan": "error"}
    for name, value in idle.items():
        if (method, name) != ("wb", "unmatched"):
            convolume.Deconvolver((9, 9), np.ones((3, 3)), method=method, device="cpu", **{name: value})


def test_images_of_a_type_that_is_planned_for(device, random):
    image = random.poisson(20, (6, 20, 22)).astype(np.uint16)
    psf = np.ones((3, 3, 3))
    options = {"iterations": 4, "edges": "zero", "device": device}
    planned = convolume.Deconvolver(image.shape, psf, image_dtype=np.uint16, **options)
    np.testing.assert_array_equal(planned(image), convolume.Deconvolver(image.shape, psf, **options)(image))
    np.testing.assert_array_equal(planned(image), convolume.richardson_lucy(image, psf, 4, edges="zero", device=device))
    with pytest.raises(convolume.InvalidArgument, match="uint16"):
        planned(image.astype(np.float32))


def blurred_by_depth(specimen, psfs, depths, spacing):
    """Blurs each plane by the PSFs of the two depths around it, in proportion."""
    light = np.zeros(specimen.shape)
    for z in range(len(specimen)):
        shares = [np.interp(z * spacing, depths, np.eye(len(depths))[k]) for k in range(len(depths))]
        plane = np.zeros(specimen.shape)
        plane[z] = specimen[z]
        light += scipy.ndimage.convolve(plane, sum(share * psf for share, psf in zip(shares, psfs)), mode="constant")
    return light


def test_psfs_at_depths(random):
    shape, spacing, depths = (14, 20, 22), 0.5, [0, 2, 6.5]
    axes = [[np.exp(-(np.arange(-3, 4) / width) ** 2) for width in (1.5 + k, 1.0 + k / 2, 1.2)] for k in range(3)]
    psfs = [a[:, None, None] * b[:, None] * c for a, b, c in axes]
    psfs = [psf / psf.sum() for psf in psfs]
    specimen = random.uniform(1, 9, shape)
    image = blurred_by_depth(specimen, psfs, depths, spacing)
    options = {"iterations": 1, "acceleration": "none", "edges": "zero", "background": 0, "device": "cpu",
               "spacing": (spacing, 0.1, 0.1)}
    # The specimen itself is where iterations stay.
    deconvolver = convolume.Deconvolver(shape, psfs, depths=depths, **options)
    np.testing.assert_allclose(deconvolver(image, start=specimen), specimen, rtol=1e-4)
    assert "PSFs        3" in deconvolver.plan
    one = convolume.Deconvolver(shape, psfs[1], **options)(image, start=specimen)
    assert np.abs(one - specimen).max() > 0.1
    del options["iterations"]
    got = convolume.richardson_lucy(image, psfs, 3, depths=depths, **options)
    want = convolume.Deconvolver(shape, psfs, depths=depths, iterations=3, **options)(image)
    np.testing.assert_array_equal(got, want)
    with pytest.raises(convolume.InvalidArgument, match="a depth for each PSF"):
        convolume.Deconvolver(shape, psfs, depths=[0, 1], **options)
    with pytest.raises(convolume.InvalidArgument, match="give spacing"):
        convolume.Deconvolver(shape, psfs, depths=depths)
    with pytest.raises(convolume.InvalidArgument, match="three dimensions"):
        convolume.Deconvolver(shape[1:], [psf[3] for psf in psfs], depths=depths, spacing=(0.1, 0.1))
