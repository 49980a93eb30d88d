# SPDX-License-Identifier: Apache-2.0
"""Calibration of a probability for each of K classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.calibrators.base import Calibrator, Learner
from calib_node.core.calibrators.newton import UpdateNotFinite
from calib_node.core.calibrators.saved import StateError
from calib_node.core.limits import SUM_TOLERANCE, Interval, Parameter, brief, check_number

CLASSES = Interval(2, 1000, whole=True)
"""Numbers of classes that can be calibrated."""

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
        """Return the calibrated probabilities of `p`, shape (K,), and keep nothing.

        Raises
        ------
        ValueError
            If `p` is not K probabilities that sum to 1 within `SUM_TOLERANCE`.
        """
        return self.issue(p)[0]

    @abstractmethod
    def issue(self, p: ArrayLike) -> tuple[Floats, Any]:
        """Return the calibrated probabilities of `p`, shape (K,), and the ticket for its label.

        Raises
        ------
        ValueError
            If `p` is not K probabilities that sum to 1 within `SUM_TOLERANCE`.
        """

    @abstractmethod
    def update(self, p: ArrayLike, label: int, ticket: Any = None) -> None:
        """Learn that the forecast made of `p` had the class `label`; no ticket: issued just now.

        Raises
        ------
        ValueError
            If `p` is not K probabilities or `label` is not a class index.
        UpdateNotFinite
            If the update would not be finite.
        """

    def state(self) -> dict[str, Any]:
        """Return all that was learned as plain numbers, lists and dicts, ready for YAML."""
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
                f'{self._classes} probabilities are expected, one a class, not {given}'
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


def normalised(q: Floats, p: Floats) -> Floats:
    """Return `q` scaled to sum 1, or `p` so scaled if all of `q` is 0."""
    total = q.sum()
    result: Floats = q / total if total > 0.0 else p / p.sum()
    return result


class OneVsRest(MulticlassCalibrator):
    """One binary calibrator a class, and the outputs renormalised to sum 1.

    Parameters
    ----------
    calibrators : sequence of Calibrator
        One for each class, all of one method and of the same parameters, but for a seed, which
        rises by 1 from class to class. They are the instance's own from then on.

    References
    ----------
    Zadrozny and Elkan, *Transforming classifier scores into accurate multiclass probability
    estimates*, KDD 2002, Section 5.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> calibrator = OneVsRest([create('identity') for _ in range(3)])
    >>> calibrator.update([0.5, 0.3, 0.2], 2)
    >>> calibrator.predict([0.5, 0.3, 0.2]).tolist(), calibrator.updates
    ([0.5, 0.3, 0.2], 1)
    """

    def __init__(self, calibrators: Sequence[Calibrator]) -> None:
        super().__init__(len(calibrators))
        self._calibrators = list(calibrators)
        self.name = self._calibrators[0].name  # type: ignore[misc]

    def issue(self, p: ArrayLike) -> tuple[Floats, list[Any]]:
        """Return the calibrated probabilities of `p` and the tickets of the classes."""
        array = self._checked(p)
        pairs = [binary.issue(x) for binary, x in zip(self._calibrators, array.tolist())]
        q = np.array([pair[0] for pair in pairs])
        return normalised(q, array), [pair[1] for pair in pairs]

    def update(self, p: ArrayLike, label: int, ticket: list[Any] | None = None) -> None:
        """Learn from the outcome `label` of the forecast made of `p`.

        Raises
        ------
        ValueError
            If `p` is not K probabilities or `label` is not a class index.
        UpdateNotFinite
            If the update of a class would not be finite; the other classes have learned then.
        """
        values, index = self._checked(p).tolist(), self._checked_label(label)
        tickets = [None] * self._classes if ticket is None else ticket
        failure = ''
        for k, binary in enumerate(self._calibrators):
            try:
                binary.update(values[k], int(k == index), tickets[k])
            except UpdateNotFinite as error:
                failure = f'of class {k}: {error}'
        if failure:
            raise UpdateNotFinite(failure)
        self._updates += 1

    def reset(self) -> None:
        """Forget everything learned."""
        for binary in self._calibrators:
            binary.reset()
        self._updates = 0

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the first class."""
        return self._calibrators[0].parameters()

    def _configure(self, values: dict[str, Any]) -> None:
        now = self.parameters()
        changed = {name: value for name, value in values.items() if value != now[name]}
        calibrators = deepcopy(self._calibrators)
        for k, binary in enumerate(calibrators):
            binary.configure(**for_class(changed, k))
        self._calibrators = calibrators

    def _learned(self) -> dict[str, Any]:
        return {'calibrators': [binary.state() for binary in self._calibrators]}

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        states = state.get('calibrators')
        if not isinstance(states, list) or len(states) != self._classes:
            raise StateError(f'calibrators must be a list of {self._classes}, not {brief(states)}')
        calibrators = deepcopy(self._calibrators)
        for k, (binary, own) in enumerate(zip(calibrators, states)):
            if not isinstance(own, dict):
                raise StateError(f'the state of class {k} must be a table, not {brief(own)}')
            try:
                binary.restore(own)
            except StateError as error:
                raise StateError(f'in the state of class {k}, {error}') from None
        self._calibrators = calibrators


def for_class(parameters: dict[str, Any], index: int) -> dict[str, Any]:
    """Return the parameters of one class of many: a seed of its own, the rest shared."""
    if 'seed' in parameters:
        return {**parameters, 'seed': (parameters['seed'] + index) % 2**32}
    return parameters
