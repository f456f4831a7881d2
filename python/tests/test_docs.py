# SPDX-License-Identifier: Apache-2.0
"""Tests that every example in a docstring and on a page runs."""

import ast
import doctest
import importlib
import logging
import os
import pkgutil
import re
import shutil
from pathlib import Path

import pytest

import convolume

MODULES = ["convolume"] + [f"convolume.{module.name}" for module in pkgutil.iter_modules(convolume.__path__)
                           if module.name != "_core"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name in ("convolume.jax", "convolume.torch"):
        pytest.importorskip(name.partition(".")[2])
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_has_a_docstring():
    missing = [name for name in convolume.__all__ if name != "__version__" and not getattr(convolume, name).__doc__]
    assert not missing


DOCS = Path(__file__).parents[2] / "docs" / "python"


@pytest.mark.skipif(not DOCS.exists(), reason="the pages are not beside the tests")
def test_everything_public_is_in_the_reference():
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### `(\w+)`$", page, re.M)) == sorted(set(convolume.__all__) - {"__version__"})


COMMAND = os.environ.get("CONVOLUME_TEST_COMMAND") or shutil.which("convolume")
BLOCK = re.compile(r"^(?:<!-- from examples/python/(\S+)\.py -->\n)?```python\n(.*?)^```", re.M | re.S)
GALLERY = DOCS / "gallery.md"
EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
PROGRAMS = BLOCK.findall(GALLERY.read_text(encoding="utf-8")) if GALLERY.exists() else []
GUIDES = ["everyday", "field-psf", "light-sheet", "several-views"]  # guides whose code is Python
PAGES = [*sorted(DOCS.glob("*.md")), *(DOCS.parent / "guides" / f"{name}.md" for name in GUIDES),
         DOCS.parent / "commands" / "compare.md", Path(__file__).parents[2] / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page, tmp_path, monkeypatch, caplog):
    """The Python code of a page runs from its first line to its last, and sessions print what they show. Programs that
    are quoted from examples/python run on their own, in test_gallery.py. The test ends where a page imports
    PyTorch, JAX or Matplotlib, if that is not installed."""
    if not page.exists():
        pytest.skip("the pages are not beside the tests")
    if COMMAND:
        monkeypatch.setenv("PATH", str(Path(COMMAND).parent), prepend=os.pathsep)
    elif page.stem == "compare":
        pytest.skip("the page runs the command, which was not found")
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.WARNING, "convolume")  # restores the level after the test; pages may change it
    names = {}
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert blocks
    for number, (quoted, block) in enumerate(blocks):
        if quoted:
            continue
        if ">>>" in block:
            session = doctest.DocTestParser().get_doctest(block, names, f"{page.name}, block {number}", str(page), 0)
            assert doctest.DocTestRunner().run(session, clear_globs=False).failed == 0
            names = session.globs
        else:
            try:
                exec(compile(block, str(page), "exec"), names)
            except ModuleNotFoundError as error:
                if error.name not in ("jax", "torch", "matplotlib"):
                    raise
                pytest.skip(f"from block {number} on, as {error.name} is not installed")


@pytest.mark.parametrize(("name", "quoted"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_gallery(name, quoted):
    """The gallery shows programs as they begin. test_gallery.py runs them."""
    before, program, _ = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").partition(quoted)
    assert program
    assert len(ast.parse(before).body) == 1 and ast.get_docstring(ast.parse(before))
