#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times banks of filters on a GPU and their peers in one run, with all data in device memory. Prints the tables of
docs/performance/signals.md and draws its figures.

    bench/filter_gpu.py [--build DIR] [--out DIR]      measures; OUT/filter_gpu.json, tables, OUT/filters_*.png
    bench/filter_gpu.py --from JSON… [--out DIR]       tables and figures of earlier measurements, without a GPU
    bench/filter_gpu.py --from JSON… --markdown        tables only

Convolume's own methods by cuFFT (overlap-save, one transform) are always measured. PyTorch's conv1d and CuPy's
oaconvolve and fftconvolve are measured if they are installed. The figures need matplotlib.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from filter_figures import draw_all_figures
from filter_results import KINDS, SAMPLES, TABLE, json_objects, print_tables, read_reports, report_for_tables
from hardware import gpu_properties
from report import report_text

MEASUREMENTS = ["table", "posts", "curves", "partitioned", "direct", "double"]


class TorchPeer:
    """Prepares PyTorch's conv1d in full float32, by the algorithm that cuDNN measures to be its fastest."""

    def __init__(self):
        import torch

        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.torch = torch
        self.library = f"PyTorch {torch.__version__}"
        self.preparations = {"conv1d": self.prepare_conv1d}

    def prepare_conv1d(self, signal, bank):
        import numpy as np

        def copy_to_device(array):
            return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

        flipped = bank[:, ::-1]  # conv1d correlates, so the filters are reversed
        if np.iscomplexobj(bank):
            # Real and imaginary parts are channels, so that one call computes all four products.
            x = copy_to_device(np.stack([signal.real, signal.imag])[np.newaxis])
            h = copy_to_device(np.concatenate([np.stack([flipped.real, -flipped.imag], axis=1),
                                               np.stack([flipped.imag, flipped.real], axis=1)]))
        else:
            x, h = copy_to_device(signal[np.newaxis, np.newaxis]), copy_to_device(flipped[:, np.newaxis])

        def results_of_last_filter(result):
            channels = result[0].reshape(-1, len(bank), len(signal))[:, -1].cpu().numpy()
            return channels[0] + 1j * channels[1] if len(channels) == 2 else channels[0]

        return lambda: self.torch.nn.functional.conv1d(x, h, padding="same"), results_of_last_filter

    def new_event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def elapsed_ms(self, begin, end):
        return begin.elapsed_time(end)

    def free_memory(self):
        self.torch.cuda.empty_cache()


class CupyPeer:
    """Prepares CuPy's convolutions along one axis, which transform the signal once for all filters."""

    def __init__(self):
        import cupy
        import cupyx.scipy.signal

        self.cupy = cupy
        self.library = f"CuPy {cupy.__version__}"
        self.preparations = {"oaconvolve": self.preparation_for(cupyx.scipy.signal.oaconvolve),
                             "fftconvolve": self.preparation_for(cupyx.scipy.signal.fftconvolve)}

    def preparation_for(self, convolve):
        def prepare(signal, bank):
            x, h = self.cupy.asarray(signal)[self.cupy.newaxis], self.cupy.asarray(bank)
            # The signal is broadcast to all filters, and mode "same" would keep the results of one only.
            begin = (bank.shape[1] - 1) // 2
            kept = slice(begin, begin + len(signal))
            return lambda: convolve(x, h, mode="full", axes=1)[:, kept], lambda result: self.cupy.asnumpy(result[-1])

        return prepare

    def new_event(self):
        return self.cupy.cuda.Event()

    def elapsed_ms(self, begin, end):
        return self.cupy.cuda.get_elapsed_time(begin, end)

    def free_memory(self):
        self.cupy.fft.config.get_plan_cache().clear()
        self.cupy.get_default_memory_pool().free_all_blocks()


def peer_cases():
    """Returns (kind, taps, filters, samples) of all cases in the tables, and in one curve of each figure."""
    cases = {(kind, taps, filters, SAMPLES): None for taps, filters in TABLE for kind in KINDS}
    for kind in KINDS:
        cases |= {(kind, taps, 8, SAMPLES): None for taps in (9, 17, 33, 129, 513, 2049)}
        cases |= {(kind, 257, filters, SAMPLES): None for filters in (1, 2, 4, 16, 64)}
        cases |= {(kind, 257, 8, 1 << power): None for power in range(10, 23, 2)}
    return list(cases)


def median_device_ms(peer, act, repeats=5):
    """Returns the median time of a run. Two runs before plan and warm up."""

    def elapsed_ms_of_runs(runs):
        begin, end = peer.new_event(), peer.new_event()
        begin.record()
        for _ in range(runs):
            act()
        end.record()
        end.synchronize()
        return peer.elapsed_ms(begin, end) / runs

    elapsed_ms_of_runs(2)
    runs = max(1, min(20, int(10 / elapsed_ms_of_runs(1))))
    return statistics.median(elapsed_ms_of_runs(runs) for _ in range(repeats))


def relative_error(result, signal, taps):
    """Returns the relative L2 error of some results in mode same, against sums in double precision."""
    import numpy as np

    padded = np.pad(signal.astype(np.result_type(signal, np.float64)), len(taps))
    positions = np.random.default_rng(3).integers(0, len(signal), 100)
    flipped = taps[::-1].astype(padded.dtype)
    begin = len(taps) + (len(taps) - 1) // 2 + 1 - len(taps)
    sums = np.array([flipped @ padded[begin + n:begin + n + len(taps)] for n in positions])
    return float(np.linalg.norm(result[positions] - sums) / np.linalg.norm(sums))


def measure_peers(peer, cases=None):
    import numpy as np

    cases = cases or peer_cases()
    random = np.random.default_rng(1)
    longest = max(samples for _, _, _, samples in cases)
    signal = random.standard_normal(2 * longest, dtype=np.float32).view(np.complex64)
    results, failures = [], []
    for kind, taps, filters, samples in cases:
        bank = random.standard_normal((filters, 2 * taps), dtype=np.float32).view(np.complex64)
        x, h = signal[:samples], bank
        if kind == "r2r":
            x, h = np.ascontiguousarray(x.real), np.ascontiguousarray(h.real)
        for role, prepare in peer.preparations.items():
            try:
                act, results_of_last_filter = prepare(x, h)
                results.append({"role": role, "library": peer.library, "kind": kind, "precision": "float32",
                                "taps": taps, "filters": filters, "samples": samples, "post": "none",
                                "ms": median_device_ms(peer, act),
                                "error": relative_error(results_of_last_filter(act()), x, h[-1])})
            except Exception as error:  # a case that fails for any reason does not stop the others
                failures.append({"command": f"{role} {kind} {taps} {filters} {samples}",
                                 "stderr": f"{type(error).__name__}: {error}"})
            act = None
            peer.free_memory()
    return results, failures


def run_program(program, what):
    """Runs a program; returns its output until it ended, failed or was stopped, and the failure if there is one."""
    try:
        done = subprocess.run([program, what], capture_output=True, text=True, timeout=300)
        output, errors = done.stdout, done.stderr if done.returncode else None
        if done.returncode:
            errors = errors or f"exit code {done.returncode}"
    except subprocess.TimeoutExpired as stopped:
        output, errors = stopped.stdout or "", "stopped after 300 s"
        output = output if isinstance(output, str) else output.decode()  # some versions of Python return bytes here
    failures = [{"command": f"{program.name} {what}", "stderr": errors[-2000:]}] if errors else []
    return json_objects(output), failures


def describe_gpu():
    fields = ["name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "clocks.max.mem", "memory.total"]
    gpus = gpu_properties(fields)
    return gpus[0] if gpus else {}


def measure_all(build):
    program = Path(build) / "bench" / "convolume_filter_gpu_bench"
    if not program.is_file():
        sys.exit(f"filter_gpu.py: there is no {program}; build the target convolume_filter_gpu_bench, or name its "
                 "build folder by --build")
    results, failures = [], []

    def add_measurements(name, measured):
        results.extend(measured[0])
        failures.extend(measured[1])
        print(f"{time.strftime('%T')} {name}: {len(measured[0])} measurements, {len(measured[1])} failures",
              file=sys.stderr, flush=True)

    for what in MEASUREMENTS:
        add_measurements(what, run_program(program, what))
    context = describe_gpu()  # asked right after the work, before the GPU's clocks slow down
    libraries = []
    for make in (TorchPeer, CupyPeer):
        try:
            peer = make()
        except Exception as error:  # CuPy or PyTorch is not installed, or built for another CUDA
            failures.append({"command": make.__name__, "stderr": f"{type(error).__name__}: {error}"})
            continue
        libraries.append(peer.library)
        add_measurements(peer.library, measure_peers(peer))
    return {"machine": context, "date": time.strftime("%Y-%m-%d"), "libraries": libraries, "failures": failures,
            "results": results}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="DIR", help="default: here")
    parser.add_argument("--from", dest="reports", type=Path, nargs="+", metavar="JSON",
                        help="what this script wrote, or lines of convolume_filter_gpu_bench")
    parser.add_argument("--markdown", action="store_true", help="print the tables, draw nothing")
    arguments = parser.parse_args()

    if arguments.reports:
        report = read_reports(arguments.reports)
    else:
        report = measure_all(arguments.build)
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "filter_gpu.json").write_text(report_text(report_for_tables(report)), encoding="utf-8")
    print_tables(report)
    if not arguments.markdown:
        arguments.out.mkdir(parents=True, exist_ok=True)
        draw_all_figures(report, arguments.out)
    return not arguments.reports and any("convolume" in failure["command"] for failure in report["failures"])


if __name__ == "__main__":
    sys.exit(main())
