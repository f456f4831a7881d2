# SPDX-License-Identifier: Apache-2.0
"""The examples of the page about moving from other libraries."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python" / "migrating.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")
def test_examples():
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 4
    assert doctest.DocTestRunner().run(examples).failed == 0
