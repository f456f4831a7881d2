# SPDX-License-Identifier: Apache-2.0
"""Templates of chirps, for correlation banks: of signals, and of their spectra."""

import numpy as np

from . import _core
from ._argument_types import names_wrong_types

_CHIRP = np.dtype([("frequency", np.float64), ("drift", np.float64)])


@names_wrong_types
def chirp_bank(samples: int, frequency: tuple[float, float], drift: tuple[float, float], *, rate: float = 1.0,
               mismatch: float = 0.03, most_chirps: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    """Makes templates of chirps over ranges of frequency and its derivative.

    A chirp is ``exp(2j * pi * (f * u + d * u**2 / 2))`` with the time u in seconds from the middle of the template. For
    T seconds, a chirp at a distance (df, dd) of the nearest one loses at most the fraction ``(pi * T * df)**2 / 6 +
    (pi * T**2 * dd)**2 / 360`` of its SNR, by a second-order expansion.

    Parameters
    ----------
    samples : int
        Samples of each template.
    frequency : (lowest, highest)
        Range of the frequency in the middle, in hertz.
    drift : (least, most)
        Range of its derivative, in hertz per second.
    rate : float
        Sampling rate in hertz.
    mismatch : float
        Largest fraction of the SNR that a chirp in these ranges loses between templates.
    most_chirps : int
        More chirps are refused.

    Returns
    -------
    templates : complex64 array of chirps × samples
    chirps : structured array with the fields "frequency" and "drift"

    Raises
    ------
    InvalidArgument
        Ranges that are empty or beyond half the rate, and too many chirps (a ValueError).

    Examples
    --------
    >>> import convolume
    >>> templates, chirps = convolume.chirp_bank(512, (0.1, 0.11), (-1e-5, 1e-5), mismatch=0.1)
    >>> templates.shape, len(chirps)
    ((48, 512), 48)
    """
    (lowest, highest), (least, most) = frequency, drift
    templates, facts = _core.chirp_bank(samples, rate, (lowest, highest), (least, most), mismatch, most_chirps)
    facts = facts.reshape(-1, 2)
    chirps = np.empty(len(facts), _CHIRP)
    chirps["frequency"], chirps["drift"] = facts.T
    return templates.reshape(len(facts), samples), chirps


@names_wrong_types
def spectral_chirp_bank(max_drift: float, *, mismatch: float = 0.03) -> tuple[np.ndarray, np.ndarray]:
    """Makes templates for acceleration searches in the Fourier domain (Ransom, Eikenberry and Middleditch, Astron. J.
    124:1788, 2002).

    A template is the response of ``numpy.fft.fft(x) / x.size`` to a tone that drifts by z bins while it is recorded. A
    peak at position n stands for a tone whose mean frequency is bin ``n + (templates.shape[1] - 1) / 2``.

    Parameters
    ----------
    max_drift : float
        Drifts z are from -max_drift to max_drift, in equal steps.
    mismatch : float
        Largest fraction of the SNR that a tone loses between two drifts; 0.027 means steps of 2 bins.

    Returns
    -------
    templates : complex64 array of drifts × bins
    drifts : float64 array

    Raises
    ------
    InvalidArgument
        A drift or a mismatch out of range (a ValueError).

    Examples
    --------
    >>> import convolume
    >>> templates, drifts = convolume.spectral_chirp_bank(20)
    >>> templates.shape, drifts[:3].tolist()
    ((21, 53), [-20.0, -18.0, -16.0])
    """
    templates, facts = _core.spectral_chirp_bank(max_drift, mismatch)
    drifts = facts.reshape(-1, 2)[:, 1].copy()
    return templates.reshape(len(drifts), -1), drifts
