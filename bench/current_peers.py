# SPDX-License-Identifier: Apache-2.0
"""Makes sure that peers are current releases. Benchmarks on the CPU import this module before NumPy.

Importing it starts the program anew without OPENBLAS settings, which slow NumPy down. If NumPy or SciPy is missing or
older than the release in scripts/python_requirements.txt, it starts the program by that of build/python-venv, or ends
it if that does not exist or is no better.
"""

import importlib.metadata
import os
import re
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_ENVIRONMENT = _ROOT / "build" / "python-venv"


def _numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def _outdated():
    """Returns the first package that is missing or older than wanted, with its release; None if all are current."""
    wanted = dict(line.split("==") for line in (_ROOT / "scripts" / "python_requirements.txt").read_text().split()
                  if "==" in line)
    for package in ("numpy", "scipy"):
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return f"{package} (missing)"
        if _numbers(found) < _numbers(wanted[package]):
            return f"{package} {found}"
    return None


def _start_anew_if_needed():
    outdated, interpreter = _outdated(), sys.executable
    if outdated:
        if Path(sys.prefix) == _ENVIRONMENT or not (_ENVIRONMENT / "bin" / "python").exists():
            sys.exit(f"{outdated} is no current release: run scripts/python_venv.sh")
        interpreter = str(_ENVIRONMENT / "bin" / "python")
    left = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    if outdated or len(left) < len(os.environ):
        os.execve(interpreter, [interpreter, *sys.argv], left)


_start_anew_if_needed()
