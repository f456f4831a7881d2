# SPDX-License-Identifier: Apache-2.0
"""Messages of memory limits that are too small name limits that are enough.

CONVOLUME_TEST_SEED replaces the seed of the random problems.
"""

import os
import re

import numpy as np
import pytest

import convolume


def advised_limit(sentence):
    """Returns the limit that a message advises, as text."""
    return re.search(r"allow (\d+ (?:B|KiB|MiB|GiB)) of host memory instead of .* \(max_host_mem\)", sentence).group(1)


def random_deconvolver(rng):
    """Returns a function that plans a random deconvolution with a limit, and the shape of its images."""
    shape = tuple(int(n) for n in rng.integers(1, (25, 65, 65)))
    psf = rng.random([min(2 * n - 1, int(k)) for n, k in zip(shape, rng.integers(1, (16, 32, 32)))]) + 0.01
    options = {"method": str(rng.choice(["rl", "rl-tv", "shb", "wb", "gc", "nnls", "wiener"])), "device": "cpu"}
    if options["method"] in ("rl", "rl-tv"):
        options["acceleration"] = str(rng.choice(["none", "biggs"]))
    if rng.random() < 0.7:
        options["iterations"] = 2
    if rng.random() < 0.3:
        options["edges"] = str(rng.choice(["zero", "wrap", "reflect"]))
    if rng.random() < 0.2:
        options["uncertainty"] = True
    return (lambda limit: convolume.Deconvolver(shape, psf, max_host_mem=limit, **options)), shape


def random_convolver(rng):
    shape = tuple(int(n) for n in rng.integers(1, (25, 65, 65)))
    kernel = rng.random(tuple(int(n) for n in rng.integers(1, (16, 32, 32))))
    mode = str(rng.choice(["same", "full"]))
    return (lambda limit: convolume.Convolver(shape, kernel, mode=mode, max_host_mem=limit, device="cpu")), shape


@pytest.mark.filterwarnings("ignore::convolume.ConvolumeWarning")
@pytest.mark.parametrize("draw", [random_deconvolver, random_convolver])
def test_advice_is_enough_at_the_first_try(draw):
    rng = np.random.default_rng(int(os.environ.get("CONVOLUME_TEST_SEED", 11)))
    refused = 0
    for case in range(60):
        plan, shape = draw(rng)
        limit = int(10 ** rng.uniform(2, 6.5))
        try:
            plan(limit)
            continue
        except convolume.OutOfMemory as error:
            text = str(error)
        except convolume.InvalidArgument:
            continue  # a combination of options that is not offered
        refused += 1
        assert "acceleration" not in text, text
        planned = plan(advised_limit(text))
        if case % 10 == 0:
            planned(rng.poisson(20, shape).astype(np.float32))
    assert refused > 20


def test_advice_is_hardly_more_than_is_needed():
    psf = np.ones((15, 41, 21))
    with pytest.raises(convolume.OutOfMemory) as caught:
        convolume.Deconvolver((24, 96, 96), psf, iterations=2, max_host_mem=1_000_000, device="cpu")
    enough = convolume._core.parse_byte_size(advised_limit(str(caught.value)))
    with pytest.raises(convolume.OutOfMemory):
        convolume.Deconvolver((24, 96, 96), psf, iterations=2, max_host_mem=int(enough / 1.1), device="cpu")
