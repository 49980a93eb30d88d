# SPDX-License-Identifier: Apache-2.0
"""Calibration of a probability for each of K classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.calibrators.base import Learner
from calib_node.core.ranges import SUM_TOLERANCE, Interval, check_number
from calib_node.core.refusal import brief

CLASSES = Interval(2, 1000, whole=True)
"""Numbers of classes that can be calibrated."""

SHOWN = 10
"""Classes whose figures are shown one by one."""

Floats = NDArray[np.float64]


def check_classes(classes: int) -> int:
    """Return a number of classes, or raise a ValueError if it is not within `CLASSES`."""
    return int(check_number('classes', classes, CLASSES))


class MulticlassCalibrator(Learner):
    """Maps K probabilities to K calibrated ones that sum to 1.

    It is used as a binary calibrator is, with an array of K probabilities in place of one and a
    class index in place of 0 or 1.

    Parameters
    ----------
    classes : int
        K, from 2 to 1000.
    """

    def __init__(self, classes: int) -> None:
        self._classes = check_classes(classes)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self._classes

    def predict(self, p: ArrayLike) -> Floats:
        """Return the calibrated probabilities of `p` and keep nothing.

        Parameters
        ----------
        p : array_like of float, shape (K,)
            One probability per class.

        Returns
        -------
        ndarray of float, shape (K,)
            Probabilities that sum to 1.

        Raises
        ------
        ValueError
            If `p` is not K probabilities that sum to 1 within `SUM_TOLERANCE`.
        """
        return self.issue(p)[0]

    @abstractmethod
    def issue(self, p: ArrayLike) -> tuple[Floats, Any]:
        """Return the calibrated probabilities of `p` and the ticket for its label.

        Parameters
        ----------
        p : array_like of float, shape (K,)
            One probability per class.

        Returns
        -------
        q : ndarray of float, shape (K,)
            Probabilities that sum to 1.
        ticket : object
            To be given to `update` with the label; of no other use.

        Raises
        ------
        ValueError
            If `p` is not K probabilities that sum to 1 within `SUM_TOLERANCE`.
        """

    def issue_many(self, p: Floats, contexts: Sequence[Any] = ()) -> tuple[Floats, Sequence[Any]]:
        """Return the calibrated probabilities of the objects of a message, and their tickets.

        Parameters
        ----------
        p : ndarray of float of shape (n, K)
            One probability per class for each object.
        contexts : sequence of tuple
            One for each, where the calibrator has contexts; else empty.

        Returns
        -------
        q : ndarray of float of shape (n, K)
            Probabilities; each row sums to 1.
        tickets : sequence
            One for each.

        Raises
        ------
        ValueError
            As in `issue`.
        """
        issued = [self.issue(row) for row in p]
        q = np.array([q for q, _ in issued], np.float64).reshape(p.shape)
        return q, [ticket for _, ticket in issued]

    @abstractmethod
    def update(self, p: ArrayLike, label: int, ticket: Any = None) -> None:
        """Learn that the forecast made of `p` had the class `label`; no ticket: issued just now.

        Raises
        ------
        ValueError
            If `p` is not K probabilities or `label` is not a class index.
        UpdateNotFinite
            If the update would not be finite; no class has changed then.
        """

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as `Learner.state` does."""
        return {'classes': self._classes, **super().state()}

    def _checked(self, p: ArrayLike) -> Floats:
        """Return probabilities as an array, or raise the sentence that says what is wrong."""
        try:
            array = np.asarray(p, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f'probabilities must be numbers, not {brief(p)}') from None
        if array.shape != (self._classes,):
            given = array.size if array.ndim == 1 else f'an array of shape {array.shape}'
            raise ValueError(
                f'{self._classes} probabilities are expected, one per class, not {given}'
            )
        if not (array.min() >= 0.0 and array.max() <= 1.0):
            wrong = array[~((array >= 0.0) & (array <= 1.0))][0]
            raise ValueError(f'a probability must be within [0, 1], not {float(wrong)!r}')
        total = float(array.sum())
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise ValueError(f'the probabilities must sum to 1, not to {total!r}')
        return array

    def _checked_label(self, label: int) -> int:
        """Return a class index as an int, or raise the sentence that says what is wrong."""
        if not isinstance(label, int | float | np.integer | np.floating) or label != label // 1:
            raise ValueError(f'a label must be a whole number, not {brief(label)}')
        if not 0 <= label < self._classes:
            raise ValueError(
                f'a label of {self._classes} classes must be from 0 to {self._classes - 1}, '
                f'not {brief(label)}'
            )
        return int(label)


def one_vs_rest_clip(clip: float, classes: int) -> float:
    """Return the default clip of one class of many, made of that of a binary calibrator.

    Of many classes most have a p near 0, and raised to 0.01 they would together take what the
    likely class has.

    Returns
    -------
    float
        Probability, ``clip / classes``.
    """
    return clip / classes


def by_class(figures: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return figures that each class has, by class or, of many classes, what spans them.

    Parameters
    ----------
    figures : mapping of str to sequence of float
        By name a number, or true or false, of each class.

    Returns
    -------
    dict of str to float
        Up to `SHOWN` classes all of them; of more the least, the median and the largest of each
        figure, or the number of classes where it is true.

    Examples
    --------
    >>> by_class({'a': [1.0, 0.9]})
    {'a of class 0': 1.0, 'a of class 1': 0.9}
    >>> list(by_class({'a': [1.0] * 100}))
    ['a, least of the classes', 'a, median of the classes', 'a, largest of the classes']
    """
    shown: dict[str, float] = {}
    for name, values in figures.items():
        if len(values) <= SHOWN:
            shown |= {f'{name} of class {k}': value for k, value in enumerate(values)}
        elif isinstance(values[0], bool):
            shown[f'{name}, number of classes'] = sum(values)
        else:
            shown[f'{name}, least of the classes'] = min(values)
            shown[f'{name}, median of the classes'] = median(values)
            shown[f'{name}, largest of the classes'] = max(values)
    return shown


def normalised(q: Floats, p: Floats) -> Floats:
    """Return `q` scaled to sum 1, or `p` so scaled if all of `q` is 0."""
    total = q.sum()
    result: Floats = q / total if total > 0.0 else p / p.sum()
    return result
