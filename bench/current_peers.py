# SPDX-License-Identifier: Apache-2.0
"""Makes sure that peers are current releases. Benchmarks on the CPU import this module before NumPy.

Importing it starts the program anew without OPENBLAS settings, which slow NumPy down, and ends it if NumPy or SciPy is
older than the release in scripts/python_requirements.txt.
"""

import importlib.metadata
import os
import re
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def _numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def _check():
    wanted = dict(line.split("==") for line in (_ROOT / "scripts" / "python_requirements.txt").read_text().split()
                  if "==" in line)
    for package in ("numpy", "scipy"):
        found = importlib.metadata.version(package)
        if _numbers(found) < _numbers(wanted[package]):
            sys.exit(f"{package} {found} is no current release: run scripts/python_venv.sh, and this program by "
                     "build/python-venv/bin/python")


_check()
if any(name.startswith("OPENBLAS_") for name in os.environ):
    left = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    os.execve(sys.executable, [sys.executable, *sys.argv], left)
