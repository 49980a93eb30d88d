# SPDX-License-Identifier: Apache-2.0
"""Calibration errors without bins: smooth, and over the worst interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.metrics.checks import Floats, check_samples

CELLS = 1000
"""Cells of the grid that the smooth error is computed on."""
STEPS = 40
"""Bisections for the width of the kernel, which leave an error of 1e-12."""


def smooth_ece(p: ArrayLike, y: ArrayLike) -> float:
    """Smooth calibration error: no bins, and continuous in every probability.

    The residuals are smoothed over p by a Gaussian kernel that is reflected at 0 and 1; the error
    is the integral of their absolute value, at the kernel width that equals it.

    Parameters
    ----------
    p, y
        As in `check_samples`, which also says what is refused.

    Returns
    -------
    float
        From 0 to 1.

    Notes
    -----
    It is computed on a grid of 1 000 cells, each residual split linearly between the two nearest
    points, by the Fourier transform, in O(n) and some 40 transforms of 2 000 numbers.

    References
    ----------
    Błasiok and Nakkiran, *Smooth ECE: principled reliability diagrams via kernel smoothing*, ICLR
    2024 (arXiv:2309.12236).

    Examples
    --------
    >>> round(smooth_ece([0.8] * 10, [1] * 5 + [0] * 5), 4)
    0.3
    """
    probabilities, labels = check_samples(p, y)
    place = probabilities * CELLS
    cell = np.minimum(place.astype(np.int64), CELLS - 1)
    share, residual = place - cell, (labels - probabilities) / len(labels)
    masses = np.bincount(cell, residual * (1.0 - share), CELLS + 1)
    masses += np.bincount(cell + 1, residual * share, CELLS + 1)
    # Even and periodic, so that the kernel is reflected at both ends.
    mirrored = np.zeros(2 * CELLS)
    mirrored[: CELLS + 1] = masses
    mirrored[CELLS:] += masses[:0:-1]
    mirrored[0] *= 2.0
    spectrum = np.fft.rfft(mirrored)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        width = (low + high) / 2.0
        if _smoothed(spectrum, width) > width:
            low = width
        else:
            high = width
    return (low + high) / 2.0


def _smoothed(spectrum: NDArray[np.complex128], width: float) -> float:
    """Return the integral of the absolute value of residuals smoothed by a kernel."""
    frequencies = np.pi * width * np.arange(len(spectrum))
    smooth = np.fft.irfft(spectrum * np.exp(-0.5 * frequencies**2), 2 * CELLS)[: CELLS + 1]
    # A mass at an end is of half a cell.
    return float(np.abs(smooth).sum() - 0.5 * (abs(smooth[0]) + abs(smooth[-1])))


def cutoff_calibration_error(p: ArrayLike, y: ArrayLike) -> float:
    """Largest mean residual within any interval of probabilities, counted over all samples.

    The most that a user gains or loses who acts on the probabilities of an interval alone.

    Parameters
    ----------
    p, y
        As in `check_samples`, which also says what is refused.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    Rossellini, Soloff, Barber, Ren and Willett, *Can a calibration metric be both testable and
    actionable?*, COLT 2025.

    Examples
    --------
    >>> cutoff_calibration_error([0.25, 0.25, 0.75, 0.75], [0, 0, 0, 1])
    0.25
    """
    probabilities, labels = check_samples(p, y)
    order = np.argsort(probabilities, kind='stable')
    values = probabilities[order]
    sums = np.cumsum((labels - probabilities)[order]) / len(values)
    # Equal probabilities are within an interval together.
    ends = np.concatenate([[0.0], sums[np.append(values[1:] != values[:-1], True)]])
    return float(ends.max() - ends.min())


def ece_noise(p: ArrayLike, bins: int = 15, level: float | None = None) -> float:
    """ECE that honest probabilities have by chance, on the mean or as a quantile.

    Parameters
    ----------
    p : array_like of float, shape (n,)
        Probabilities.
    bins : int
        Equal-width bins.
    level : float, optional
        Of the quantile, such as .95; None: the mean.

    Returns
    -------
    float

    Notes
    -----
    The sum of the residuals of a bin is nearly normal with variance V = Σ p (1 - p); so the mean is
    Σ √(2 V / π) / n, and the variance of it (1 - 2 / π) Σ V / n².

    Examples
    --------
    >>> p = np.linspace(0.0, 1.0, 1000)
    >>> round(ece_noise(p), 3), round(ece_noise(p, level=0.95), 3)
    (0.039, 0.051)
    """
    probabilities: Floats
    probabilities, _ = check_samples(p, np.zeros(np.shape(p)))
    index = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    variance = np.bincount(index, probabilities * (1.0 - probabilities), bins)
    return noise_of_bins(variance.tolist(), level) / len(probabilities)


def noise_of_bins(variances: Sequence[float], level: float | None = None) -> float:
    """Return the sum of the absolute residuals of bins that is chance, as of `ece_noise`.

    Parameters
    ----------
    variances : sequence of float
        Of each bin, Σ p (1 - p).
    level : float, optional
        Of the quantile; None: the mean.

    Returns
    -------
    float
    """
    noise = sum(sqrt(2.0 * variance / pi) for variance in variances)
    if level is not None:
        spread = sqrt((1.0 - 2.0 / pi) * sum(variances))
        noise += NormalDist().inv_cdf(level) * spread
    return noise
