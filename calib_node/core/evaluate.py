# SPDX-License-Identifier: Apache-2.0
"""A calibrator over a stream as it is used: forecast first, label afterwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from calib_node.core.calibrators.protocols import Forecaster
from calib_node.core.ranges import Interval, check_number

P = TypeVar('P')
Q = TypeVar('Q')

DELAYS = Interval(0, whole=True)


def progressive(
    calibrator: Forecaster[P, Q], samples: Iterable[tuple[P, int]], delay: int = 0
) -> Iterator[tuple[P, Q, int]]:
    """Yield what was forecast for each sample, the calibrator learning as the labels come.

    Every forecast is made before its label is learned, and the label is learned with the ticket
    of that forecast. The calibrator learns and keeps what it learned. When a sample is yielded,
    the label that is due with it has been learned, and no sample beyond it has been taken from
    `samples`, which may be endless.

    Parameters
    ----------
    calibrator : Calibrator or MulticlassCalibrator
        What forecasts and learns.
    samples : iterable of (p, label)
        In the order of the predictions: a probability and 0 or 1, or K probabilities and the
        index of a class.
    delay : int
        How many further predictions are made before a label is learned; 0: none. The last `delay`
        labels, which would come after the last prediction, are not learned.

    Returns
    -------
    iterator of (raw, published, label)
        In the order of the predictions; raw and published are each a probability, or K of them.

    Raises
    ------
    ValueError
        If `delay` is no whole number from 0, or a sample is refused by the calibrator.

    References
    ----------
    Bifet et al., *Efficient online evaluation of big data stream classifiers*, KDD 2015.
    Grzenda, Gomes and Bifet, *Delayed labelling evaluation for data streams*, Data Mining and
    Knowledge Discovery 34, 2020.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> samples = [(0.8, 0), (0.8, 0), (0.8, 1)]
    >>> for raw, published, label in progressive(create('ops'), samples, delay=1):
    ...     print(raw, round(published, 3), label)
    0.8 0.8 0
    0.8 0.8 0
    0.8 0.761 1
    """
    return _progressive(calibrator, samples, int(check_number('delay', delay, DELAYS)))


def _progressive(
    calibrator: Forecaster[P, Q], samples: Iterable[tuple[P, int]], delay: int
) -> Iterator[tuple[P, Q, int]]:
    issue, update = calibrator.issue, calibrator.update
    if not delay:
        for p, y in samples:
            q, ticket = issue(p)
            update(p, y, ticket)
            yield p, q, y
        return
    pending: deque[tuple[P, int, Any]] = deque()
    for p, y in samples:
        q, ticket = issue(p)
        pending.append((p, y, ticket))
        if len(pending) > delay:
            update(*pending.popleft())
        yield p, q, y


def forecasts(
    calibrator: Forecaster[P, Q], samples: Iterable[tuple[P, int]], delay: int = 0
) -> list[Q]:
    """Return the forecast for each sample, as `progressive` makes them.

    Parameters
    ----------
    calibrator, samples, delay
        As of `progressive`.

    Returns
    -------
    list of float or ndarray
        A calibrated probability per sample, or an array of shape (K,) per sample.

    Raises
    ------
    ValueError
        As of `progressive`.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> [round(q, 3) for q in forecasts(create('ops'), [(0.8, 0), (0.8, 0), (0.8, 1)])]
    [0.8, 0.761, 0.72]
    """
    return [published for _, published, _ in progressive(calibrator, samples, delay)]
