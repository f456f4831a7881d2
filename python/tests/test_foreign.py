# SPDX-License-Identifier: Apache-2.0
"""Tests the page of the cases of other libraries' tests that fail with the drop-ins. Run as a program, it writes the
page."""

import tomllib
from pathlib import Path

import pytest

ENTRIES = Path(__file__).parent / "foreign" / "exclusions.toml"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "drop-in-tests.md"

HEAD = """# Tests of SciPy, scikit-image and CuPy

The drop-ins `convolume.signal`, `convolume.ndimage` and `convolume.restoration` are tested by the libraries' own
tests, as these are published. A plugin of pytest puts the drop-ins in place of the libraries' functions; nothing else
is changed.

| library | tests |
|---|---|
| SciPy 1.17.1 | `scipy.signal.tests.test_signaltools`, `scipy.signal.tests.test_upfirdn` |
| SciPy 1.17.1 | `scipy.ndimage.tests.test_filters` |
| scikit-image 0.26.0 | `test_restoration` of `restoration` |
| CuPy 14.2.0 | `test_signaltools`, `test_upfirdn`, `test_resample` and `test_filters` of `cupyx_tests`: cases that \
concern drop-ins by their names |

`scripts/foreign_tests.sh` runs them. `scripts/nightly.sh` runs all but CuPy's. Continuous integration runs, for each
change, one in eight cases of tests with more than 500, and leaves out `test_large_array`, `test_filtfilt_gust` and
`TestVectorizedFilter`, which take long. CuPy's need a GPU and CuPy's sources:
`scripts/foreign_tests.sh --cupy SOURCES`.

## Cases that fail

Every other case passes. A case of this table that passes is an error of the run, so the table holds.

| library | cases | reason |
|---|---|---|
"""


def page():
    rows = []
    for entry in tomllib.loads(ENTRIES.read_text(encoding="utf-8"))["exclusion"]:
        cases = "<br>".join(f"`{case}`" for case in entry["cases"])
        rows.append(f"| {entry['library']}, `{entry['file'].removesuffix('.py')}` | {cases} | {entry['reason']} |\n")
    return HEAD + "".join(rows)


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are not beside the tests")
def test_page():
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
