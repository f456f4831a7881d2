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
    """The Python of a page runs from its first line to its last; sessions print what they show."""
    if not page.exists():
        pytest.skip("the pages are not beside the tests")
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for number, block in enumerate(blocks):
        if ">>>" in block:
            session = doctest.DocTestParser().get_doctest(block, names, f"{page.name}, block {number}", str(page), 0)
            assert doctest.DocTestRunner().run(session, clear_globs=False).failed == 0
            names = session.globs
        else:
            exec(compile(block, str(page), "exec"), names)
