# SPDX-License-Identifier: Apache-2.0
"""Plugin of pytest that runs the test suites of SciPy, scikit-image and CuPy with the drop-ins of convolume.

It replaces their functions before their test modules are imported. Cases of exclusions.toml must fail: a case that
passes is an error, and so is an entry without a case. Options: ``--foreign=LIBRARY``, ``--shard=I/N`` and ``--sample``,
which leaves out most of the largest tests' cases, and long tests of functions without a drop-in. Of CuPy's cases, only
those run that concern drop-ins by their names: each compiles CUDA kernels, and most test other functions.
"""

import collections
import fnmatch
import importlib
import tomllib
import zlib
from pathlib import Path

import pytest

# Drop-ins, and the modules of each library whose functions they replace.
REPLACED = {
    "scipy": {"signal": "scipy.signal", "ndimage": "scipy.ndimage"},
    "skimage": {"restoration": "skimage.restoration"},
    "cupy": {"signal": "cupyx.scipy.signal", "ndimage": "cupyx.scipy.ndimage"},
}

# Tests that take seconds and call no drop-in: convolve2d with 4 GiB, filtfilt, and vectorized_filter.
WITHOUT_DROP_INS = ("TestConvolve2d::test_large_array", "test_filtfilt_gust", "TestVectorizedFilter::")
# One test of oaconvolve has 9730 cases. With --sample, one in SAMPLED of the cases of a test with more than MANY runs.
MANY, SAMPLED = 500, 8


def exclusions():
    """Returns the entries of exclusions.toml: library, file, cases (patterns of their names) and reason."""
    return tomllib.loads((Path(__file__).parent / "exclusions.toml").read_text())["exclusion"]


def pytest_addoption(parser):
    parser.addoption("--foreign", choices=REPLACED, required=True, help="library whose functions are replaced")
    parser.addoption("--sample", action="store_true", help="runs some cases of the largest tests")
    parser.addoption("--shard", default="1/1", help="I/N runs the I-th of N parts of the cases")


def pytest_configure(config):
    library = config.getoption("--foreign")
    capabilities = scipys_capabilities() if library == "scipy" else {}
    for ours, theirs in REPLACED[library].items():
        drop_ins, module = importlib.import_module(f"convolume.{ours}"), importlib.import_module(theirs)
        for name in drop_ins.__all__:
            replacement, original = getattr(drop_ins, name), getattr(module, name)
            setattr(module, name, replacement)
            if original in capabilities:
                capabilities[replacement] = capabilities[original]


def scipys_capabilities():
    """Returns the table in which SciPy's tests look up a function's libraries of arrays."""
    return importlib.import_module("scipy._lib._array_api").xp_capabilities_table


def pytest_collection_modifyitems(config, items):
    part, parts = (int(number) for number in config.getoption("--shard").split("/"))
    used, entries, library = set(), exclusions(), config.getoption("--foreign")
    for item in items:
        name, file = item.nodeid.partition("::")[2], item.path.name
        for number, entry in enumerate(entries):
            if (entry["library"] == library and entry["file"] == file
                    and any(fnmatch.fnmatchcase(name, as_pattern(case)) for case in entry["cases"])):
                item.add_marker(pytest.mark.xfail(strict=True, reason=entry["reason"]))
                used.add(number)
    files = {item.path.name for item in items}
    unused = [entry["cases"] for number, entry in enumerate(entries)
              if entry["library"] == library and entry["file"] in files and number not in used]
    if unused and not config.getoption("keyword"):
        raise pytest.UsageError(f"exclusions.toml: no case has the names {unused}")
    words = words_of_drop_ins() if library == "cupy" else {""}
    chosen = [item for item in items if number_of(item) % parts == part - 1
              and any(word in item.nodeid.lower() for word in words)]
    if config.getoption("--sample"):
        cases = collections.Counter(map(test_of, items))
        chosen = [item for item in chosen if not test_of(item).startswith(WITHOUT_DROP_INS)
                  and (cases[test_of(item)] <= MANY or number_of(item) // parts % SAMPLED == 0)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def number_of(item):
    """Returns a number that follows from the name of a case."""
    return zlib.crc32(item.nodeid.encode())


def test_of(item):
    """Returns the name of a case without its file and its parameters."""
    return item.nodeid.partition("::")[2].partition("[")[0]


def words_of_drop_ins():
    """Returns the first words of the names of all drop-ins: "gaussian" of gaussian_filter."""
    return {name.partition("_")[0] for ours in REPLACED["cupy"]
            for name in importlib.import_module(f"convolume.{ours}").__all__}


def as_pattern(case):
    """Returns a pattern in which brackets stand for themselves: names of cases have them."""
    return case.replace("[", "[[]")
