# SPDX-License-Identifier: Apache-2.0
"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil

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
