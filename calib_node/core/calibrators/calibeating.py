# SPDX-License-Identifier: Apache-2.0
"""Calibeating by tracking: forecast what came of the like forecasts of another calibrator."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from calib_node.core.calibrators.base import Calibrator
from calib_node.core.calibrators.beta import OnlineBetaScaling
from calib_node.core.calibrators.parameters import Parameter, check_parameters
from calib_node.core.calibrators.platt import OnlinePlattScaling
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError


class Calibeating(Calibrator):
    """A calibrator wrapped in tallies of outcomes, kept by bins of its output.

    A subclass forecasts from the tallies. Its parameters are those of the wrapped calibrator and
    its own, among them `bins`.
    """

    fixed: ClassVar[frozenset[str]] = frozenset({'bins'})

    def __init__(self, wrapped: Calibrator, **own: Parameter) -> None:
        self._wrapped = wrapped
        self._set(check_parameters(own))
        self.reset()

    def _set(self, own: dict[str, Any]) -> None:
        self._own = own
        self._bins: int = own['bins']

    def figures(self) -> dict[str, float]:
        """Return the figures of the wrapped calibrator and the number of updates."""
        return {**self._wrapped.figures(), **super().figures()}

    def reset(self) -> None:
        """Forget all outcomes and everything that the wrapped calibrator has learned."""
        self._wrapped.reset()
        self._start_tallies()
        self._updates = 0

    @property
    def wrapped(self) -> Calibrator:
        """The calibrator whose output is binned; it learns with this one, not by itself."""
        return self._wrapped

    @abstractmethod
    def _start_tallies(self) -> None:
        """Begin with no outcome."""

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the wrapped calibrator, then its own."""
        return {**self._wrapped.parameters(), **self._own}

    def _configure(self, values: dict[str, Any]) -> None:
        self._wrapped.configure(**{name: values[name] for name in self._wrapped.parameters()})
        self._set({name: values[name] for name in self._own})

    def _learned(self) -> dict[str, Any]:
        learned = self._wrapped.state()
        # They are in this calibrator's own state.
        del learned['method'], learned['updates'], learned['parameters']
        return {'wrapped': learned, **self._tallies()}

    @abstractmethod
    def _tallies(self) -> dict[str, Any]:
        """Return the outcomes as a part of the state."""

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        tallies = self._checked_tallies(state, parameters['bins'], updates)
        wrapped = {
            **fields.table(state, 'wrapped'),
            'method': self._wrapped.name,
            'updates': updates,
            'parameters': {name: parameters[name] for name in self._wrapped.parameters()},
        }
        self._wrapped.restore(wrapped)
        self._start_tallies()
        if parameters['bins'] == self._bins:
            self._take_tallies(tallies)

    @abstractmethod
    def _checked_tallies(self, state: dict[str, Any], bins: int, updates: int) -> Any:
        """Return the outcomes of a state that was saved with `bins`, or raise a StateError."""

    @abstractmethod
    def _take_tallies(self, tallies: Any) -> None:
        """Go on from outcomes that were checked, of as many bins as there are now."""


def whole_numbers(state: dict[str, Any], key: str, length: int) -> list[int]:
    """Return a field that is a list of whole numbers from 0."""
    values = state.get(key)
    if not isinstance(values, list) or len(values) != length:
        raise StateError(f'{key} must be a list of {length} whole numbers, not {brief(values)}')
    return [fields.whole({key: value}, key) for value in values]


def check_total(counts: list[int], updates: int) -> None:
    """Raise a StateError if there are more outcomes than updates.

    There are fewer once the number of bins has changed.
    """
    if sum(counts) > updates:
        raise StateError(f'there are {sum(counts)} outcomes in bins, but {updates} updates')


class Tracking(Calibeating):
    """Forecasts the mean outcome of the bin that the wrapped calibrator's output falls into."""

    def _set(self, own: dict[str, Any]) -> None:
        super()._set(own)
        self._pseudo_count: float = own['pseudo_count']

    def _start_tallies(self) -> None:
        self._counts = [0] * self._bins
        self._positives = [0] * self._bins

    def issue(self, p: float) -> tuple[float, Any]:
        """Return the mean outcome of the bin of `p`, and the wrapped calibrator's ticket."""
        q, ticket = self._wrapped.issue(p)
        return self.outcome_of(q), ticket

    def outcome_of(self, q: float) -> float:
        """Return the mean outcome so far of the bin of a forecast of the wrapped calibrator.

        Returns
        -------
        float
            Within [0, 1].
        """
        bins = self._bins
        index = int(q * bins)
        if index == bins:
            index -= 1
        midpoint = (index + 0.5) / bins
        weight = self._counts[index] + self._pseudo_count
        if weight == 0.0:
            return midpoint
        return (self._positives[index] + self._pseudo_count * midpoint) / weight

    def update(self, p: float, y: int, ticket: Any = None) -> None:
        """Learn that the forecast made of `p` had outcome `y`.

        It counts in the bin that the map as it is now gives to `p`, and the map learns from the
        features that were issued.
        """
        q, issued_now = self._wrapped.issue(p)
        self._wrapped.update(p, y, issued_now if ticket is None else ticket)
        index = int(q * self._bins)
        if index == self._bins:
            index -= 1
        self._counts[index] += 1
        if y:
            self._positives[index] += 1
        self._updates += 1

    def _mark(self, ticket: Any) -> tuple[Any, list[int], list[int], int]:
        kept = self._counts.copy(), self._positives.copy()
        return self._wrapped._mark(ticket), *kept, self._updates

    def _go_back(self, mark: tuple[Any, list[int], list[int], int]) -> None:
        wrapped, self._counts, self._positives, self._updates = mark
        self._wrapped._go_back(wrapped)

    def _tallies(self) -> dict[str, Any]:
        return {'counts': list(self._counts), 'positives': list(self._positives)}

    def _checked_tallies(
        self, state: dict[str, Any], bins: int, updates: int
    ) -> tuple[list[int], list[int]]:
        counts = whole_numbers(state, 'counts', bins)
        positives = whole_numbers(state, 'positives', bins)
        for count, positive in zip(counts, positives):
            if positive > count:
                raise StateError(f'a bin has {positive} positives, but a count of {count}')
        check_total(counts, updates)
        return counts, positives

    def _take_tallies(self, tallies: tuple[list[int], list[int]]) -> None:
        self._counts, self._positives = tallies


class TrackingOnlinePlattScaling(Tracking):
    """Tracks the outcomes of Online Platt Scaling in bins of its output (TOPS).

    The forecast is the mean outcome so far of the bin that Online Platt Scaling's output falls
    into. It corrects what no Platt map can; it cannot forecast between two bins.

    Parameters
    ----------
    gamma, rho, radius, clip, forgetting : float
        Of the wrapped `OnlinePlattScaling`. The bins do not forget.
    bins : int
        Number of equal bins of [0, 1]. A state saved with another number gives its map alone,
        and the bins start anew.
    pseudo_count : float
        How many outcomes the mid-point of a bin counts for. At 0 a bin forecasts its mid-point
        while it is empty, and then 0 or 1 after one outcome.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070,
    Section 3. Foster and Hart, *"Calibeating": beating forecasters at their own game*,
    Theoretical Economics 18, 2023. The pseudo-count is in neither.

    Examples
    --------
    >>> calibrator = TrackingOnlinePlattScaling()
    >>> calibrator.predict(0.82)
    0.85
    >>> calibrator.update(0.82, 1)
    >>> calibrator.predict(0.82)
    1.0
    >>> calibrator.configure(pseudo_count=1.0)
    >>> calibrator.predict(0.82)
    0.925
    """

    name: ClassVar[str] = 'tops'

    def __init__(
        self,
        gamma: float = 0.1,
        rho: float = 100.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
        bins: int = 10,
        pseudo_count: float = 0.0,
    ) -> None:
        wrapped = OnlinePlattScaling(gamma, rho, radius, clip, forgetting)
        super().__init__(wrapped, bins=bins, pseudo_count=pseudo_count)


class TrackingOnlineBetaScaling(Tracking):
    """Tracks the outcomes of Online Beta Scaling in bins of its output (TOBS).

    Parameters
    ----------
    gamma, rho, radius, clip, forgetting : float
        Of the wrapped `OnlineBetaScaling`. The bins do not forget.
    bins, pseudo_count : int, float
        As in `TrackingOnlinePlattScaling`.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070,
    Section 4.

    Examples
    --------
    >>> calibrator = TrackingOnlineBetaScaling(bins=20)
    >>> calibrator.predict(0.82)
    0.825
    """

    name: ClassVar[str] = 'tobs'

    def __init__(
        self,
        gamma: float = 0.1,
        rho: float = 25.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
        bins: int = 10,
        pseudo_count: float = 0.0,
    ) -> None:
        wrapped = OnlineBetaScaling(gamma, rho, radius, clip, forgetting)
        super().__init__(wrapped, bins=bins, pseudo_count=pseudo_count)
