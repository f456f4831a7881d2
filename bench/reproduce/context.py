# SPDX-License-Identifier: Apache-2.0
"""What the parts of run.py share: the machine, the time left, and programs that are asked line by line."""

import csv
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from worker import Worker  # noqa: E402 (of bench/)

LONGEST_ROW_S = 60


class NotMeasured(Exception):
    """Why a row has no figure, in one sentence."""


def paper(key):
    return json.loads((HERE / "papers" / f"{key}.json").read_text(encoding="utf-8"))


def smooth(n):
    """The least 7-smooth number that is at least n."""
    while True:
        rest = n
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def graphics():
    """[{name, driver_version, memory.total}] of nvidia-smi; empty where there is none."""
    fields = ["name", "driver_version", "memory.total"]
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader"],
                               capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [dict(zip(fields, row)) for row in csv.reader(asked.stdout.splitlines(), skipinitialspace=True)]


def versions():
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "torch"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine():
    return {"cpu": processor(), "cores": len(os.sched_getaffinity(0)), "gpus": graphics(),
            "load_before": os.getloadavg()[0], "versions": versions()}


@dataclass
class Context:
    build: Path
    quick: bool
    scale: int
    deadline: float
    gpus: list = field(default_factory=graphics)

    def program(self, name):
        path = self.build / "bench" / name
        if not path.is_file():
            raise NotMeasured(f"{name} is not built: build that target")
        return path

    def worker(self, name):
        self.program(name)
        return Worker(self.build, name)

    def need_gpus(self, count=1):
        if len(self.gpus) < count:
            raise NotMeasured("this machine has no GPU" if not self.gpus else f"this machine has {len(self.gpus)} GPU")

    def check_time(self, predicted_s=0):
        """Raises NotMeasured if a row of so many seconds has no room."""
        if self.quick and predicted_s > LONGEST_ROW_S:
            raise NotMeasured(f"predicted to take {predicted_s:.0f} s: left out by --quick")
        if time.monotonic() + predicted_s > self.deadline:
            raise NotMeasured("the time limit of this part was reached")

    def row(self, names, measure):
        """`names` and what measure() returns, or why there is nothing."""
        try:
            self.check_time()
            return names | measure()
        except NotMeasured as why:
            return names | {"not_measured": str(why)}
