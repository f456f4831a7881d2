#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times an iteration of Richardson-Lucy by convolume and by CuPy (with a GPU) or SciPy on the same data, and
compares the results. Run it on a quiet machine, from any folder:

    bench/deconvolve.py [--build DIR] [--device cpu|gpu] [--image Z,Y,X] [--psf Z,Y,X] [--json FILE]

The peer transforms real data at the next fast length, keeps the spectrum of the PSF, and works with the
same edges (zero), so that both compute the same estimate.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy
import scipy.fft
from report import report_text


def parse_extents(text):
    return tuple(int(part) for part in text.split(","))


def format_extents(array):
    return ",".join(map(str, array.shape))


def make_image_and_psf(image, psf):
    """Makes an image of sparse spots, blurred circularly, with Poisson noise. The PSF is a Gaussian inside a wider
    one."""
    random = np.random.default_rng(1)
    axes = np.meshgrid(*[np.arange(n) - n // 2 for n in psf], indexing="ij", sparse=True)
    radius2 = sum((axis / (n / 8)) ** 2 for axis, n in zip(axes, psf))
    kernel = np.exp(-radius2) + 0.05 * np.exp(-radius2 / 6)
    kernel = (kernel / kernel.sum()).astype(np.float32)
    truth = np.full(image, 5, np.float32)
    for _ in range(max(1, int(np.prod(image)) // 20000)):
        truth[tuple(random.integers(0, n) for n in image)] += 3000
    blurred = scipy.fft.irfftn(scipy.fft.rfftn(truth, workers=-1) * scipy.fft.rfftn(
        np.roll(np.pad(kernel, [(0, n - k) for n, k in zip(image, psf)]), [-(k // 2) for k in psf], (0, 1, 2)),
        workers=-1), image, workers=-1)
    return random.poisson(np.maximum(blurred, 0)).astype(np.float32), kernel


class PeerRichardsonLucy:
    """Runs Richardson-Lucy in mode same with zeros outside; `xp` is NumPy or CuPy."""

    def __init__(self, xp, fft, length, image, psf, synchronize):
        self.xp, self.fft, self.synchronize = xp, fft, synchronize
        self.shape = image.shape
        self.image = xp.asarray(image)
        self.fft_shape = tuple(length(n + k - 1) for n, k in zip(image.shape, psf.shape))
        self.output_slices = tuple(slice(k // 2, k // 2 + n) for n, k in zip(image.shape, psf.shape))
        self.flipped_output_slices = tuple(slice(k - 1 - k // 2, k - 1 - k // 2 + n) for n,
                                           k in zip(image.shape, psf.shape))
        self.psf_spectrum = fft.rfftn(xp.asarray(psf), self.fft_shape)
        self.flipped_psf_spectrum = fft.rfftn(xp.asarray(psf[::-1, ::-1, ::-1].copy()), self.fft_shape)
        self.weight = self.convolve(xp.ones(self.shape, xp.float32), self.flipped_psf_spectrum,
                                    self.flipped_output_slices)
        self.estimate = None

    def convolve(self, array, spectrum, kept):
        return self.fft.irfftn(self.fft.rfftn(array, self.fft_shape) * spectrum, self.fft_shape)[kept]

    def set_uniform_estimate(self, value):
        self.estimate = self.xp.full(self.shape, value, self.xp.float32)

    def timed_iteration(self):
        self.synchronize()
        begin = time.perf_counter()
        model = self.convolve(self.estimate, self.psf_spectrum, self.output_slices)
        ratio = self.image / self.xp.maximum(model, self.xp.float32(1e-12))
        self.estimate = self.estimate * self.convolve(ratio, self.flipped_psf_spectrum,
                                                      self.flipped_output_slices) / self.weight
        self.synchronize()
        return time.perf_counter() - begin


def make_peer(device, image, psf):
    if device == "cpu":
        class ThreadedFft:
            """Transforms of SciPy, each by all processors."""
            rfftn = staticmethod(lambda a, s: scipy.fft.rfftn(a, s, workers=-1))
            irfftn = staticmethod(lambda a, s: scipy.fft.irfftn(a, s, workers=-1))
        return "SciPy " + scipy.__version__, PeerRichardsonLucy(np, ThreadedFft,
                                                                lambda n: scipy.fft.next_fast_len(n, True), image,
                                                                psf, lambda: None)
    import cupy
    import cupyx.scipy.fft
    return "CuPy " + cupy.__version__, PeerRichardsonLucy(cupy, cupyx.scipy.fft, cupyx.scipy.fft.next_fast_len, image,
                                                          psf,
                                                          cupy.cuda.Device().synchronize)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--image", type=parse_extents, default=(96, 256, 256))
    parser.add_argument("--psf", type=parse_extents, default=(33, 65, 65))
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()

    image, psf = make_image_and_psf(arguments.image, arguments.psf)
    name, peer = make_peer(arguments.device, image, psf)
    program = [str(Path(arguments.build) / "bench" / "convolume_deconvolve_bench")]
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        image.tofile(Path(folder) / "image.f32")
        psf.tofile(Path(folder) / "psf.f32")
        for edges in ["zero"] * arguments.rounds + ["extend"]:
            command = program + [folder, "--image", format_extents(image), "--psf", format_extents(psf), "--edges",
                                 edges,
                                 "--device", arguments.device, "--iterations", str(arguments.iterations)]
            ours.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            if edges == "zero":
                peer.set_uniform_estimate(image.mean())
                theirs.append(sorted(peer.timed_iteration()
                                     for _ in range(arguments.iterations))[arguments.iterations // 2])
                restored = np.fromfile(Path(folder) / "restored.f32", np.float32).reshape(image.shape)
    estimate = peer.estimate if arguments.device == "cpu" else peer.estimate.get()
    difference = float(np.linalg.norm(restored - estimate) / np.linalg.norm(estimate))
    extend = ours.pop()
    figures = {"machine": {"cpu": platform.processor(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d")},
               "image": image.shape, "psf": psf.shape, "iterations": arguments.iterations, "peer": name,
               "peer_iteration_s": sorted(theirs)[len(theirs) // 2],
               "iteration_s": sorted(run["iteration_s"] for run in ours)[len(ours) // 2],
               "extend_iteration_s": extend["iteration_s"], "extend_device_bytes": extend["device_bytes"],
               "relative_difference": difference}
    ratio = figures["peer_iteration_s"] / figures["iteration_s"]
    print("| image * PSF | peer | peer, s an iteration | convolume | ratio | extended edges |")
    print("|---|---|---|---|---|---|")
    print(f"| {'×'.join(map(str, image.shape))} * {'×'.join(map(str, psf.shape))} | {name} "
          f"| {figures['peer_iteration_s']:.4g} | {figures['iteration_s']:.4g} | {ratio:.1f}× "
          f"| {figures['extend_iteration_s']:.4g} |")
    print(f"\nEstimates after {arguments.iterations} iterations differ by {difference:.1e} (relative L2).")
    if arguments.json:
        Path(arguments.json).write_text(report_text(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
