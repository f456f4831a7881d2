#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of docs/reproduction from the measurements of run.py.

    bench/reproduce/page.py RESULTS… -o docs/reproduction

RESULTS are files of run.py, and bench/results/filter_gpu.json and gpu_direct.json of the other bench programs. If they
have several measurements of a row, the last file counts.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

from tables import describe_machine_and_date

PAGES = {"2011": "images-2011", "2020": "signals-2020", "overlap": "overlap", "direct": "direct"}
# Keys that identify the measurement of a row. All others are figures.
IDENTITY = ("experiment", "number", "device", "gpus", "threads", "data", "way", "parts", "gate", "precision", "bits",
            "padded", "library", "role", "kind", "post", "taps", "filters", "samples", "origin", "mode", "forms",
            "extent", "width", "image_zyx", "kernel_zyx")


def identity_of(row):
    # The segment of some rows is a result, not a parameter.
    chosen = row["experiment"] == "methods" or row.get("role") == "ours"
    return json.dumps([row.get(key) for key in IDENTITY] + [None if chosen else row.get("segment")])


class Results:
    """Rows measured for one page, and the machines on which they were measured."""

    def __init__(self):
        self.by_identity = {}
        self.machines = {}

    def add(self, rows, machine):
        for row in rows:
            key = identity_of(row)
            if "not_measured" in row and key in self.by_identity:
                continue
            self.by_identity[key] = row
            if "not_measured" not in row:
                self.machines[machine] = None

    def matching_rows(self, **wanted):
        """Returns all rows whose keys have the given values."""
        return [row for row in self.by_identity.values() if all(row.get(key) == value for key, value in wanted.items())]

    def first_matching_row(self, **wanted):
        """Returns a measured row that matches, else a row with the reason why it was not measured, else None."""
        found = sorted(self.matching_rows(**wanted), key=lambda row: "not_measured" in row)
        return found[0] if found else None

    def reason_for_missing_row(self, **wanted):
        """Returns the reason why a row that matches was not measured, or None."""
        found = [row["not_measured"] for row in self.matching_rows(**wanted) if "not_measured" in row]
        return found[0] if found else None


# Keys of other programs' measurements, with the names that run.py has for them.
ROLES = {"automatic": "ours", "cufft overlap-save": "cufft-ols", "cufft": "cufft-one", "conv1d": "conv1d",
         "length": "ours", "filters": "ours", "samples": "ours", "direct": "direct", "overlap-save": "overlap-save"}


def read_results(paths):
    parts = {part: Results() for part in PAGES}
    for path in paths:
        report = json.loads(path.read_text(encoding="utf-8"))
        if "runs" in report:
            for run in report["runs"]:
                if run["scale"] != 1:
                    sys.exit(f"{path}: the run of part {run['part']} was made with --scale {run['scale']}, which is "
                             "for trying the script: measure again without it")
                part = run["part"].removesuffix("cpu").removesuffix("two")
                parts[part].add(run["results"], describe_machine_and_date(run["machine"], run["date"]))
        elif path.name.startswith("filter_gpu"):
            machine = f"{report['machine'].get('name', 'GPU')}, {report['date']} ({path.name})"
            rows = [row | {"experiment": "filters", "role": ROLES[row["role"]]} for row in report["results"]
                    if row["role"] in ROLES and row["precision"] == "float32"]
            parts["2020"].add([row for row in rows if row["role"] not in ("direct", "overlap-save")], machine)
            parts["direct"].add([{"experiment": "forms 1D", "role": row["role"], "taps": row["taps"],
                                  "samples": row["samples"], "ms": row["ms"]} for row in rows
                                 if row["role"] == "direct" and row["kind"] == "r2r" and row["filters"] == 1], machine)
        elif path.name.startswith("gpu_direct"):
            parts["direct"].add([{"experiment": "volume" if row["image_zyx"][0] > 1 else "slice"} | row
                                 for row in report["results"] if "fft_ms" in row],
                                f"{report['machine']}, {report['date']} ({path.name})")
        else:
            sys.exit(f"{path}: neither a report of run.py nor filter_gpu.json or gpu_direct.json")
    return parts


INDEX = """# Reproduction

Four published works are continued by this library. These pages run their experiments with its code, and put the
results beside the published ones. Ratios are what compares: the machines are many years apart.

| page | work | theirs |
|---|---|---|
| [3D images by decimation in frequency](images-2011.md) | P. Karas, D. Svoboda, \
*EURASIP J. Adv. Signal Process.* 2011:120 | Tables 1 to 7, Figures 5, 8 and 9 |
| [Filters by overlap-save in shared memory](signals-2020.md) | K. Adámek, S. Dimoudi, M. Giles, W. Armour, \
*ACM TACO* 17(3):18, 2020 | Figures 3 to 13 |
| [Overlap methods and convolution in parts](overlap.md) | *Laws, Sausages and ConvNets*, section 4 | its formulas |
| [Direct convolution in CUDA](direct.md) | W. W. Hwu, D. B. Kirk, I. El Hajj, *Programming Massively Parallel \
Processors*, 4th ed., chapter 7, and an article after it | its four forms |

Every figure comes from a JSON file in `bench/results`, the published ones from `bench/reproduce/papers`. A dash is a
figure that does not exist, with the reason below the table. Precision has [a page of its own](../accuracy.md).

## Measuring again

```sh
bench/reproduce/run.py --build build/cuda --quick --json bench/results/reproduce.json
bench/reproduce/page.py bench/results/filter_gpu.json bench/results/gpu_direct.json \\
    bench/results/reproduce*.json -o docs/reproduction
```

The first command needs the programs `convolume_volumes_bench`, `convolume_filter_cpu_bench` and, with CUDA,
`convolume_filter_gpu_bench` and `convolume_gpu_direct_bench`, and takes up to 25 minutes. `--parts` chooses some of the
pages, `--minutes` sets the time limit of each. What the machine cannot run, such as GPU rows without a GPU, is recorded
with the reason. A run is appended to the file; of several measurements of one thing the last one is shown.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS")
    parser.add_argument("-o", dest="folder", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    parts = read_results(arguments.results)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "index.md").write_text(INDEX, encoding="utf-8")
    for part, name in PAGES.items():
        text, charts = importlib.import_module(f"page_{part}").page_text(parts[part])
        for file, picture in charts.items():
            if picture:
                (arguments.folder / file).write_text(picture, encoding="utf-8")
            else:
                text = "\n".join(line for line in text.splitlines() if f"]({file})" not in line) + "\n"
                (arguments.folder / file).unlink(missing_ok=True)
        while "\n\n\n" in text:
            text = text.replace("\n\n\n", "\n\n")
        (arguments.folder / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
