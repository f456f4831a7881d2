# SPDX-License-Identifier: Apache-2.0
"""Chirps hidden in noise, found by a bank of matched filters that reports the peak of each window."""

import numpy as np

import convolume

random = np.random.default_rng(7)
samples, length, window = 1 << 18, 1024, 4096

# The templates have frequencies that rise at different rates, and norm 1.
time = np.arange(length)
rates = np.linspace(2e-5, 2e-4, 16)
templates = np.exp(1j * np.pi * rates[:, np.newaxis] * time**2) / np.sqrt(length)
templates = templates.astype(np.complex64)

noise = random.normal(size=(2, samples)) / np.sqrt(2)
signal = (noise[0] + 1j * noise[1]).astype(np.complex64)
hidden = {40_000: 3, 123_456: 9, 200_001: 14}  # first sample and number of each hidden template
for begin, number in hidden.items():
    signal[begin:begin + length] += 12 * templates[number]

# A matched filter is the conjugate template in reverse order. With the origin at its last tap, result i is the
# product of the template with the signal from sample i on.
bank = templates[:, ::-1].conj()
power, where = convolume.filter_bank(signal, bank, origin="anticausal", post="power", window=("peak", window),
                                     positions=True)

# Noise alone exceeds a power of 40 once in exp(40) samples.
found = {int(where[n, w]): int(n) for n, w in zip(*np.nonzero(power > 40)) if power[n, w] == power[:, w].max()}
print(f"found {found}")
assert found == hidden
