# SPDX-License-Identifier: Apache-2.0
"""How far a score may be from what it would be on other samples of the same kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.metrics.checks import Floats, check_samples
from calib_node.core.metrics.scores import brier
from calib_node.core.ranges import Interval, check_number

LEVELS = Interval(0.0, 1.0, low_open=True, high_open=True)
COUNTS = Interval(1, whole=True)

Score = Callable[[Floats, Floats], float]


def bootstrap_interval(
    score: Score,
    p: ArrayLike,
    y: ArrayLike,
    level: float = 0.95,
    resamples: int = 1000,
    block: int = 1,
    seed: int = 0,
) -> tuple[float, float]:
    """Confidence interval of a score, by the percentiles of resampled samples.

    Parameters
    ----------
    score : callable
        Takes probabilities and labels, such as `brier` or `log_loss`.
    p, y
        As in `check_samples`, which also says what is refused.
    level : float
        Share of intervals that are to hold the true score.
    resamples : int
        How often it is resampled.
    block : int
        So many neighbours are drawn together, where they depend on one another; 1: none are.
    seed : int
        Of the draws.

    Returns
    -------
    low, high : float

    Notes
    -----
    For a score that is never negative, such as the ECE, of nearly honest probabilities the interval
    lies too high: resampling adds noise to noise. `ece_noise` says what of it is chance.

    References
    ----------
    Efron, *Bootstrap methods: another look at the jackknife*, Annals of Statistics 7, 1979.
    Künsch, *The jackknife and the bootstrap for general stationary observations*, Annals of
    Statistics 17, 1989 (blocks).

    Examples
    --------
    >>> from calib_node.core.metrics import brier
    >>> p, y = np.tile([0.8, 0.3], 50), np.tile([1, 0, 1, 1], 25)
    >>> [round(end, 3) for end in bootstrap_interval(brier, p, y)]
    [0.128, 0.202]
    """
    probabilities, labels = check_samples(p, y)
    level = check_number('level', level, LEVELS)
    count = len(labels)
    size = min(int(check_number('block', block, COUNTS)), count)
    generator = np.random.default_rng(seed)
    within = np.arange(size)
    scores = []
    for _ in range(int(check_number('resamples', resamples, COUNTS))):
        starts = generator.integers(0, count - size + 1, size=-(-count // size))
        drawn = (starts[:, None] + within).ravel()[:count]
        scores.append(score(probabilities[drawn], labels[drawn]))
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(scores, [tail, 1.0 - tail])
    return float(low), float(high)


def brier_skill(p: ArrayLike, y: ArrayLike) -> float:
    """Share of the Brier score of the base rate that the probabilities save; NaN for one class.

    Parameters
    ----------
    p, y
        As in `check_samples`, which also says what is refused.

    Returns
    -------
    float
        1 for perfect forecasts, 0 for the base rate of these labels, below for worse.

    Examples
    --------
    >>> round(brier_skill([0.8, 0.4], [1, 0]), 4)
    0.6
    """
    probabilities, labels = check_samples(p, y)
    rate = float(labels.mean())
    if rate in (0.0, 1.0):
        return float('nan')
    return 1.0 - brier(probabilities, labels) / (rate * (1.0 - rate))
