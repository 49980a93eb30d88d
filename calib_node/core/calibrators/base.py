# SPDX-License-Identifier: Apache-2.0
"""What every calibrator is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from calib_node.core.calibrators.parameters import Parameter, check_names, check_parameters
from calib_node.core.refusal import bad_label, bad_probability, brief
from calib_node.core.samples import Floats
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


def as_probability(p: float) -> float:
    """Return a probability as Python's own float, so that no other number gets into a state.

    Methods that are in a hurry ask first whether it is one already.

    Returns
    -------
    float
        Within [0, 1].

    Raises
    ------
    ValueError
        If it is no number within [0, 1].
    """
    if type(p) is not float:
        if not isinstance(p, Real):
            raise bad_probability(p)
        p = float(p)
    if not 0.0 <= p <= 1.0:
        raise bad_probability(p)
    return p


def as_probabilities(p: Floats) -> Floats:
    """Return probabilities that came together, or raise a ValueError if one is outside [0, 1].

    Returns
    -------
    ndarray of float of shape (n,)
        `p` itself.
    """
    within = (p >= 0.0) & (p <= 1.0)
    if not within.all():
        raise bad_probability(float(p[~within][0]))
    return p


def as_label(y: int) -> int:
    """Return a label as Python's own int, likewise.

    Returns
    -------
    int
        0 or 1.

    Raises
    ------
    ValueError
        If it is neither 0 nor 1.
    """
    if y not in (0, 1):
        raise bad_label(y)
    return int(y)


class Learner(ABC):
    """What is learned, with the parameters it is learned by: changed, saved and restored.

    A subclass names its parameters with their defaults in its ``__init__``, each of them a key of
    `CALIBRATOR_LIMITS`.
    """

    name: ClassVar[str]
    fixed: ClassVar[frozenset[str]] = frozenset()
    """Names of the parameters that cannot change once it has begun to learn."""

    contextual: ClassVar[bool] = False
    """Whether a forecast depends on the context too, which `issue` takes then."""

    _updates = 0

    @property
    def classes(self) -> int:
        """Number of probabilities in a forecast; 1: that of the positive class."""
        return 1

    @property
    def updates(self) -> int:
        """Number of labels learned."""
        return self._updates

    @abstractmethod
    def reset(self) -> None:
        """Forget everything learned."""

    @abstractmethod
    def parameters(self) -> dict[str, Parameter]:
        """Return the values of the method's parameters by name.

        Returns
        -------
        dict of str to float, int or bool
            In the order of the method's own signature.
        """

    def configure(self, **parameters: Parameter) -> None:
        """Change parameters of the running calibrator: all of them, or on an error none.

        Raises
        ------
        ValueError
            If there is no such parameter, it cannot change now, or it is outside its range.
        """
        now = self.parameters()
        check_names(self.name, parameters, now)
        values = check_parameters({**now, **parameters})
        for name in sorted(self.fixed & set(parameters)):
            if values[name] != now[name]:
                raise ValueError(f'{name} of {self.name} cannot change while it runs; restart it')
        try:
            self._configure(values)
        except ArithmeticError as error:
            raise StateError(f'what was learned cannot be taken along: {error}') from error

    @abstractmethod
    def _configure(self, values: dict[str, Any]) -> None:
        """Take over all parameters, checked; on an error change nothing."""

    def figures(self) -> dict[str, float]:
        """Return what is worth a look while it runs.

        Returns
        -------
        dict of str to float
            Plain numbers by what they are, in the words that an operator reads; of many classes
            no more than of ten. It costs next to nothing.
        """
        return {'updates': self._updates}

    def state(self) -> dict[str, Any]:
        """Return all that was learned.

        Returns
        -------
        dict
            Python's own numbers, strings, lists and dicts alone, ready for YAML.
        """
        return {
            'method': self.name,
            **self._learned(),
            'updates': self._updates,
            'parameters': self.parameters(),
        }

    @abstractmethod
    def _learned(self) -> dict[str, Any]:
        """Return the method's own part of the state."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a saved state; the calibrator's own parameters win over the saved ones.

        Raises
        ------
        StateError
            If it is not a sound state of this method; nothing has changed then.
        """
        if state.get('method') != self.name:
            raise StateError(
                f'it was saved by method {brief(state.get("method"))}, not by {self.name!r}'
            )
        classes = state.get('classes', 1)
        if type(classes) is not int or classes != self.classes:
            raise StateError(f'it was saved with classes {brief(classes)}, not with {self.classes}')
        updates = fields.whole(state, 'updates')
        given = fields.table(state, 'parameters')
        if set(given) != set(self.parameters()):
            names = ', '.join(self.parameters()) or 'none'
            raise StateError(
                f'parameters must be those of {self.name} ({names}), not {brief(given)}'
            )
        try:
            parameters = check_parameters(given)
        except ValueError as error:
            raise StateError(f'in parameters, {error}') from None
        try:
            self._restore(state, parameters, updates)
        except ArithmeticError as error:
            # Sound by every check, and yet so extreme that it does not survive the arithmetic.
            raise StateError(f'it cannot be taken over: {error}') from error
        self._updates = updates

    @abstractmethod
    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        """Take over the method's own part of a state saved with `parameters`; check it first."""


class Calibrator(Learner):
    """Maps a probability to a calibrated one, and learns from labels that may come late.

    `issue` makes a forecast and a ticket, which holds what the forecast was made of. The ticket
    comes back with the label, so that a method is judged on the forecast that went out and not
    on one it would make today.
    """

    def predict(self, p: float) -> float:
        """Return the calibrated probability of `p` and keep nothing.

        Returns
        -------
        float
            Within [0, 1].

        Raises
        ------
        ValueError
            If `p` is outside [0, 1].
        """
        calibrated: float = self.issue(p)[0]
        return calibrated

    @abstractmethod
    def issue(self, p: float) -> tuple[float, Any]:
        """Return the calibrated probability of `p` and the ticket for its label.

        Returns
        -------
        q : float
            Within [0, 1].
        ticket : object
            To be given to `update` with the label; of no other use.

        Raises
        ------
        ValueError
            If `p` is outside [0, 1].
        """

    def issue_many(self, p: Floats, contexts: Sequence[Any] = ()) -> tuple[Floats, Sequence[Any]]:
        """Return forecasts of the objects of a message, as `issue` makes one, and their tickets.

        Parameters
        ----------
        p : ndarray of float of shape (n,)
        contexts : sequence of tuple
            One for each, where the calibrator has contexts; else empty.

        Returns
        -------
        q : ndarray of float of shape (n,)
            Within [0, 1].
        tickets : sequence
            One for each.

        Raises
        ------
        ValueError
            If one is outside [0, 1].
        """
        issued = [self.issue(value) for value in p.tolist()]
        return np.array([q for q, _ in issued], np.float64), [ticket for _, ticket in issued]

    @abstractmethod
    def update(self, p: float, y: int, ticket: Any = None) -> None:
        """Learn that the forecast made of `p` had outcome `y`; no ticket means issued just now.

        Raises
        ------
        ValueError
            If `p` is outside [0, 1] or `y` is neither 0 nor 1.
        UpdateNotFinite
            If the update would not be finite; nothing has changed then.
        """

    def _mark(self, ticket: Any) -> Any:
        """Return what `_go_back` needs to take back the next update, which comes with `ticket`.

        That is for one class of many: where the update of another one fails, none may have
        learned. It costs little beside an update. A method whose update cannot fail has no need
        of it, since the other classes are of the same method.

        Raises
        ------
        UpdateNotFinite
            If the ticket already tells that the update would fail.
        """
        return None

    def _go_back(self, mark: Any) -> None:
        """Take back the update that came after `_mark`."""
