# SPDX-License-Identifier: Apache-2.0
"""The experts of the mixture."""

from __future__ import annotations

from math import hypot, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib_node.core.calibrators.base import Calibrator
from calib_node.core.calibrators.calibeating import (
    TrackingOnlineBetaScaling,
    TrackingOnlinePlattScaling,
)
from calib_node.core.calibrators.mixture.stacks import Stacks
from calib_node.core.calibrators.mixture.window_fits import WindowFits
from calib_node.core.calibrators.platt import OnlinePlattScaling
from calib_node.core.numerics.newton import Newton2, newton_step
from calib_node.core.numerics.sigmoid import residual, sigmoid
from calib_node.core.ranges import Interval
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

Floats = NDArray[np.float64]

NAMES = (
    'identity',
    'ops',
    'beta',
    'tops',
    'tobs',
    'ops, forgetting 0.999',
    'ops, forgetting 0.99',
    'isotonic steps',
    'isotonic lines',
    'windowed temperature',
    'base rate',
    'stack, gamma 1',
    'stack, gamma 0.25',
)
STACKED = slice(1, 10)
"""The experts that the stacks are made of: all that look at `p` and at labels."""

CLIP = 0.001
"""Forecasts of experts are clipped to ``[CLIP, 1 - CLIP]``: none loses more than ln 1000."""
HORIZONS = (2.0, 20.0, 200.0)
"""Samples over which the stacks are told the mean of what `p` missed, ``y - p``."""
SCALE = 4.0
"""Brings those means, in [-1, 1], to the size of a logit."""

FAST = {'gamma': 0.1, 'rho': 10.0, 'radius': 100.0}
"""Parameters of the Newton step that forgets fast."""
FORGOTTEN = 0.01
"""The share of its matrix that it forgets with a label that comes at once."""
LARGEST_GRADIENT = 5.0
"""Above the norm of ``(ln 99, 1)`` and of what beta scaling makes of a clipped `p`."""
WITHIN_ONE = Interval(-1.0, 1.0)


class Features(NamedTuple):
    """What the forecasts of one prediction were made of."""

    logit: float
    beta: tuple[float, float]
    stack: Floats


class Experts:
    """Thirteen experts, from the raw probability to stacks of the others.

    Their parameters are the defaults of the literature, or decades.
    """

    def __init__(self) -> None:
        self._tops = TrackingOnlinePlattScaling(pseudo_count=1.0)
        self._tobs = TrackingOnlineBetaScaling(pseudo_count=1.0)
        self._ops = self._tops.wrapped
        self._beta = self._tobs.wrapped
        self._drifting = OnlinePlattScaling(forgetting=0.999)
        self._window = WindowFits()
        stacked = STACKED.stop - STACKED.start
        start = [1.0 / stacked] * stacked + [0.0] * (1 + len(HORIZONS))
        self._stack = Stacks(start, (1.0, 0.25), rho=10.0)
        self._parts: dict[str, Calibrator | Stacks] = {
            'tops': self._tops,
            'tobs': self._tobs,
            'drifting': self._drifting,
            'window': self._window,
            'stack': self._stack,
        }
        self.reset()

    def reset(self) -> None:
        """Forget everything learned."""
        for part in self._parts.values():
            part.reset()
        rho = FAST['rho']
        self._fast: Newton2 = (1.0, 0.0, rho, 0.0, rho)
        self._residuals = [0.0] * len(HORIZONS)
        self._labels = self._positives = 0

    def forecast(self, p: float) -> tuple[Floats, Features]:
        """Return the clipped forecast of each expert and what it was made of."""
        q_ops, logit = self._ops.issue(p)
        q_beta, beta = self._beta.issue(p)
        forecasts = [
            p,
            q_ops,
            q_beta,
            self._tops.outcome_of(q_ops),
            self._tobs.outcome_of(q_beta),
            self._drifting.issue(p)[0],
            sigmoid(self._fast[0] * logit + self._fast[1]),
            *self._window.forecasts(p),
            (self._positives + 0.5) / (self._labels + 1.0),
        ]
        forecasts = clipped(forecasts)
        logits = [log(q / (1.0 - q)) for q in forecasts[STACKED]]
        stack = np.array([*logits, 1.0, *[SCALE * mean for mean in self._residuals]])
        forecasts += clipped(self._stack.forecast(stack))
        return np.array(forecasts), Features(logit, beta, stack)

    def learn(self, p: float, y: int, features: Features, delay: float) -> None:
        """Learn from the outcome `y` of a prediction, `delay` others after it was issued."""
        logit = features.logit
        self._stack.learn(features.stack, y)
        self._tops.update(p, y, logit)
        self._tobs.update(p, y, features.beta)
        self._drifting.update(p, y, logit)
        error = residual(self._fast[0] * logit + self._fast[1], y)
        # The later labels come, the more forecasts go by the step taken before they are here.
        kept = 1.0 - FORGOTTEN / (1.0 + FORGOTTEN * delay)
        self._fast = newton_step(self._fast, error * logit, error, forgetting=kept, **FAST)
        self._window.update(p, y)
        self._labels += 1
        self._positives += y
        self._residuals = [
            # A plain mean at first, with a 0 before the first sample.
            mean + (y - p - mean) / min(horizon, self._labels + 1.0)
            for mean, horizon in zip(self._residuals, HORIZONS)
        ]

    def state(self) -> dict[str, Any]:
        """Return all that was learned."""
        return {
            **{name: part.state() for name, part in self._parts.items()},
            'fast': list(self._fast),
            'residuals': list(self._residuals),
            'positives': self._positives,
        }

    def restore(self, state: dict[str, Any], labels: int) -> None:
        """Take over a state that `state` gave after so many labels."""
        fast = fields.numbers(state, 'fast', 5)
        t0, t1, a00, a01, a11 = fast
        radius = FAST['radius'] * (1.0 + 1e-9)
        if hypot(t0, t1) > radius:
            raise StateError(f'the parameters in fast must be within {radius:g}, not {brief(fast)}')
        check_matrix('fast', [[a00, a01], [a01, a11]], FAST['rho'], labels)
        residuals = fields.numbers(state, 'residuals', len(HORIZONS), WITHIN_ONE)
        positives = fields.whole(state, 'positives')
        if positives > labels:
            raise StateError(f'there are {positives} positives among {labels} labels')
        for name, part in self._parts.items():
            try:
                part.restore(fields.table(state, name))
            except StateError as error:
                raise StateError(f'in {name}, {error}') from None
            if isinstance(part, Calibrator) and part.updates != labels:
                raise StateError(f'in {name}, there are {part.updates} updates of {labels}')
        for name, step in {
            'tops': self._ops,
            'tobs': self._beta,
            'drifting': self._drifting,
        }.items():
            check_matrix(name, step.state()['A'], float(step.parameters()['rho']), labels)
        self._fast = (t0, t1, a00, a01, a11)
        self._residuals, self._positives, self._labels = residuals, positives, labels


def check_matrix(name: str, matrix: list[list[float]], rho: float, labels: int) -> None:
    """Raise a StateError unless so many labels can make of ``rho I`` the matrix of a Newton step.

    With any other a step may fail that comes after others of the same label.
    """
    eigenvalues = np.linalg.eigvalsh(matrix)
    # Rounding apart, they never fall below rho and rise by no more than a squared gradient.
    most = rho + LARGEST_GRADIENT**2 * labels
    if not (0.99 * rho <= eigenvalues[0] and eigenvalues[-1] <= 1.01 * most):
        raise StateError(f'the matrix of {name} cannot come of {labels} labels')


def clipped(forecasts: list[float]) -> list[float]:
    """Return forecasts clipped to ``[CLIP, 1 - CLIP]``."""
    low, high = CLIP, 1.0 - CLIP
    return [q if low <= q <= high else (low if q < low else high) for q in forecasts]
