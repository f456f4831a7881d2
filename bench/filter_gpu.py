#!/usr/bin/env python3
"""Times banks of filters on a GPU beside its peers in one run, everything in device memory; prints the tables of
docs/performance.md and draws its figures.

    bench/filter_gpu.py [--build DIR] [--out DIR]      measures; OUT/filter_gpu.json, tables, OUT/filters_*.png
    bench/filter_gpu.py --from JSON… [--out DIR]       tables and figures of former measurements, without a GPU
    bench/filter_gpu.py --from JSON… --markdown        tables only

Our own ways by cuFFT (overlap-save, one transform) are always measured; PyTorch's conv1d and CuPy's oaconvolve and
fftconvolve where they are installed. The figures need matplotlib.
"""

import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MEASUREMENTS = ["table", "posts", "curves", "partitioned", "direct", "double"]
SAMPLES = 2097152
TABLE = [(65, 8), (257, 8), (1025, 8), (3073, 8), (65, 32), (257, 32), (1025, 32), (2049, 32)]
KINDS = {"c2c": "complex", "r2r": "real"}
COPY_RATE = 4.3e12  # bytes a second of a copy on one H200
PEERS = {  # role in the measurements: what people call it
    "cufft overlap-save": "cuFFT overlap-save",
    "cufft": "cuFFT, one transform",
    "conv1d": "PyTorch conv1d",
    "oaconvolve": "CuPy oaconvolve",
    "fftconvolve": "CuPy fftconvolve",
}


# Measuring


class TorchPeer:
    """PyTorch's conv1d in full float32, by the algorithm that cuDNN measured to be its best."""

    def __init__(self):
        import torch

        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.torch = torch
        self.library = f"PyTorch {torch.__version__}"
        self.ways = {"conv1d": self.conv1d}

    def conv1d(self, signal, bank):
        import numpy as np

        def on_device(array):
            return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

        flipped = bank[:, ::-1]  # it correlates
        if np.iscomplexobj(bank):
            # Real and imaginary parts are channels: all four products in one call.
            x = on_device(np.stack([signal.real, signal.imag])[np.newaxis])
            h = on_device(np.concatenate([np.stack([flipped.real, -flipped.imag], axis=1),
                                          np.stack([flipped.imag, flipped.real], axis=1)]))
        else:
            x, h = on_device(signal[np.newaxis, np.newaxis]), on_device(flipped[:, np.newaxis])

        def last_filter(result):
            channels = result[0].reshape(-1, len(bank), len(signal))[:, -1].cpu().numpy()
            return channels[0] + 1j * channels[1] if len(channels) == 2 else channels[0]

        return lambda: self.torch.nn.functional.conv1d(x, h, padding="same"), last_filter

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def elapsed_ms(self, begin, end):
        return begin.elapsed_time(end)

    def free_memory(self):
        self.torch.cuda.empty_cache()


class CupyPeer:
    """CuPy's convolutions along one axis: the signal is transformed once for all filters."""

    def __init__(self):
        import cupy
        import cupyx.scipy.signal

        self.cupy = cupy
        self.library = f"CuPy {cupy.__version__}"
        self.ways = {"oaconvolve": self.way(cupyx.scipy.signal.oaconvolve),
                     "fftconvolve": self.way(cupyx.scipy.signal.fftconvolve)}

    def way(self, convolve):
        def prepare(signal, bank):
            x, h = self.cupy.asarray(signal)[self.cupy.newaxis], self.cupy.asarray(bank)
            # Mode "same" would keep one filter only of those that the signal is broadcast to.
            begin = (bank.shape[1] - 1) // 2
            kept = slice(begin, begin + len(signal))
            return lambda: convolve(x, h, mode="full", axes=1)[:, kept], lambda result: self.cupy.asnumpy(result[-1])

        return prepare

    def event(self):
        return self.cupy.cuda.Event()

    def elapsed_ms(self, begin, end):
        return self.cupy.cuda.get_elapsed_time(begin, end)

    def free_memory(self):
        self.cupy.fft.config.get_plan_cache().clear()
        self.cupy.get_default_memory_pool().free_all_blocks()


def peer_cases():
    """(kind, taps, filters, samples) of the tables, and of one curve of each figure."""
    cases = {(kind, taps, filters, SAMPLES): None for taps, filters in TABLE for kind in KINDS}
    for kind in KINDS:
        cases |= {(kind, taps, 8, SAMPLES): None for taps in (9, 17, 33, 129, 513, 2049)}
        cases |= {(kind, 257, filters, SAMPLES): None for filters in (1, 2, 4, 16, 64)}
        cases |= {(kind, 257, 8, 1 << power): None for power in range(10, 23, 2)}
    return list(cases)


def device_ms(peer, act, repeats=5):
    """The median time of one run; the first two plan and warm up."""

    def spent(runs):
        begin, end = peer.event(), peer.event()
        begin.record()
        for _ in range(runs):
            act()
        end.record()
        end.synchronize()
        return peer.elapsed_ms(begin, end) / runs

    spent(2)
    runs = max(1, min(20, int(10 / spent(1))))
    return statistics.median(spent(runs) for _ in range(repeats))


def error_of(result, signal, taps):
    """Relative L2 error of sampled results in mode same, against sums in double precision."""
    import numpy as np

    padded = np.pad(signal.astype(np.result_type(signal, np.float64)), len(taps))
    positions = np.random.default_rng(3).integers(0, len(signal), 100)
    flipped = taps[::-1].astype(padded.dtype)
    begin = len(taps) + (len(taps) - 1) // 2 + 1 - len(taps)
    sums = np.array([flipped @ padded[begin + n:begin + n + len(taps)] for n in positions])
    return float(np.linalg.norm(result[positions] - sums) / np.linalg.norm(sums))


def measure_peers(peer):
    import numpy as np

    random = np.random.default_rng(1)
    longest = max(samples for _, _, _, samples in peer_cases())
    signal = random.standard_normal(2 * longest, dtype=np.float32).view(np.complex64)
    results, failures = [], []
    for kind, taps, filters, samples in peer_cases():
        bank = random.standard_normal((filters, 2 * taps), dtype=np.float32).view(np.complex64)
        x, h = signal[:samples], bank
        if kind == "r2r":
            x, h = np.ascontiguousarray(x.real), np.ascontiguousarray(h.real)
        for role, prepare in peer.ways.items():
            try:
                act, last_filter = prepare(x, h)
                results.append({"role": role, "library": peer.library, "kind": kind, "precision": "float32",
                                "taps": taps, "filters": filters, "samples": samples, "post": "none",
                                "ms": device_ms(peer, act), "error": error_of(last_filter(act()), x, h[-1])})
            except Exception as error:  # a case that fails, of whatever cause, leaves the others their turn
                failures.append({"command": f"{role} {kind} {taps} {filters} {samples}",
                                 "stderr": f"{type(error).__name__}: {error}"})
            act = None
            peer.free_memory()
    return results, failures


def json_objects(text):
    objects = []
    for line in text.splitlines():
        try:
            objects.append(json.loads(line))
        except ValueError:
            pass
    return [value for value in objects if isinstance(value, dict)]


def run_program(program, what):
    """What it printed until it ended, failed or was stopped, and the failure if there is one."""
    try:
        done = subprocess.run([program, what], capture_output=True, text=True, timeout=300)
        output, errors = done.stdout, done.stderr if done.returncode else None
        if done.returncode:
            errors = errors or f"exit code {done.returncode}"
    except subprocess.TimeoutExpired as stopped:
        output, errors = stopped.stdout or "", "stopped after 300 s"
        output = output if isinstance(output, str) else output.decode()  # it depends on Python's version
    failures = [{"command": f"{program.name} {what}", "stderr": errors[-2000:]}] if errors else []
    return json_objects(output), failures


def machine():
    fields = ["name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "clocks.max.mem", "memory.total"]
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader"],
                               capture_output=True, text=True, timeout=30, check=True)
        values = next(csv.reader(asked.stdout.splitlines(), skipinitialspace=True))
    except (OSError, subprocess.SubprocessError, StopIteration):
        return {}
    return dict(zip(fields, values))


def measure(build):
    program = Path(build) / "bench" / "convolume_filter_gpu_bench"
    if not program.is_file():
        sys.exit(f"filter_gpu.py: there is no {program}; build the target convolume_filter_gpu_bench, or name its "
                 "build folder by --build")
    results, failures = [], []

    def add(name, measured):
        results.extend(measured[0])
        failures.extend(measured[1])
        print(f"{time.strftime('%T')} {name}: {len(measured[0])} measurements, {len(measured[1])} failures",
              file=sys.stderr, flush=True)

    for what in MEASUREMENTS:
        add(what, run_program(program, what))
    context = machine()  # at once: the clocks are still those of work
    libraries = []
    for make in (TorchPeer, CupyPeer):
        try:
            peer = make()
        except Exception as error:  # not installed, or for another CUDA
            failures.append({"command": make.__name__, "stderr": f"{type(error).__name__}: {error}"})
            continue
        libraries.append(peer.library)
        add(peer.library, measure_peers(peer))
    return {"machine": context, "date": time.strftime("%Y-%m-%d"), "libraries": libraries, "failures": failures,
            "results": results}


def read_reports(paths):
    """Reports of this script, or lines of the program, as one."""
    report = {"machine": {}, "date": "", "libraries": [], "failures": [], "results": []}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        try:
            part = json.loads(text)
        except ValueError:
            part = {"results": json_objects(text)}
        if "results" not in part:
            sys.exit(f"{path}: there are no measurements of filters in it")
        for key, value in part.items():
            report[key] = report[key] + value if isinstance(report[key], list) else value or report[key]
    return report


# Looking up


def matches(result, wanted):
    return all(result.get(key) == value for key, value in wanted.items())


def best(results, **wanted):
    """The fastest of the measurements that match; those by cuFFT have several segments."""
    found = [result for result in results if matches(result, {"precision": "float32", "post": "none"} | wanted)]
    return min(found, key=lambda result: result["ms"], default=None)


def curve(results, x, **wanted):
    """{x: milliseconds}"""
    places = sorted({result[x] for result in results if matches(result, wanted)})
    found = {place: best(results, **wanted, **{x: place}) for place in places}
    return {place: result["ms"] for place, result in found.items() if result}


def floor_ms(kind, filters, samples):
    """Signal read and results written once, at the rate of a copy."""
    return (8 if kind == "c2c" else 4) * samples * (1 + filters) / COPY_RATE * 1e3


def machine_text(report):
    context = report["machine"]
    parts = [context.get("name", "unknown GPU")]
    if "driver_version" in context:
        parts += [f"driver {context['driver_version']}", f"SM {context['clocks.sm']}, memory {context['clocks.mem']}"]
    return ", ".join(parts + report["libraries"] + [report["date"] or "no date"])


# Tables


def number(ms):
    return f"{ms:.0f}" if ms >= 1000 else f"{ms:#.3g}".rstrip(".")


def cell(result):
    return number(result["ms"]) if result else "–"


def print_table(title, columns, rows):
    rows = [row for row in rows if any(value != "–" for value in row[2:])]
    if not rows:
        return
    print(f"\n#### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def print_main_table(results, kind):
    rows = []
    for taps, filters in TABLE:
        case = {"kind": kind, "taps": taps, "filters": filters, "samples": SAMPLES}
        ours = best(results, role="automatic", **case)
        peers = [best(results, role=role, **case) for role in PEERS]
        if not ours and not any(peers):
            continue
        cells = [cell(peer) for peer in peers]
        if peers[0]:
            cells[0] += f" ({peers[0]['segment']})"
        rows.append([taps, filters, f"**{cell(ours)}** ({ours['segment']})" if ours else "–", *cells,
                     number(floor_ms(kind, filters, SAMPLES))])
    columns = ["M", "filters", "convolume (segment)", "cuFFT overlap-save (best segment)", *list(PEERS.values())[1:],
               "floor"]
    print_table(f"{kind}: {KINDS[kind]} signal of {SAMPLES:,} samples, float32, ms", columns, rows)


def print_post_table(results):
    posts = ["none", "power", "slope", "peak"]
    cases = sorted({(result["kind"], result["taps"], result["filters"], result["segment"]) for result in results
                    if result["role"] == "post"})
    rows = []
    for kind, taps, filters, segment in cases:
        case = {"role": "post", "kind": kind, "taps": taps, "filters": filters, "segment": segment}
        rows.append([kind, taps, filters, segment, *(cell(best(results, **case, post=post)) for post in posts)])
    print_table("Post-processing before results are stored, ms",
                ["data", "M", "filters", "segment", "none", "power", "a caller's function, (y[n+1] − y[n−1])/2",
                 "largest of each 64 (of the power of complex results)"], rows)


def print_derivative_table(results):
    rows = []
    for taps, filters in TABLE:
        cells = []
        for kind in KINDS:
            plain = best(results, role="plain", kind=kind, taps=taps, filters=filters)
            derivative = best(results, role="derivative", kind=kind, taps=taps + 2, filters=filters)
            ratio = f" ({derivative['ms'] / plain['ms']:.2f}×)" if plain and derivative else ""
            cells += [cell(plain), cell(derivative) + ratio]
        rows.append([taps, filters, *cells])
    print_table("Derivative, as two more taps of each filter, ms",
                ["M", "filters", *(f"{kind}, {what}" for kind in KINDS for what in ("plain", "derivative"))], rows)


def print_partitioned_table(results):
    rows = []
    for kind in KINDS:
        fastest = best(results, role="partitioned", kind=kind)
        if fastest:
            chosen, whole = (best(results, role=role, kind=kind, taps=fastest["taps"], filters=1)
                             for role in ("automatic", "one transform"))
            rows.append([kind, fastest["taps"], cell(whole), cell(fastest), fastest["segment"], cell(chosen),
                         f"{fastest['error']:.1e}"])
    print_table("One filter as long as the signal, ms",
                ["data", "samples and M", "one transform by cuFFT", "partitioned, at its best", "block",
                 "what is chosen", "error"], rows)


def print_double_table(results):
    rows = []
    for taps in sorted({result["taps"] for result in results if result["precision"] == "float64"}):
        cells = []
        for kind in KINDS:
            ours = best(results, role="automatic", kind=kind, precision="float64", taps=taps)
            cells += [cell(ours) + (f" ({ours['segment']})" if ours else ""), f"{ours['error']:.1e}" if ours else "–"]
        rows.append([taps, 8, *cells])
    print_table("Double precision, ms (segment), and relative L2 error",
                ["M", "filters", *(f"{kind}{what}" for kind in KINDS for what in ("", ", error"))], rows)


def print_tables(report):
    results = report["results"]
    print(machine_text(report))
    for kind in KINDS:
        print_main_table(results, kind)
    print_post_table(results)
    print_derivative_table(results)
    print_partitioned_table(results)
    print_double_table(results)
    single = [result for result in results if result["precision"] == "float32" and result["samples"] == SAMPLES]
    errors = {role: max((result["error"] for result in single if result["role"] == role and "error" in result),
                        default=None) for role in ("automatic", *PEERS)}
    texts = [f"{PEERS.get(role, 'convolume')} {error:.1e}" for role, error in errors.items() if error is not None]
    if texts:
        print(f"\nLargest relative L2 error, signals of {SAMPLES:,} samples, float32: {'; '.join(texts)}.")
    for failure in report["failures"]:
        print(f"{failure['command']}: {failure['stderr'].strip()}", file=sys.stderr)


# Figures


@dataclass
class Figure:
    """Time and throughput against `x`: ours for several values of `varied`, the peers for one of them."""

    file: str
    x: str
    label: str
    role: str  # of our measurements
    varied: str
    values: tuple
    peers_at: int
    fixed: dict


SYMBOLS = {"filters": "F", "taps": "M"}
FIGURES = [
    Figure("filters_length.png", "taps", "filter length M, samples", "length", "filters", (1, 8, 32), 8,
           {"samples": SAMPLES}),
    Figure("filters_count.png", "filters", "number of filters F", "filters", "taps", (65, 257, 1025), 257,
           {"samples": SAMPLES}),
    Figure("filters_signal.png", "samples", "signal length, samples", "samples", "taps", (65, 257, 1025), 257,
           {"filters": 8}),
]
COLUMNS = ["r2r", "c2c"]
OUR_COLORS = ["#9ecae1", "#3182bd", "#08306b"]
PEER_STYLES = {
    "cufft overlap-save": {"color": "#e6550d", "marker": "s"},
    "cufft": {"color": "#8c2d04", "marker": "D"},
    "conv1d": {"color": "#31a354", "marker": "^"},
    "oaconvolve": {"color": "#756bb1", "marker": "v"},
    "fftconvolve": {"color": "#dd3497", "marker": "x"},
}
FLOOR_STYLE = {"color": "#606060", "linestyle": ":", "linewidth": 1.3}


def our_style(index):
    return {"color": OUR_COLORS[index], "marker": "o", "linewidth": 1.8, "markersize": 3.5}


def peer_style(role):
    return PEER_STYLES[role] | {"linestyle": "--", "linewidth": 1.1, "markersize": 4}


def lines_of(figure, results, kind):
    """(label, style, case, {x: ms}) of each line; the case holds all but x."""
    symbol = SYMBOLS[figure.varied]
    for index, value in enumerate(figure.values):
        case = figure.fixed | {figure.varied: value}
        points = curve(results, figure.x, role=figure.role, kind=kind, **case)
        yield f"convolume, {symbol} = {value}", our_style(index), case, points
    case = figure.fixed | {figure.varied: figure.peers_at}
    places = curve(results, figure.x, role=figure.role, kind=kind, **case)
    for role, name in PEERS.items():
        points = curve(results, figure.x, role=role, kind=kind, **case)
        yield f"{name}, {symbol} = {figure.peers_at}", peer_style(role), case, points
    floor = {}
    for place in places:
        whole = case | {figure.x: place}
        bound = floor_ms(kind, whole["filters"], whole["samples"])
        if bound > 1e-3:  # below that a launch takes longer
            floor[place] = bound
    # The filters' length does not matter to what is read and written.
    fixed = "" if figure.varied == "taps" else f", {symbol} = {figure.peers_at}"
    yield f"memory at {COPY_RATE / 1e12} TB/s{fixed}", FLOOR_STYLE, case, floor


def thousands(value, _=None):
    return f"{value / 2**20:g} Mi" if value >= 2**20 else f"{value / 2**10:g} Ki" if value >= 2**10 else f"{value:g}"


def dress(axes, x):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(thousands if x == "samples" else lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter("")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1e4 else f"1e{math.log10(value):.0f}")
    axes.grid(color="#d8d8d8", linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def finish(picture, legend, title, columns):
    picture.suptitle(title, fontsize=9)
    # Below the picture, which is cropped when it is saved.
    picture.legend(legend.values(), legend.keys(), loc="upper center", bbox_to_anchor=(0.5, 0), ncol=columns,
                   fontsize=8, frameon=False)
    return picture


def draw(figure, report, plt):
    """Two columns, real and complex; nothing where there are no measurements."""
    picture, axes = plt.subplots(2, 2, figsize=(11, 8), sharex=True, sharey="row", layout="constrained")
    legend = {}
    for kind, time_axes, rate_axes in zip(COLUMNS, *axes):
        for label, style, case, points in lines_of(figure, report["results"], kind):
            if not points:
                continue
            rates = [1e3 * whole["samples"] * whole["filters"] / points[whole[figure.x]]
                     for whole in (case | {figure.x: place} for place in points)]
            legend[label], = time_axes.plot(points.keys(), points.values(), **style)
            rate_axes.plot(points.keys(), rates, **style)
        time_axes.set_title(f"{KINDS[kind]} data ({kind}), float32", fontsize=10)
        rate_axes.set_xlabel(figure.label)
        dress(time_axes, figure.x)
        dress(rate_axes, figure.x)
    axes[0][0].set_ylabel("time, ms")
    axes[1][0].set_ylabel("signal samples × filters per second")
    fixed = {"samples": f"{SAMPLES:,} samples", "filters": "8 filters"}[next(iter(figure.fixed))]
    return finish(picture, legend, f"{fixed}; {machine_text(report)}", 3) if legend else None


def draw_direct(report, plt):
    """Sums in time beside overlap-save, for short filters."""
    picture, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    legend = {}
    for kind, one in zip(COLUMNS, axes):
        for role, style in (("direct", {"marker": "^", "linestyle": "--"}), ("overlap-save", {"marker": "o"})):
            for filters, color in ((1, OUR_COLORS[1]), (8, OUR_COLORS[2])):
                points = curve(report["results"], "taps", role=role, kind=kind, filters=filters, samples=SAMPLES)
                if points:
                    legend[f"{role}, F = {filters}"], = one.plot(points.keys(), points.values(), color=color,
                                                                 markersize=4, **style)
        one.set_title(f"{KINDS[kind]} data ({kind}), float32", fontsize=10)
        one.set_xlabel("filter length M, samples")
        dress(one, "taps")
    axes[0].set_ylabel("time, ms")
    return finish(picture, legend, f"{SAMPLES:,} samples; {machine_text(report)}", 4) if legend else None


def draw_all(report, folder):
    try:
        import matplotlib
    except ImportError:
        print("no figures without matplotlib; draw them elsewhere by --from", file=sys.stderr)
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pictures = {figure.file: draw(figure, report, plt) for figure in FIGURES}
    pictures["filters_direct.png"] = draw_direct(report, plt)
    for file, picture in pictures.items():
        if picture:
            picture.savefig(folder / file, dpi=130, bbox_inches="tight", pad_inches=0.1)


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
        report = measure(arguments.build)
        arguments.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(report, indent=1, ensure_ascii=False)
        (arguments.out / "filter_gpu.json").write_text(text + "\n", encoding="utf-8")
    print_tables(report)
    if not arguments.markdown:
        arguments.out.mkdir(parents=True, exist_ok=True)
        draw_all(report, arguments.out)
    return not arguments.reports and any("convolume" in failure["command"] for failure in report["failures"])


if __name__ == "__main__":
    sys.exit(main())
