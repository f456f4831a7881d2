# SPDX-License-Identifier: Apache-2.0
"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import convolume

MODULES = ["convolume"] + [f"convolume.{module.name}" for module in pkgutil.iter_modules(convolume.__path__)
                           if module.name != "_core"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_has_a_docstring():
    missing = [name for name in convolume.__all__ if name != "__version__" and not getattr(convolume, name).__doc__]
    assert not missing


PAGES = sorted((Path(__file__).parents[2] / "docs" / "python").glob("*.md")) + [Path(__file__).parents[2] / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page, tmp_path, monkeypatch):
    """The Python of a page runs from its first line to its last."""
    if not page.exists():
        pytest.skip("the pages are not beside the tests")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        exec(compile(block, str(page), "exec"), names)
