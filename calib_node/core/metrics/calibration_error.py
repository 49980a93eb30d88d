# SPDX-License-Identifier: Apache-2.0
"""Calibration errors of binary probabilities, over bins."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.metrics.binning import (
    Binning,
    Closed,
    equal_mass_edges,
    put_into_bins,
    reliability,
    whole_ties,
)


def ece(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """Expected calibration error.

    The mean over the samples of ``|mean probability - frequency|`` in their bin: Naeini, Cooper
    and Hauskrecht, *Obtaining well calibrated probabilities using Bayesian binning*, AAAI 2015.
    Of few samples it is large even if they are calibrated.

    Parameters
    ----------
    p, y, bins, binning, closed
        As in `reliability`, which also says what is refused.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(ece([0.1, 0.1, 0.9], [0, 1, 1], bins=2), 4)
    0.3
    """
    diagram = reliability(p, y, bins, binning=binning, closed=closed)
    return float(np.sum(diagram.count * diagram.gap) / np.sum(diagram.count))


def mce(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """Maximum calibration error: the largest ``|mean probability - frequency|`` of a bin.

    Naeini, Cooper and Hauskrecht, AAAI 2015, as `ece`.

    Parameters
    ----------
    p, y, bins, binning, closed
        As in `reliability`, which also says what is refused.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(mce([0.1, 0.1, 0.9], [0, 1, 1], bins=2), 4)
    0.4
    """
    return float(np.max(reliability(p, y, bins, binning=binning, closed=closed).gap))


def rms_calibration_error(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """Root mean square (L2) calibration error: the plug-in estimate, which chance makes larger.

    Hendrycks, Mazeika and Dietterich, *Deep anomaly detection with outlier exposure*, ICLR 2019.
    `debiased_l2` takes away what chance is expected to add.

    Parameters
    ----------
    p, y, bins, binning, closed
        As in `reliability`, which also says what is refused.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(rms_calibration_error([0.1, 0.1, 0.9], [0, 1, 1], bins=2), 4)
    0.3317
    """
    diagram = reliability(p, y, bins, binning=binning, closed=closed)
    return sqrt(np.sum(diagram.weight * diagram.gap**2))


def debiased_squared_l2(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """Debiased estimate of the squared L2 calibration error.

    Its mean is 0 for calibrated probabilities, so it is often negative.

    Each bin's squared gap less ``frequency (1 - frequency) / (count - 1)``, the part of it that
    chance is expected to add: Kumar, Liang and Ma, *Verified uncertainty calibration*, NeurIPS
    2019. A bin with a single sample says nothing of chance and adds 0.

    Parameters
    ----------
    p, y, bins, binning, closed
        As in `reliability`, which also says what is refused.

    Returns
    -------
    float
        Squared probability; may be below 0.

    Examples
    --------
    >>> round(debiased_squared_l2([0.6, 0.6, 0.7, 0.9], [1, 0, 1, 0], bins=1), 4)
    -0.0433
    """
    diagram = reliability(p, y, bins, binning=binning, closed=closed)
    several = diagram.count >= 2
    count, frequency = diagram.count[several], diagram.frequency[several]
    by_chance = frequency * (1.0 - frequency) / (count - 1)
    squared = diagram.gap[several] ** 2 - by_chance
    return float(np.sum(diagram.weight[several] * squared))


def debiased_l2(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> float:
    """Root of `debiased_squared_l2`, 0 where that is negative.

    It is the square that is debiased: a mean over several data sets is to be taken of the squares.

    Parameters
    ----------
    p, y, bins, binning, closed
        As in `reliability`, which also says what is refused.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(debiased_l2([0.9, 0.9, 0.9, 0.9], [1, 0, 0, 0], bins=1), 4)
    0.6
    """
    return sqrt(max(0.0, debiased_squared_l2(p, y, bins, binning=binning, closed=closed)))


def sweep_bins(p: ArrayLike, y: ArrayLike) -> int:
    """Return the number of equal-mass bins that `sweep_ece` takes.

    The number of bins is raised from 2 while the frequencies do not decrease from a bin to the
    next; the last such number, or 1. Ties lie whole in one bin (`reliability`), and an empty bin
    is passed over.

    Parameters
    ----------
    p, y
        As in `reliability`, which also says what is refused.

    Returns
    -------
    int
        From 1 to the number of samples.

    Examples
    --------
    >>> sweep_bins([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1])
    4
    """
    ordered = put_into_bins(p, y, 1, 'equal_mass')
    samples, cuts = len(ordered.p), whole_ties(ordered.p)
    positives = np.concatenate([[0.0], np.cumsum(ordered.y)])
    ties = np.unique(cuts)
    of_tie = np.diff(positives[ties]) / np.diff(ties)
    if np.all(np.diff(of_tie) >= 0.0):
        return samples
    # Before the first positive a bin's frequency is 0, after the last negative 1. Only between
    # them can it fall, which leaves little to look at where the classes are nearly separable.
    middle = (ties[:-1] + ties[1:] - 1) // 2
    first, last = int(middle[np.argmax(of_tie > 0.0)]), int(middle[of_tie < 1.0][-1])
    # Ends: ties that are not in order are not in order with each in a bin of its own either.
    for bins in range(2, samples + 1):
        edges = cuts[
            equal_mass_edges(
                samples, bins, _bin_at(first, samples, bins), _bin_at(last, samples, bins)
            )
        ]
        count = np.diff(edges)
        used = count > 0
        frequency = np.diff(positives[edges])[used] / count[used]
        if np.any(np.diff(frequency) < 0.0):
            break
    return bins - 1


def _bin_at(place: int, samples: int, bins: int) -> int:
    """Return the equal-mass bin of the sample at a place in the order."""
    size, larger = divmod(samples, bins)
    of_larger = place // (size + 1)
    return of_larger if of_larger < larger else (place - larger) // size


def sweep_ece(p: ArrayLike, y: ArrayLike) -> float:
    """ECE over as many equal-mass bins as keep the frequencies in order (`sweep_bins`).

    Roelofs, Cain, Shlens and Mozer, *Mitigating bias in calibration error estimation*, AISTATS
    2022. For its L2 form give `sweep_bins` to `rms_calibration_error`, with equal-mass bins.

    Parameters
    ----------
    p, y
        As in `reliability`, which also says what is refused.

    Returns
    -------
    float
        Probability, from 0 to 1.

    Examples
    --------
    >>> round(sweep_ece([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1]), 4)
    0.25
    """
    return ece(p, y, sweep_bins(p, y), binning='equal_mass')
