#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures rounding errors and writes the tables of docs/accuracy.md.

    bench/precision.py [--build DIR] [--largest N] [--json FILE]     measures on the CPU, and on a GPU if there is one
    bench/precision.py --from FILE --page docs/accuracy.md           writes the page's tables

Image and kernel are cubes of about half the size M, so that their full convolution has the size M along every axis.
Errors are relative L2 errors at random voxels, against sums in long double. Data are noise in -1 … 1, or counts of a
microscope below 2^bits, few of them bright, with a kernel like a PSF.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "reproduce"))

from context import Context, NotMeasured, describe_machine  # noqa: E402
from report import report_text  # noqa: E402
from tables import Table, describe_machine_and_date, format_number  # noqa: E402

SIZES = {"powers of two": (16, 32, 64, 128, 256, 512), "7-smooth": (18, 30, 60, 126, 250, 490),
         "prime": (17, 31, 61, 127, 251, 509)}
PARTS = (1, 2, 4, 8, 16)
UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
DATA = {0: "noise", 10: "10 bits", 12: "12 bits"}
BEGIN, END = "<!-- bench/precision.py: begin -->", "<!-- bench/precision.py: end -->"


class Errors:
    def __init__(self, worker):
        self.worker = worker
        self.ask = worker.ask

    def measure(self, image, kernel, keys):
        """Measures a convolution; returns its relative L2 error, and its grid."""
        shapes = f"image={','.join(map(str, image))} kernel={','.join(map(str, kernel))}"
        plan = self.ask(f"prepare {shapes} {keys}")["plan"]["chosen"]
        self.ask("run")
        # Number of voxels whose sums take about 1e9 products in long double.
        samples = max(16, min(400, int(1e9 / math.prod(kernel))))
        return {"error": self.ask(f"sample {samples}")["relative_l2"], "samples": samples, "method": plan["method"],
                "tiles_zyx": plan["tiles_zyx"], "grid_zyx": plan["grid_zyx"]}

    def measured_row(self, names, image, kernel, keys):
        try:
            return names | self.measure(image, kernel, keys)
        except NotMeasured as why:
            return names | {"not_measured": str(why)}


def image_and_kernel_shapes(size):
    return [size // 2 + 1] * 3, [size - size // 2] * 3


def measure_growth(errors, devices, largest):
    for kind, sizes in SIZES.items():
        for size in sizes:
            for device in devices if size <= largest else []:
                for precision in UNIT:
                    for bits in DATA:
                        names = {"study": "growth", "kind": kind, "size": size, "device": device,
                                 "precision": precision, "bits": bits}
                        yield errors.measured_row(names, *image_and_kernel_shapes(size),
                                                  f"device={device} method=in-core precision={precision} bits={bits}")


def measure_parts(errors, devices, largest):
    size = min(largest, 256)
    for device in devices:
        for precision in UNIT:
            for bits in DATA:
                for count in PARTS:
                    method = "in-core" if count == 1 else f"dif parts={count}"
                    names = {"study": "parts", "size": size, "device": device, "precision": precision, "bits": bits,
                             "parts": count}
                    yield errors.measured_row(names, *image_and_kernel_shapes(size),
                                              f"device={device} method={method} precision={precision} bits={bits}")


def measure_methods(errors, devices):
    """Measures methods with a kernel that is small enough for direct sums. A memory limit forces tiles."""
    image, kernel = [120, 120, 120], [9, 9, 9]
    limit = {"cpu": "engine-mem=6M", "gpu": "gpu-mem=24M"}
    for device in devices:
        for precision in UNIT:
            for bits in DATA:
                for method, keys in (("in-core", ""), ("dif", "parts=4"), ("tiled", limit[device]), ("direct", "")):
                    names = {"study": "methods", "device": device, "precision": precision, "bits": bits,
                             "method_asked": method}
                    yield errors.measured_row(names, image, kernel,
                                              f"device={device} method={method} {keys} precision={precision} "
                                              f"bits={bits}")


def measure_contrast(errors, devices, largest):
    """Measures the largest difference between results in float32 and float64, in counts."""
    image, kernel = (",".join(map(str, shape)) for shape in image_and_kernel_shapes(min(largest, 256)))
    for bits in (8, 10, 11, 12, 14, 16):
        for device in devices:
            names = {"study": "contrast", "device": device, "bits": bits, "size": min(largest, 256)}
            try:
                common = f"image={image} kernel={kernel} method=in-core bits={bits}"
                errors.ask(f"prepare {common} device=cpu precision=float64")
                errors.ask("run")
                errors.ask("keep")
                errors.ask(f"prepare {common} device={device}")
                errors.ask("run")
                yield names | errors.ask("compare")
            except NotMeasured as why:
                yield names | {"not_measured": str(why)}


def bluestein(np, row, inverse, exact_angles):
    """Transforms a signal of any length in float32, as a convolution with a chirp. Its angles are exact or in
    float32."""
    n = len(row)
    k = np.arange(n)
    if exact_angles:
        angles = np.pi * (k * k % (2 * n)) / n
    else:
        angles = np.float32(np.pi) * (k * k).astype(np.float32) / np.float32(n)
    chirp = np.exp((1j if inverse else -1j) * angles).astype(np.complex64)
    length = 1 << (2 * n - 1).bit_length()
    around = np.zeros(length, np.complex64)
    around[:n] = chirp.conj()
    around[length - n + 1:] = chirp.conj()[:0:-1]
    import scipy.fft

    product = scipy.fft.fft((row * chirp).astype(np.complex64), length) * scipy.fft.fft(around)
    return (scipy.fft.ifft(product)[:n] * chirp).astype(np.complex64) / np.float32(n if inverse else 1)


def dft_by_sums(np, row, inverse):
    """Transforms a signal by sums in float32, with angles computed in float32."""
    n = len(row)
    k = np.arange(n, dtype=np.float32)
    angles = (np.float32(2 * np.pi) / np.float32(n)) * (k[:, None] * k)
    matrix = np.exp((1j if inverse else -1j) * angles).astype(np.complex64)
    return (matrix @ row.astype(np.complex64)) / np.float32(n if inverse else 1)


def measure_factor_257():
    """Measures a row of 257 or 1025 full results, by transforms of that length and of a padded length."""
    try:
        import numpy as np
        import scipy.fft
    except ImportError as error:
        sys.exit(f"precision.py: NumPy and SciPy are needed ({error}): install them")

    ways = {
        "padded to a 7-smooth length": None,
        "that length, scipy.fft": lambda row, inverse: (scipy.fft.ifft if inverse else scipy.fft.fft)(
            row.astype(np.complex64)),
        "that length, chirp with exact angles": lambda row, inverse: bluestein(np, row, inverse, True),
        "that length, chirp with angles in float32": lambda row, inverse: bluestein(np, row, inverse, False),
        "that length, sums with angles in float32": lambda row, inverse: dft_by_sums(np, row, inverse),
    }
    random = np.random.default_rng(1)
    for length in (257, 1025):
        half = (length + 1) // 2
        kernel = np.exp(-32 * ((np.arange(half) - (half - 1) / 2) / half) ** 2)
        kernel /= kernel.sum()
        rows = np.round(2047 * random.random((50, half)) ** 4)
        for way, transform in ways.items():
            grid = length
            if transform is None:
                from context import smooth

                grid = smooth(length)

                def transform(row, inverse):
                    return (scipy.fft.ifft if inverse else scipy.fft.fft)(row.astype(np.complex64))

            differences, squares, largest = 0.0, 0.0, 0.0
            for row in rows:
                want = np.convolve(row, kernel)
                spectra = [transform(np.pad(data, (0, grid - half)), False) for data in (row, kernel)]
                error = transform(spectra[0] * spectra[1], True).real[:length] - want
                differences, squares = differences + (error**2).sum(), squares + (want**2).sum()
                largest = max(largest, np.abs(error).max())
            yield {"study": "257", "length": length, "way": way, "grid": grid,
                   "relative_l2": float(np.sqrt(differences / squares)), "max_difference": float(largest)}


def measure(build, largest):
    exact = list(measure_factor_257())  # computed first, so that a missing library is noticed early
    context = Context(build, quick=False, scale=1, deadline=math.inf)
    try:
        errors = Errors(context.start_worker("convolume_volumes_bench"))
    except NotMeasured as why:
        sys.exit(f"precision.py: {why}, or name its folder by --build")
    devices = ["cpu"] + ["gpu"] * bool(context.gpus)
    results = []
    for rows in (measure_growth(errors, devices, largest), measure_parts(errors, devices, largest),
                 measure_methods(errors, devices),
                 measure_contrast(errors, devices, largest), exact):
        before = len(results)
        results.extend(rows)
        print(f"{results[-1]['study']}: {len(results) - before} rows", file=sys.stderr)
    errors.worker.close()
    return results


def matching_rows(results, study, **wanted):
    return [row for row in results if row["study"] == study and all(row.get(key) == value
                                                                    for key, value in wanted.items())]


def first_matching_row(results, study, **wanted):
    return next(iter(matching_rows(results, study, **wanted)), None)


def growth_tables(results, device):
    text = ""
    for precision, unit in UNIT.items():
        table = Table("M", "kind", "grid", *(name for name in DATA.values()), "noise / u√log₂N")
        for kind in SIZES:
            for row in matching_rows(results, "growth", kind=kind, device=device, precision=precision, bits=0):
                cells = [table.format_cell(first_matching_row(results, "growth", kind=kind, size=row["size"],
                                                              device=device,
                                                              precision=precision,
                                                              bits=bits), "error") for bits in DATA]
                grid = row.get("grid_zyx")
                scaled = row["error"] / unit / math.sqrt(math.log2(math.prod(grid))) if "error" in row else None
                table.add_row(row["size"], kind, "×".join(map(str, grid)) if grid else None, *cells,
                              format_number(scaled))
        text += f"\n{'GPU' if device == 'gpu' else 'CPU'}, {precision}, u = {unit:.2g}:\n\n{table}\n"
    return text


def parts_table(results, devices):
    table = Table("device", "precision", "data", *(f"P = {count}" for count in PARTS))
    for device in devices:
        for precision in UNIT:
            for bits, name in DATA.items():
                table.add_row(device.upper(), precision, name, *(
                    table.format_cell(first_matching_row(results, "parts", device=device, precision=precision,
                                                         bits=bits, parts=count),
                                      "error") for count in PARTS))
    return str(table)


def methods_table(results, devices):
    names = ("in-core", "dif", "tiled", "direct")
    table = Table("device", "precision", "data", *names)
    for device in devices:
        for precision in UNIT:
            for bits, data in DATA.items():
                table.add_row(device.upper(), precision, data, *(
                    table.format_cell(first_matching_row(results, "methods", device=device, precision=precision,
                                                         bits=bits,
                                                         method_asked=name), "error") for name in names))
    return str(table)


def contrast_table(results):
    table = Table("device", "bits", "largest result, counts", "largest difference, counts", "as a part of it")
    for row in matching_rows(results, "contrast"):
        largest = row.get("largest")
        table.add_row(row["device"].upper(), row["bits"], format_number(largest),
                      table.format_cell(row, "max_difference"),
                      format_number(row["max_difference"] / largest) if largest else None)
    return str(table)


def factor_257_table(results):
    table = Table("length", "transforms", "grid", "relative L2", "largest difference, counts")
    for row in matching_rows(results, "257"):
        table.add_row(row["length"], row["way"], row["grid"], format_number(row["relative_l2"]),
                      format_number(row["max_difference"]))
    return str(table)


def page_text(report):
    results = report["results"]
    devices = list(dict.fromkeys(row["device"] for row in results if "device" in row))
    size = next(row["size"] for row in results if row["study"] == "parts")
    bounds = {}
    for precision, unit in UNIT.items():
        scaled = [row["error"] / unit / math.sqrt(math.log2(math.prod(row["grid_zyx"])))
                  for row in matching_rows(results, "growth", precision=precision) if "error" in row]
        bounds[precision] = f"{min(scaled):.2f} and {max(scaled):.2f}"
    return f"""### Growth with size

{describe_machine_and_date(report['machine'], report['date'])} (`bench/results/precision.json`).

Image and kernel are cubes of about M/2 each, their full result is M³. The grid has N points. Rounding errors of a
Fourier transform grow as √log N, with a factor that depends on lengths and code. Over all rows below, error / u√log₂N
lies between {bounds['float32']} in float32 and between {bounds['float64']} in float64. So errors hardly grow: eight
times the extent multiplies N by 512, and √log N by 1.2 to 1.3.
{"".join(growth_tables(results, device) for device in devices)}
### Parts

M = {size}, relative L2 error in P parts:

{parts_table(results, devices)}

### Methods

120×120×120 * 9×9×9, relative L2 error. Tiles are forced by a limit of memory. Where sums have the error 0, products
and sums of the noise are exact in float64.

{methods_table(results, devices)}

### Contrast of microscopy

M = {size}. Counts below 2^bits in 16 bits, kernel of sum 1: the largest difference between float32 and float64 over all
voxels.

{contrast_table(results)}

### Why padding removes the error of 257

Karas and Svoboda (2011) saw differences above one count where an extent was 257. A transform of a prime length cannot
be divided into short ones. It is computed as a convolution with a chirp exp(iπn²/N), or by sums with N² factors. Angles
πn²/N reach several hundred, and in float32 they are then wrong by 1e-5 and more. Exact angles avoid this, and so does
a length whose factors are 2, 3, 5 and 7, which needs neither. Rows of 11-bit counts, in float32:

{factor_257_table(results)}

Angles in float32 give the differences of the paper's column P = 1 (0.01 to 0.02). Which way the transforms of 2011 took
is not known, nor why their differences grew with P. The library pads every axis to a length with factors up to 7.
`tests/volumes/test_factor_257.cpp` asserts that sizes with the factor 257 are as accurate as powers of two, whole and
in 2 to 16 parts.
"""


def write_page(path, report):
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{path}: the lines '{BEGIN}' and '{END}' are not in it")
    path.write_text(f"{before}{BEGIN}\n{page_text(report)}{END}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--largest", type=int, default=512, metavar="M", help="leave out larger sizes (default 512)")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--from", dest="report", type=Path, help="a former report instead of measuring")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    arguments = parser.parse_args()
    if arguments.report:
        report = json.loads(arguments.report.read_text(encoding="utf-8"))
    else:
        context = describe_machine()
        report = {"machine": context, "date": time.strftime("%Y-%m-%d"),
                  "results": measure(arguments.build, arguments.largest)}
        if arguments.json:
            arguments.json.write_text(report_text(report), encoding="utf-8")
    if arguments.page:
        write_page(arguments.page, report)
    elif not arguments.json:
        print(page_text(report))


if __name__ == "__main__":
    main()
