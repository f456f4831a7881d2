# SPDX-License-Identifier: Apache-2.0
"""Finds the names of the processor and the GPUs of this machine."""

import csv
import platform
import subprocess
from pathlib import Path


def processor_name():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def gpu_properties(fields=("name", "driver_version", "memory.total")):
    """Returns a dict with these fields of nvidia-smi for each GPU."""
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader"],
                               capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [dict(zip(fields, row)) for row in csv.reader(asked.stdout.splitlines(), skipinitialspace=True)]
