# SPDX-License-Identifier: Apache-2.0
"""Common code of the parts of run.py: the machine, the time left, and programs that answer line by line."""

import json
import os
import platform
import statistics
import sys
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from hardware import gpu_properties, processor_name  # noqa: E402 (a module of bench/)
from worker import Worker  # noqa: E402

LONGEST_ROW_S = 60


class NotMeasured(Exception):
    """The reason why a row has no figure, in one sentence."""


def load_paper(key):
    return json.loads((HERE / "papers" / f"{key}.json").read_text(encoding="utf-8"))


def next_smooth(n):
    """Returns the least 7-smooth number that is at least n."""
    while True:
        rest = n
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1


def library_versions():
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "torch"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def describe_machine():
    return {"cpu": processor_name(), "cores": len(os.sched_getaffinity(0)), "gpus": gpu_properties(),
            "load_before": os.getloadavg()[0], "versions": library_versions()}


class Program(Worker):
    """A program of this build. Errors that it answers are raised as NotMeasured."""

    def ask(self, request):
        answer = self.answer(request)
        if "error" in answer:
            raise NotMeasured(answer["error"])
        return answer


def run_repeatedly(run, repeats, enough_s):
    """Calls run() up to `repeats` times, or until enough_s seconds have passed, but at least once; returns the
    results."""
    began = time.monotonic()
    answers = [run()]
    while len(answers) < repeats and time.monotonic() - began <= enough_s:
        answers.append(run())
    return answers


def median_of(answers, key):
    return statistics.median(answer[key] for answer in answers)


@dataclass
class Context:
    build: Path
    quick: bool
    scale: int
    deadline: float
    gpus: list = field(default_factory=gpu_properties)

    def program_path(self, name):
        path = self.build / "bench" / name
        if not path.is_file():
            raise NotMeasured(f"{name} is not built: build that target")
        return path

    def start_worker(self, name):
        self.program_path(name)
        return Program(self.build, name)

    def need_gpus(self, count=1):
        if len(self.gpus) < count:
            raise NotMeasured("this machine has no GPU" if not self.gpus else f"this machine has {len(self.gpus)} GPU")

    def check_time(self, predicted_s=0):
        """Raises NotMeasured if less than these seconds are left."""
        if self.quick and predicted_s > LONGEST_ROW_S:
            raise NotMeasured(f"predicted to take {predicted_s:.0f} s: left out by --quick")
        if time.monotonic() + predicted_s > self.deadline:
            raise NotMeasured("the time limit of this part was reached")

    def measured_row(self, names, measure):
        """Returns a row with `names` and the figures of measure(), or with the reason why there are none."""
        try:
            self.check_time()
            return names | measure()
        except NotMeasured as why:
            return names | {"not_measured": str(why)}
