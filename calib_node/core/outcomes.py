# SPDX-License-Identifier: Apache-2.0
"""What a prediction may be: one probability, or one per class."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calib_node.core.metrics.rolling import RollingReliability
from calib_node.core.metrics.rolling_multiclass import MulticlassReliability
from calib_node.core.metrics.rolling_scores import RollingScores
from calib_node.core.ranges import SUM_TOLERANCE
from calib_node.core.refusal import Refused
from calib_node.core.samples import P

OVERSHOOT = 1e-6
"""A probability this far outside [0, 1] is taken as rounding and clamped."""

Floats = NDArray[np.float64]


class Outcomes(Protocol[P]):
    """What a pipeline has to know of its predictions and labels."""

    @property
    def classes(self) -> int:
        """Number of probabilities in a prediction; 1: that of the positive class."""

    def check(self, raw: P, /) -> P:
        """Return a probability that came in, rounding taken away.

        Raises
        ------
        Refused
            If it is none.
        """

    def check_many(self, raws: Floats, /) -> tuple[Floats, dict[int, Refused]]:
        """Return probabilities that came in together, and by index those that are none.

        Parameters
        ----------
        raws : ndarray of float of shape (n,) or (n, K)

        Returns
        -------
        checked : ndarray of float
            Rounding taken away; the same array where there was none to take.
        refused : dict of int to Refused
            In order; what is said of them in `checked` is of no use.
        """

    def index(self, label: float, /) -> int:
        """Return the outcome that a label names: 0 or 1, or the index of the class.

        Raises
        ------
        Refused
            If it names none.
        """

    def beyond(self, raws: list[P], clip: float, /) -> int:
        """Return how many hold an outcome whose probability is beyond ``1 - clip``."""

    def identity(self, raw: P, /) -> Hashable:
        """Return what tells one prediction from another of other probabilities."""

    def scores(self, bins: int, window: int) -> RollingScores[P]:
        """Return the scores of an empty window."""


class BinaryOutcome:
    """One probability, that of the positive class.

    Examples
    --------
    >>> BinaryOutcome().check(1.0000001), BinaryOutcome().index(1.0)
    (1.0, 1)
    """

    classes = 1

    def check(self, raw: float) -> float:
        """Return a probability, rounding taken away, or refuse it."""
        if 0.0 <= raw <= 1.0:
            return raw
        if -OVERSHOOT <= raw < 0.0:
            return 0.0
        if 1.0 < raw <= 1.0 + OVERSHOOT:
            return 1.0
        raise Refused('not_finite' if raw - raw != 0.0 else 'out_of_range', raw)

    def check_many(self, raws: Floats) -> tuple[Floats, dict[int, Refused]]:
        """Return probabilities of shape (n,), rounding taken away, and those that are none."""
        if ((raws >= 0.0) & (raws <= 1.0)).all():
            return raws, {}
        return np.clip(raws, 0.0, 1.0), _refused_of(self.check, raws.tolist())

    def index(self, label: float) -> int:
        """Return 0 or 1, or refuse the label."""
        if label == 0.0:
            return 0
        if label == 1.0:
            return 1
        raise Refused('not_finite' if label - label != 0.0 else 'bad_label', label)

    def beyond(self, raws: list[float], clip: float) -> int:
        """Return how many are below `clip` or above ``1 - clip``."""
        high = 1.0 - clip
        return len([p for p in raws if not clip <= p <= high])

    def identity(self, raw: float) -> Hashable:
        """Return the probability itself."""
        return raw

    def scores(self, bins: int, window: int) -> RollingScores[float]:
        """Return the scores of an empty window."""
        return RollingScores(RollingReliability, bins, window)


class ClassOutcomes:
    """One probability for each of K classes, with a sum of 1.

    Parameters
    ----------
    classes : int
        K.

    Examples
    --------
    >>> ClassOutcomes(3).check([0.7, 0.2, 0.1]).tolist(), ClassOutcomes(3).index(2.0)
    ([0.7, 0.2, 0.1], 2)
    """

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def check(self, raw: Floats) -> Floats:
        """Return the probabilities, shape (K,), rounding taken away, or refuse them."""
        classes = self.classes
        # The calibrator sums in double precision too, and so comes to the same verdict.
        raw = np.asarray(raw, dtype=np.float64)
        if raw.shape != (classes,):
            found = raw.size if raw.ndim == 1 else f'an array of shape {raw.shape}'
            raise Refused('wrong_length', f'{found} instead of {classes}, one per class')
        low, high = raw.min(), raw.max()
        if not (low >= -OVERSHOOT and high <= 1.0 + OVERSHOOT):
            raise _outside(raw)
        if low < 0.0 or high > 1.0:
            raw = np.clip(raw, 0.0, 1.0)
        total = float(raw.sum())
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise Refused('bad_sum', total)
        return raw

    def check_many(self, raws: Floats) -> tuple[Floats, dict[int, Refused]]:
        """Return probabilities of shape (n, K), rounding taken away, and those that are none."""
        checked = np.clip(raws, 0.0, 1.0)
        return checked, _refused_of(self.check, raws)

    def index(self, label: float) -> int:
        """Return the index of the class, 0 to K - 1, or refuse the label."""
        classes = self.classes
        if 0.0 <= label < classes and label == int(label):
            return int(label)
        if label - label != 0.0:
            raise Refused('not_finite', label)
        sentence = f'the label is not the index of one of {classes} classes, 0 to {classes - 1}'
        raise Refused('bad_label', label, sentence)

    def beyond(self, raws: list[Floats], clip: float) -> int:
        """Return of how many the top class is above ``1 - clip``."""
        return sum(float(p.max()) > 1.0 - clip for p in raws)

    def identity(self, raw: Floats) -> Hashable:
        """Return the bytes of the probabilities."""
        return raw.tobytes()

    def scores(self, bins: int, window: int) -> RollingScores[Floats]:
        """Return the scores of an empty window."""
        return RollingScores(MulticlassReliability, bins, window)


def _outside(raw: Floats) -> Refused:
    """Return the refusal of the first probability that is none."""
    index = int(np.argmin((raw >= -OVERSHOOT) & (raw <= 1.0 + OVERSHOOT)))
    value = float(raw[index])
    reason = 'out_of_range' if np.isfinite(value) else 'not_finite'
    return Refused(reason, f'{value!r} for class {index}')


def _refused_of(check: Callable[[Any], Any], raws: Iterable[Any]) -> dict[int, Refused]:
    refused = {}
    for index, raw in enumerate(raws):
        try:
            check(raw)
        except Refused as refusal:
            refused[index] = refusal
    return refused


def outcomes_of(classes: int) -> Outcomes[Any]:
    """Return what the predictions of a calibrator of so many classes may be.

    Parameters
    ----------
    classes : int
        1 for the probability of the positive class, else K.

    Returns
    -------
    BinaryOutcome or ClassOutcomes
    """
    return BinaryOutcome() if classes == 1 else ClassOutcomes(classes)
