# SPDX-License-Identifier: Apache-2.0
"""Logistic maps of three step sizes, with a spring that stretches the steps when p shifts."""

from __future__ import annotations

from collections import deque
from math import log
from typing import Any, ClassVar

from calib_node.core.calibrators.base import Calibrator, as_label, as_probability
from calib_node.core.calibrators.divergence import HALF, HalvesDivergence
from calib_node.core.calibrators.parameters import Parameter, check_parameters
from calib_node.core.calibrators.sgd import LogisticMap, logistic, sgd_step
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.numerics.sigmoid import LARGEST_EXPONENT
from calib_node.core.ranges import Interval
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

ETAS = (0.01, 0.1, 1.0)
ERRORS = 100
"""Squared errors that a map is judged by."""
SMALLEST_MSE = 1e-12
STRETCH = 3.0
"""The spring multiplies a step by up to 1 + this."""
BINS = 10
WORTHWHILE_ECE = 0.05

_UNIT = Interval(0.0, 1.0)
# Far beyond what steps of at most 83 lead to, and far from an overflow.
_MAP = Interval(-1e15, 1e15)

Ticket = tuple[float, float, float, float, float]
"""The clipped probability, its logit, and what the three maps forecast."""
WarmupBin = tuple[int, float, int]
"""Number of labels, sum of p, number of positives."""


class StepSizeEnsemble(Calibrator):
    """Averages three logistic maps on the logit, learned by gradient steps of 0.01, 0.1 and 1.

    A map weighs as much as the inverse of its mean squared error in the last 100 forecasts. For
    the first `warmup` labels the clipped probability goes out while the maps learn.

    Parameters
    ----------
    averaging : bool
        Average the maps; otherwise the one of step size 0.1 speaks alone.
    spring : bool
        Multiply the step sizes by ``1 + 3 JSD``, the Jensen-Shannon divergence between the older
        and the newer half of the last 60 clipped probabilities that had a label.
    auto : bool
        Look at the ECE of `p` once, in 10 bins, at the end of the warm-up: at 0.05 or below `p`
        is good enough, and the clipped probability goes out for ever.
    warmup : int
        Number of labels before the first calibrated forecast.
    clip : float
        `p` is clipped to ``[clip, 1 - clip]`` throughout.

    Notes
    -----
    With late labels the maps are judged by what they forecast when the prediction was issued, and
    the probabilities enter the window of the spring in the order of their labels.

    Examples
    --------
    >>> calibrator = StepSizeEnsemble(auto=False, warmup=1)
    >>> calibrator.predict(0.999)
    0.99
    >>> calibrator.update(0.999, 0)
    >>> round(calibrator.predict(0.999), 4)
    0.2404
    """

    name: ClassVar[str] = 'ensemble'
    fixed: ClassVar[frozenset[str]] = frozenset({'warmup'})

    def __init__(
        self,
        averaging: bool = True,
        spring: bool = True,
        auto: bool = True,
        warmup: int = 500,
        clip: float = 0.01,
    ) -> None:
        values = check_parameters(
            {
                'averaging': averaging,
                'spring': spring,
                'auto': auto,
                'warmup': warmup,
                'clip': clip,
            }
        )
        self._warmup: int = values['warmup']
        self._set(values)
        self.reset()

    def _set(self, values: dict[str, Any]) -> None:
        self._averaging, self._spring = values['averaging'], values['spring']
        self._auto = values['auto']
        self._low, self._high = values['clip'], 1.0 - values['clip']

    @property
    def maps(self) -> tuple[LogisticMap, ...]:
        """(a, b) of the maps, by step size."""
        return self._maps

    @property
    def weights(self) -> tuple[float, ...]:
        """Weights of the maps in the forecast, by step size."""
        return self._weights

    @property
    def calibrates(self) -> bool | None:
        """Whether `p` was found to need calibration; None before the end of the warm-up."""
        return self._calibrates

    def figures(self) -> dict[str, float]:
        """Return whether it calibrates, the weight of each step size, and the updates."""
        weights = {f'weight of step size {eta}': w for eta, w in zip(ETAS, self._weights)}
        return {'calibrates': not self._passes, **weights, **super().figures()}

    def reset(self) -> None:
        """Go back to maps that know nothing, and to the start of the warm-up."""
        self._maps: tuple[LogisticMap, ...] = ((0.0, 0.0),) * 3
        self._errors: list[deque[float]] = [deque(maxlen=ERRORS) for _ in ETAS]
        self._halves = HalvesDivergence()
        self._bins: list[WarmupBin] = [(0, 0.0, 0)] * BINS
        self._calibrates: bool | None = None
        self._updates = 0
        self._look()

    def _look(self) -> None:
        """Work out what the forecast depends on."""
        self._passes = self._updates < self._warmup or (self._auto and not self._calibrates)
        if self._averaging:
            pull = [
                1.0 / max(sum(errors) / len(errors), SMALLEST_MSE) if errors else 1.0
                for errors in self._errors
            ]
            total = sum(pull)
            self._weights = tuple(value / total for value in pull)
        else:
            self._weights = (0.0, 1.0, 0.0)

    def issue(self, p: float) -> tuple[float, Ticket]:
        """Return the calibrated probability of `p` and its ticket."""
        p = as_probability(p)
        if p < self._low:
            p = self._low
        elif p > self._high:
            p = self._high
        logit = log(p / (1.0 - p))
        slow, middle, fast = self._maps
        q1, q2, q3 = logistic(slow, logit), logistic(middle, logit), logistic(fast, logit)
        if self._passes:
            q = p
        else:
            w1, w2, w3 = self._weights
            # Rounding can take a mean of ones above 1.
            q = min(w1 * q1 + w2 * q2 + w3 * q3, 1.0)
        return q, (p, logit, q1, q2, q3)

    def update(self, p: float, y: int, ticket: Ticket | None = None) -> None:
        """Learn from the outcome `y` of the forecast made of `p`."""
        p, y = as_probability(p), as_label(y)
        if ticket is None:
            ticket = self.issue(p)[1]
        else:
            _check_ticket(ticket)
        clipped, logit, q1, q2, q3 = ticket
        divergence = self._halves.push(clipped)
        stretch = 1.0 + STRETCH * divergence if self._spring else 1.0
        self._maps = tuple(
            sgd_step(parameters, logit, y, eta * stretch)
            for parameters, eta in zip(self._maps, ETAS, strict=True)
        )
        for kept, q in zip(self._errors, (q1, q2, q3), strict=True):
            kept.append((q - y) ** 2)
        self._updates += 1
        if self._calibrates is None:
            number = min(int(p * BINS), BINS - 1)
            count, total, positives = self._bins[number]
            self._bins[number] = count + 1, total + p, positives + y
            self._decide()
        self._look()

    def _mark(self, ticket: Ticket | None) -> None:
        if ticket is not None:
            _check_ticket(ticket)

    def _decide(self) -> None:
        """Tell at the end of the warm-up, once, whether `p` needs calibration."""
        if self._updates >= self._warmup:
            gaps = sum(abs(total - positives) for _, total, positives in self._bins)
            self._calibrates = gaps > WORTHWHILE_ECE * self._updates

    def parameters(self) -> dict[str, Parameter]:
        """Return averaging, spring, auto, warmup and clip."""
        return {
            'averaging': self._averaging,
            'spring': self._spring,
            'auto': self._auto,
            'warmup': self._warmup,
            'clip': self._low,
        }

    def _configure(self, values: dict[str, Any]) -> None:
        self._set(values)
        self._look()

    def _learned(self) -> dict[str, Any]:
        return {
            'maps': [list(parameters) for parameters in self._maps],
            'squared_errors': [list(row) for row in zip(*self._errors, strict=True)],
            'recent': self._halves.values,
            'warmup_bins': [list(row) for row in self._bins],
            'calibrates': self._calibrates,
        }

    def _restore(self, state: dict[str, Any], parameters: dict[str, Any], updates: int) -> None:
        maps = fields.rows(state, 'maps', (len(ETAS), 2), _MAP)
        errors = fields.rows(state, 'squared_errors', (min(updates, ERRORS), len(ETAS)), _UNIT)
        recent = fields.numbers(state, 'recent', min(updates, 2 * HALF), _UNIT)
        calibrates = state.get('calibrates', 'missing')
        if calibrates is not None and not isinstance(calibrates, bool):
            raise StateError(f'calibrates must be true, false or null, not {brief(calibrates)}')
        bins = _warmup_bins(state, updates, complete=calibrates is None)
        self._maps = tuple((a, b) for a, b in maps)
        self._errors = [deque((row[k] for row in errors), maxlen=ERRORS) for k in range(len(ETAS))]
        self._halves = HalvesDivergence(recent)
        self._bins = bins
        self._calibrates = calibrates
        self._updates = updates
        if calibrates is None:
            self._decide()
        self._look()


def _check_ticket(ticket: Ticket) -> None:
    """Raise UpdateNotFinite if no forecast can have been made of a ticket.

    With what one was made of no update can fail.
    """
    clipped, logit, q1, q2, q3 = ticket
    if not (
        0.0 <= clipped <= 1.0
        and -LARGEST_EXPONENT < logit < LARGEST_EXPONENT
        and 0.0 <= q1 <= 1.0
        and 0.0 <= q2 <= 1.0
        and 0.0 <= q3 <= 1.0
    ):
        raise UpdateNotFinite('the ticket holds what no forecast was made of')


def _warmup_bins(state: dict[str, Any], updates: int, complete: bool) -> list[WarmupBin]:
    """Return the bins of the warm-up; if it goes on, they hold every label learned."""
    bins: list[WarmupBin] = []
    rows = fields.rows(state, 'warmup_bins', (BINS, 3), fields.NON_NEGATIVE)
    for count, total, positives in rows:
        if count != int(count) or positives != int(positives):
            raise StateError('warmup_bins must hold whole numbers of labels')
        if max(total, positives) > count * (1.0 + 1e-9):
            raise StateError('warmup_bins must not hold more positives than labels')
        bins.append((int(count), total, int(positives)))
    learned = sum(count for count, _, _ in bins)
    if learned > updates or (complete and learned != updates):
        raise StateError(f'warmup_bins hold {learned} labels of {updates} updates')
    return bins
