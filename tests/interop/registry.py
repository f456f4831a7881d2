# SPDX-License-Identifier: Apache-2.0
"""Programs that take part in the exchange: each needs Python modules or programs, and has a version."""
import importlib
import importlib.metadata
import re
import shutil
import subprocess
import traceback
from dataclasses import dataclass


@dataclass(frozen=True)
class Participant:
    """A function for one program, and what it needs: a Python distribution, or a program."""

    name: str
    function: callable
    distribution: str = ""
    modules: tuple = ()
    executable: str = ""
    program: object = None
    suffixes: tuple = ()

    def missing(self):
        """Returns the name of a missing module or program, or None."""
        if self.program is not None:
            return self.program.missing()
        for module in self.modules:
            try:
                importlib.import_module(module)
            except ImportError as error:
                return f"the Python module {module} cannot be imported ({error})"
        if self.executable and shutil.which(self.executable) is None:
            return f"the program {self.executable} is not installed"
        return None

    @property
    def version(self):
        if self.program is not None:
            return self.program.version
        if self.executable:
            done = subprocess.run([self.executable, "-h"], capture_output=True, text=True, check=False)
            return (done.stdout + done.stderr).splitlines()[0].replace("LIBTIFF, Version ", "")
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:  # the system's package has another name than the one on PyPI
            return getattr(importlib.import_module(self.modules[0]), "__version__", "of the system")


class Registry:
    """Functions by the name of their program, in the order of their registration."""

    def __init__(self):
        self.participants = []

    def add(self, name, distribution="", modules=(), **other):
        def register(function):
            self.participants.append(Participant(name, function, distribution, tuple(modules), **other))
            return function
        return register


WRITERS = Registry()
READERS = Registry()


def failure_text(error):
    """Returns one line that describes an error of another program."""
    text = " ".join("".join(traceback.format_exception_only(error)).split())
    text = re.sub(r"^(\w+\.)*(ValueError|RuntimeError): ", "", text)
    return re.sub(r"^Exception thrown in SimpleITK .* ITK ERROR: \w+\(0x[0-9a-f]+\): ", "", text)[:200]
