# SPDX-License-Identifier: Apache-2.0
"""Compares methods of `convolume deconvolve` with loops in NumPy from the formulas of their papers, in double
precision: check_deconvolve_methods.py CONVOLUME. Ends with 77 (skipped) if a module is missing."""
from deconvolve_oracle import Blur, check, close, kernel, np, restored_by_command, rng, run, run_parts, signal, specimen

ITERATIONS = 20
# Largest error relative to the largest value, after 20 steps by corrections from float32 transforms.
BOUND = 1e-5
LEAST_WEIGHT = 0.01

# Extents of image and PSF, edges, background light, and the camera's offset below it.
CASES = [((9, 24, 21), (3, 5, 7), "extend", 0, 0), ((9, 24, 21), (3, 5, 7), "extend", 12.5, 0),
         ((9, 24, 21), (3, 5, 7), "extend", 2.5, 100), ((8, 20, 17), (4, 6, 2), "reflect", 3, 40),
         ((1, 31, 30), (1, 8, 9), "zero", 5, 7), ((8, 20, 18), (3, 7, 5), "wrap", 1, 0)]


class Problem:
    """A recording, and the starting point of all methods."""

    def __init__(self, shape, extents, edges, background, offset):
        psf = kernel(extents)
        center = [k // 2 for k in extents]
        self.psf = psf / psf.sum()
        self.background = background
        self.offset = offset
        self.record(specimen(shape, self.psf, center, background) + (background == 0))
        self.blur = Blur(shape, self.psf, center, edges)
        self.weight = self.blur.back(np.ones(shape))
        self.start = np.full(self.blur.object, self.mean - background)
        self.options = ["--edges", edges, "--background", str(background + offset), "--offset", str(offset)]
        self.name = f"{shape} {extents}, {edges}, background {background}, offset {offset}"
        np.save("h.npy", psf)

    def record(self, counts):
        """Records counts above the offset, with read noise that takes some below it."""
        recorded = counts + self.offset
        if self.offset > 0:
            recorded = np.maximum(recorded + rng.integers(-4, 5, counts.shape), 0)
        np.save("y.npy", recorded.astype("u2"))
        self.above_offset = recorded - self.offset
        self.mean = self.above_offset.mean()
        self.y = np.maximum(self.above_offset, 0)

    def model(self, x):
        return np.maximum(self.blur.forward(x) + self.background, 1e-6 * self.mean)

    def corrected(self, x, correction):
        lit = self.weight >= LEAST_WEIGHT
        return np.where(lit, x * correction / np.where(lit, self.weight, 1), 0)

    def step(self, x):
        return self.corrected(x, self.blur.back(self.y / self.model(x)))

    def image(self, x):
        return x[self.blur.inside()]

    def restored(self, method, *options, iterations=ITERATIONS):
        return restored_by_command("--method", method, "--iterations", str(iterations), *self.options, *options)


def scaled_heavy_ball(problem):
    x = before = problem.start
    for k in range(1, ITERATIONS + 1):
        ahead = np.maximum(x + (k - 1) / (k + 2) * (x - before), x / 10)
        before, x = x, problem.step(ahead)
    return problem.image(x)


def check_scaled_heavy_ball():
    for case in CASES:
        problem = Problem(*case)
        close("shb " + problem.name, scaled_heavy_ball(problem), problem.restored("shb"), BOUND)


def variation_slope(x, smallest):
    """Returns the derivative of the sum of sqrt(|gradient|^2 + smallest^2), by forward differences."""
    steps = [np.diff(x, axis=a, append=np.take(x, [-1], a)) for a in range(3)]
    size = np.sqrt(sum(d ** 2 for d in steps) + smallest ** 2)
    slope = np.zeros(x.shape)
    for a, d in enumerate(steps):
        unit = d / size
        before = np.roll(unit, 1, a)
        before[(slice(None),) * a + (0,)] = 0
        slope += before - unit
    return slope


def check_total_variation():
    """Checks steps with a given weight, and with that whose slope is as large as the noise of a correction."""
    for case in CASES:
        problem = Problem(*case)
        above = problem.above_offset - problem.background
        gain = 4
        chosen = np.sqrt((problem.psf ** 2).sum() * above.sum() / (gain * (above ** 2).sum()))
        for weight, options in ((0.003, ["--tv", "0.003"]), (chosen, ["--gain", str(gain)])):
            for accelerated in (True, False):
                smallest = max(1e-3, 40 * weight) * above.mean()
                x = before = problem.start
                for k in range(1, ITERATIONS + 1):
                    ahead = np.maximum(x + accelerated * (k - 1) / (k + 2) * (x - before), x / 10)
                    slope = weight * variation_slope(ahead, smallest)
                    lit = problem.weight >= LEAST_WEIGHT
                    light = np.maximum(problem.weight, 0)
                    divisor = np.where(lit, np.maximum(light + slope * np.sqrt(light), light / 10), 1)
                    correction = problem.blur.back(problem.y / problem.model(ahead))
                    before, x = x, np.where(lit, ahead * correction / divisor, 0)
                got = problem.restored("rl-tv", *options, *([] if accelerated else ["--acceleration", "none"]))
                close(f"rl-tv {options} {problem.name}", problem.image(x), got, BOUND)


def full_width(line, peak):
    """Returns the full width at half maximum, interpolated between samples."""
    width = 0
    for side in (line[peak:], line[peak::-1]):
        below = np.nonzero(side <= side[0] / 2)[0]
        width += len(side) - 0.5 if len(below) == 0 else np.interp(
            side[0] / 2, [side[below[0]], side[below[0] - 1]], [below[0], below[0] - 1])
    return width


def back_projector(psf, alpha):
    """Returns the back projector of Wiener and Butterworth, as a kernel whose adjoint is applied."""
    middle = [k // 2 for k in psf.shape]
    peak = np.unravel_index(psf.argmax(), psf.shape)
    H = np.fft.fftn(np.roll(psf, [-c for c in middle], (0, 1, 2)))
    w = np.zeros(psf.shape)
    gains = []
    for a, n in enumerate(psf.shape):
        if n == 1:
            continue
        line = np.moveaxis(psf, a, 0)[(slice(None), *np.delete(peak, a))]
        d = full_width(line, peak[a])
        largest = np.abs(H).max(tuple(b for b in range(3) if b != a))[:n // 2 + 1]
        gains.append(np.interp(n / d, np.arange(n // 2 + 1), largest))
        shape = [1, 1, 1]
        shape[a] = n
        w += ((np.fft.fftfreq(n) * d) ** 2).reshape(shape)
    beta = np.mean(gains)
    B = H / (np.abs(H) ** 2 + alpha) / np.sqrt(1 + (1 / (beta ** 2 + alpha) ** 2 - 1) * w ** 10)
    return np.roll(np.fft.ifftn(B).real, middle, (0, 1, 2)) / B[0, 0, 0].real


def check_wiener_butterworth():
    for case in CASES:
        problem = Problem(*case)
        taps = back_projector(problem.psf, 0.02)
        unmatched = Blur(problem.y.shape, taps, [k // 2 for k in taps.shape], case[2])
        x = problem.start
        for k in range(ITERATIONS):
            if k < 3:
                x = x * np.maximum(0.1, 1 + unmatched.back(problem.y / problem.model(x) - 1))
                x[problem.weight < LEAST_WEIGHT] = 0
            else:
                x = problem.step(x)
            if k == 2:
                close("wb, unmatched, " + problem.name, problem.image(x),
                      problem.restored("wb", "--unmatched", "3", "--noise-to-signal", "0.02", iterations=3), BOUND)
        close("wb " + problem.name, problem.image(x), problem.restored(
            "wb", "--unmatched", "3", "--noise-to-signal", "0.02", "--acceleration", "none"), BOUND)


def philox(counter, key):
    """Computes Philox4x32-10 of arrays of counters (4) and a key (2): four words each."""
    c = [np.broadcast_to(np.asarray(v, np.uint64), counter[2].shape).copy() for v in counter]
    low = np.uint64(0xFFFFFFFF)
    k0, k1 = key
    for _ in range(10):
        a = np.uint64(0xD2511F53) * c[0]
        b = np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) % 2 ** 32, (k1 + 0xBB67AE85) % 2 ** 32
    return c


def half_of_photons(counts, seed):
    """Returns half of each pixel's photons: each of up to 1024 photons has its own random bit."""
    pixel = np.arange(counts.size, dtype=np.uint64)
    left = counts.ravel().astype(np.int64)
    taken = np.zeros(counts.size, np.int64)
    for word in range(int(-(-left.max() // 32))):
        if word % 4 == 0:
            words = philox([word // 4, 17, pixel, np.uint64(0)], (seed, 0))
        mask = (np.uint64(1) << np.clip(left, 0, 32).astype(np.uint64)) - np.uint64(1)
        taken += sum((((words[word % 4] & mask) >> np.uint64(b)) & np.uint64(1)).astype(np.int64) for b in range(32))
        left -= 32
    return taken.reshape(counts.shape)


def check_gradient_consensus():
    for case in CASES:
        problem = Problem(*case)
        problem.record(np.minimum(problem.y, 1000))
        problem.start[:] = problem.mean - problem.background
        lit = problem.weight >= LEAST_WEIGHT
        w = np.where(lit, problem.weight, 1)
        x = problem.start
        disputed = 0
        for k in range(1, ITERATIONS + 1):
            model = problem.model(x)
            half = half_of_photons(problem.y, k)
            a, b = (problem.blur.back(2 * part / model) for part in (half, problem.y - half))
            agreement = np.where(lit, (a / w - 1) * (b / w - 1), 0)
            agreement = problem.blur.back(problem.blur.forward(agreement))
            x = np.where(agreement < 0, x, problem.corrected(x, (a + b) / 2))
            disputed += np.sum(agreement < 0)
        got = problem.restored("rlgc", "--acceleration", "none", "--gain", "1", "--consensus", "0")
        close("rlgc " + problem.name, problem.image(x), got, BOUND)
        check(disputed > 0, "rlgc: all voxels agree always")


def psnr(truth, x):
    """Returns the peak signal-to-noise ratio in dB, with the brightness that fits best."""
    x = x * (truth * x).sum() / (x * x).sum()
    return 10 * np.log10(truth.max() ** 2 / ((truth - x) ** 2).mean())


def check_held_out():
    """Checks that --stop auto is nearly as good as the best iteration, for any light level, gain and offset, and that
    it is the default with a coarse start."""
    run("psf", "-o", "h.npy", "--na", "1.2", "--ni", "1.33", "--wavelength", "520nm", "--voxel", "200,100,100nm",
        "--size", "11,25,25")
    run("phantom", "-o", "object.npy", "--size", "34,104,104", "--voxel", "200,100,100nm", "--seed", "7")
    psf = np.load("h.npy").astype("f8")
    truth = np.load("object.npy").astype("f8")
    light = signal.fftconvolve(truth, psf / psf.sum(), "valid")
    inside = tuple(slice(k // 2, k // 2 + n) for k, n in zip(psf.shape, light.shape))
    for photons, gain, offset in ((50, 1, 0), (300, 0.5, 100), (3000, 1, 0)):
        background = max(1, photons / 100)
        scale = photons / light.max()
        counts = rng.poisson(np.maximum(light * scale, 0) + background)
        np.save("y.npy", (counts / gain + offset).astype("u2"))
        options = ["--background", str(background / gain + offset)]
        # One run writes the estimates after all these numbers (check_dumped_estimates.py).
        restored_by_command("--iterations", "94", "--dump-every", "2", *options)
        all_psnr = [psnr(truth[inside], np.load(f"x.iter{n:03}.npy"))
                    for n in (*range(8, 40, 2), *range(40, 100, 6))]
        found = restored_by_command("--stop", "auto", *options)
        if offset > 0:
            check((found == restored_by_command(*options)).all(), "the default is --stop auto")
            check((found == restored_by_command("--stop", "auto", "--coarse-start", "100", *options)).all(),
                  "the default is a coarse start")
            check((found != restored_by_command("--stop", "auto", "--coarse-start", "0", *options)).any(),
                  "a coarse start")
        known = restored_by_command("--stop", "auto", *options, "--gain", str(gain), "--offset", str(offset))
        for more, result in (("", found), ("with known gain", known)):
            reached = psnr(truth[inside], result)
            # At many photons, noise that the coarse start restores remains.
            bound = 0.3 if photons < 3000 else 1.3
            check(reached > max(all_psnr) - bound, f"--stop auto at {photons} photons {more}:", reached, "dB, best",
                  max(all_psnr))
        reached = psnr(truth[inside], restored_by_command("--method", "rlgc", "--stop", "auto", *options))
        check(reached > max(all_psnr) - (0.3 if photons < 3000 else 3), f"rlgc at {photons} photons:", reached,
              "dB, best of rl", max(all_psnr))


run_parts((check_scaled_heavy_ball, check_total_variation, check_wiener_butterworth, check_gradient_consensus,
           check_held_out))
