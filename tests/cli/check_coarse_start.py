# SPDX-License-Identifier: Apache-2.0
"""Runs `convolume deconvolve --coarse-start` from file to file: check_coarse_start.py CONVOLUME. Ends with 77 (skipped)
if a module is missing."""
import json

from deconvolve_oracle import (
    Blur,
    check,
    close,
    command,
    np,
    restored_by_command,
    rng,
    run_parts,
    signal,
    specimen,
    subprocess,
)

BOUND = 2e-5


def sum_pairs_of_samples(values, axes):
    """Returns sums of pairs along axes, without a sample that is left over."""
    for axis in axes:
        pairs = values.take(range(values.shape[axis] // 2 * 2), axis)
        values = pairs.reshape(*pairs.shape[:axis], -1, 2, *pairs.shape[axis + 1:]).sum(axis + 1)
    return values


def interpolation_matrix(fine, coarse, fine_at, coarse_at):
    """Returns the matrix from coarse to fine samples of an axis: linear between the middles, half of the light each."""
    matrix = np.zeros((fine, coarse))
    for i in range(fine):
        middle = (i - fine_at - 0.5) / 2
        low = int(np.floor(middle))
        for at, share in ((low, 1 - (middle - low)), (low + 1, middle - low)):
            matrix[i, np.clip(at + coarse_at, 0, coarse - 1)] += share / 2
    return matrix


class CoarseModel:
    """The model of a coarse image: blurs interpolated voxels with the fine PSF, and sums pixels. Edges are extended,
    and it needs no coarse PSF."""

    def __init__(self, y, psf, center, background, axes):
        self.y, self.background, self.axes = y, background, axes
        self.blur = Blur(y.shape, psf, center, "extend")
        self.sums = sum_pairs_of_samples(y, axes)
        self.matrices = []
        shape = list(self.blur.object)
        for a in self.axes:
            # Keeps the coarse voxels whose interpolated light reaches the image.
            before = (psf.shape[a] - 1 - center[a] + 2) // 2
            after = (center[a] + 2) // 2
            shape[a] = self.sums.shape[a] + before + after
            self.matrices.append(interpolation_matrix(self.blur.object[a], shape[a], psf.shape[a] - 1 - center[a],
                                                      before))
        self.shape = tuple(shape)

    def along(self, x, transposed=False):
        for a, m in zip(self.axes, self.matrices):
            x = np.moveaxis(np.tensordot(m.T if transposed else m, x, (1, a)), 0, a)
        return x

    def forward(self, x):
        return sum_pairs_of_samples(self.blur.forward(self.along(x)), self.axes)

    def back(self, r):
        wide = np.zeros(self.y.shape)
        for a in self.axes:
            r = r.repeat(2, a)
        wide[tuple(slice(0, n) for n in r.shape)] = r
        return self.along(self.blur.back(wide), transposed=True)

    def estimate(self, iterations):
        background = self.background * 2 ** len(self.axes)
        weight = self.back(np.ones(self.sums.shape))
        lit = weight >= 0.01
        x = np.full(self.shape, self.sums.mean() - background)
        for _ in range(iterations):
            correction = self.back(self.sums / np.maximum(self.forward(x) + background, 1e-6 * self.sums.mean()))
            x = np.where(lit, x * correction / np.where(lit, weight, 1), 0)
        return self.along(x)


def wide_kernel(shape):
    """Returns a kernel wide enough for one coarser image. A second needs 32 pixels along y or x, or 16 planes."""
    grid = np.meshgrid(*[np.arange(n) - n // 2 for n in shape], indexing="ij")
    return np.exp(-sum((g / 2.0) ** 2 for g in grid) / 2) * rng.uniform(0.8, 1.2, shape)


def check_iterations():
    # Coarse images sum pixels along y and x, and along z if y and x are too short.
    for shape, extents, axes in (((1, 24, 29), (1, 9, 11), (1, 2)), ((15, 19, 22), (7, 8, 9), (1, 2)),
                                 ((12, 16, 21), (9, 30, 27), (1, 2)), ((19, 13, 14), (9, 8, 7), (0,))):
        psf = wide_kernel(extents)
        psf /= psf.sum()
        center = [k // 2 for k in extents]
        background = 7
        y = specimen(shape, psf, center, background)
        np.save("h.npy", psf)
        blur = Blur(shape, psf, center, "extend")
        usual = y.mean() - background
        weight = blur.back(np.ones(shape))
        lit = weight >= 0.01
        x = np.where(lit, np.maximum(CoarseModel(y, psf, center, background, axes).estimate(6), 1e-3 * usual), 0)
        for _ in range(3):
            x = np.where(lit, x * blur.back(y / (blur.forward(x) + background)) / np.where(lit, weight, 1), 0)
        for kind in ("u2", "f4"):
            np.save("y.npy", y.astype(kind))
            got = restored_by_command("--coarse-start", "6", "--iterations", "3", "--acceleration", "none",
                                      "--background", str(background))
            close(f"{shape}, PSF {extents}, {kind}", x[blur.inside()], got, BOUND)


def output_text(*options, fails=False):
    done = subprocess.run([command, "deconvolve", *options, "--device", "cpu"], capture_output=True, text=True)
    check((done.returncode != 0) == fails, options, done.returncode, done.stderr)
    return done.stdout, done.stderr


def check_messages():
    psf = wide_kernel((1, 9, 9))
    y = specimen((1, 40, 40), psf / psf.sum(), [0, 4, 4], 2)
    np.save("y.npy", y.astype("u2"))
    np.save("h.npy", psf)
    files = ["y.npy", "h.npy", "-o", "x.npy", "--overwrite"]
    report = json.loads(output_text(*files, "--coarse-start", "--iterations", "2", "--json", "-q")[0])
    check(report["report"]["volumes"][0]["coarse_iterations"] == 40, "coarse iterations", report["report"])
    check(len(report["plan"][0] if isinstance(report["plan"], list) else report["plan"]) > 8, "plan", report["plan"])
    said = " ".join(output_text(*files, "--coarse-start=4", "--iterations", "2"))
    check("from 8 iterations on coarser images" in said, "no words of the start:", said)
    planned = " ".join(output_text("y.npy", "h.npy", "--coarse-start=4", "--dry-run"))
    check("1×20×20" in planned, "no words of the plan:", planned)
    refused = output_text("--coarse-start", *files, fails=True)[1]
    check("after the files" in refused, "refusal:", refused)
    said = " ".join(output_text(*files, "--coarse-start", "0"))
    check("coarser images" not in said, "a coarse start that is switched off:", said)
    said = " ".join(output_text(*files))
    check("coarser images" not in said, "a coarse start of a single plane by default:", said)
    np.save("planes.npy", np.repeat(y, 4, 0).astype("u2"))
    said = " ".join(output_text("planes.npy", "h.npy", "-o", "planes_x.npy"))
    check("iterations on coarser images" in said, "no coarse start of several planes by default:", said)
    planned = " ".join(output_text("planes.npy", "h.npy", "--dry-run", "-v"))
    check("at most 20 iterations on an image of 4×20×20" in planned, "the plan of a PSF without haze:", planned)
    refused = output_text(*files, "--coarse-start", "--method", "wiener", fails=True)[1]
    check("does not apply to the method wiener" in refused, "refusal:", refused)

    # A given estimate is used as the start.
    np.save("s.npy", np.full(y.shape, 5, "f4"))
    one = restored_by_command("--start", "s.npy", "--iterations", "2", "--coarse-start", "5")
    close("with --start", restored_by_command("--start", "s.npy", "--iterations", "2"), one, 1e-12)
    # The values of saturated pixels do not matter.
    y[0, 10, 10:13] = 5000
    np.save("y.npy", y.astype("u2"))
    one = restored_by_command("--coarse-start", "--iterations", "2", "--saturation", "5000")
    y[0, 10, 10:13] = 9000
    np.save("y.npy", y.astype("u2"))
    close("saturated", one, restored_by_command("--coarse-start", "--iterations", "2", "--saturation", "5000"), 1e-12)


def psnr(truth, x):
    x = x * (truth * x).sum() / (x * x).sum()
    return 10 * np.log10(truth.max() ** 2 / ((truth - x) ** 2).mean())


def check_quality():
    """Checks that three iterations after a coarse start beat eight without, and that --stop auto is as good with it."""
    psf = wide_kernel((7, 13, 13))
    psf /= psf.sum()
    truth = np.zeros((30, 76, 76))
    truth[tuple(rng.integers(0, n, 60) for n in truth.shape)] = 300
    truth = signal.fftconvolve(truth, wide_kernel((3, 5, 5)), "same").clip(0) + 1
    light = signal.fftconvolve(truth, psf, "valid").clip(0)
    scale = 200 / light.max()
    np.save("h.npy", psf)
    np.save("y.npy", rng.poisson(light * scale + 2).astype("u2"))
    inside = truth[tuple(slice(k // 2, k // 2 + n) for k, n in zip(psf.shape, light.shape))]
    options = ["--background", "2"]
    coarse = psnr(inside, restored_by_command("--coarse-start", "--iterations", "3", *options))
    plain = psnr(inside, restored_by_command("--iterations", "8", *options))
    check(coarse > plain, "coarse start:", coarse, "dB, without:", plain)
    coarse = psnr(inside, restored_by_command("--coarse-start", "--stop", "auto", *options))
    plain = psnr(inside, restored_by_command("--stop", "auto", *options))
    check(coarse > plain - 0.3, "--stop auto after a coarse start:", coarse, "dB, without:", plain)


run_parts((check_iterations, check_messages, check_quality))
