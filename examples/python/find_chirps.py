# SPDX-License-Identifier: Apache-2.0
"""Chirps of unknown frequency and drift in noise whose level rises, placed to a fraction of a sample."""

import numpy as np

import convolume

random = np.random.default_rng(8)
samples, length = 1 << 17, 1024
templates, chirps = convolume.chirp_bank(length, (0.05, 0.06), (-2e-5, 2e-5), mismatch=0.05)

# Events of SNR 15 are between the samples, and between the frequencies and drifts of the templates.
level = np.linspace(1, 3, samples)
noise = random.normal(size=(2, samples)) * level / np.sqrt(2)
signal = (noise[0] + 1j * noise[1]).astype(np.complex64)
time = np.arange(samples)
hidden = [(20_000.3, 0.0521, 7e-6), (70_000.8, 0.0587, -1.3e-5), (120_000.5, 0.0554, 0)]
for begin, frequency, drift in hidden:
    u = time - begin - (length - 1) / 2
    chirp = np.exp(2j * np.pi * (frequency * u + drift * u**2 / 2)) * (np.abs(u) < length / 2)
    signal += (15 / np.sqrt(length) * level * chirp).astype(np.complex64)

peaks = convolume.correlation_peaks(signal, templates, noise_block=8192, threshold=8, position="interpolated")
found = chirps[peaks["template"]]
print(f"{len(templates)} templates, {len(peaks)} peaks of SNR {np.round(peaks['snr'], 1)}")

assert len(peaks) == 3
for peak, (begin, frequency, drift) in zip(peaks, hidden, strict=True):
    chirp = chirps[peak["template"]]
    assert abs(peak["position"] - begin) < 20 and peak["snr"] > 11
    assert abs(chirp["frequency"] - frequency) < 5e-4 and abs(chirp["drift"] - drift) < 5e-6
