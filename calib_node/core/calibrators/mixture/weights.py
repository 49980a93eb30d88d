# SPDX-License-Identifier: Apache-2.0
"""Weights of experts, in several mixtures that are mixed in their turn."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.core.ranges import POSITIVE
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

Floats = NDArray[np.float64]

SHARES = 3
RATE_PRIOR = (4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0)
"""Prior of the rates 1, 1/sqrt(1 + D) and 1/(1 + D)."""
FIXED_SHARE = 0.01
NO_SHARE = 1e-300
"""Only keeps a weight from underflow, so that it can come back."""


class Weights:
    """Nine mixtures of the same experts, three shares by three rates, mixed by Bayes.

    A member forecasts ``sum w_k q_k``. With the label each weight is multiplied by the likelihood
    of the expert's issued forecast to the power of the member's rate, and then the member's share
    of all weight is spread evenly: none, 1/(t + 1) at label t, or 0.01, to follow the best expert
    as it changes. The members are mixed by the likelihoods of *their* issued forecasts, to the
    power 1/(1 + D), without a share. With no delay all rates are 1: that is Bayes throughout.

    Parameters
    ----------
    experts : int
        Number of experts, K.

    Notes
    -----
    Proved where D = 0, against each expert as clipped: the log-loss of the mixture without a share
    is at most the expert's + ln K (Vovk, *Aggregating strategies*, COLT 1990), and with a fixed
    share it follows the best expert through switches (Herbster and Warmuth, *Tracking the best
    expert*, Machine Learning 32, 1998); mixing the members adds ln 3, as the rates coincide. The
    rates for late labels are a heuristic without a useful bound.
    """

    def __init__(self, experts: int) -> None:
        self._count = experts
        # Of the members in their order, with room for the share that changes.
        shares = np.repeat((NO_SHARE, 0.0, FIXED_SHARE), len(RATE_PRIOR))
        self._kept: Floats = 1.0 - shares
        self._spread: Floats = shares.reshape(-1, 1) / experts
        self._ones: Floats = np.ones(experts)
        self.reset()

    def reset(self) -> None:
        """Go back to the prior."""
        self._members: Floats = np.tile(RATE_PRIOR, SHARES) / SHARES
        self._weights: Floats = np.full((len(self._members), self._count), 1.0 / self._count)

    @property
    def experts(self) -> Floats:
        """Weight of each expert in the forecast, shape (K,)."""
        result: Floats = self._members.dot(self._weights)
        return result

    def mix(self, forecasts: Floats) -> tuple[float, Floats]:
        """Return the forecast made of those of the experts, shape (K,), and the members' own."""
        members = self._weights.dot(forecasts)
        return float(self._members.dot(members)), members

    def learn(self, forecasts: Floats, members: Floats, y: int, delay: float, t: int) -> None:
        """Weigh experts and members by what they had forecast.

        Parameters
        ----------
        forecasts, members : ndarray of float, shapes (K,) and (9,)
            As issued.
        y : int
            The label.
        delay : float
            D, the number of predictions between a prediction and its label.
        t : int
            Number of this label, from 1.
        """
        if not y:
            forecasts, members = 1.0 - forecasts, 1.0 - members
        if delay:
            slow = 1.0 / (1.0 + delay)
            rates = np.array([[1.0], [sqrt(slow)], [slow]] * SHARES)
            forecasts, members = np.exp(rates * np.log(forecasts)), members**slow
        weights = self._weights * forecasts
        share = 1.0 / (t + 1.0)
        self._kept[3:6], self._spread[3:6] = 1.0 - share, share / self._count
        weights *= (self._kept / weights.dot(self._ones)).reshape(-1, 1)
        weights += self._spread
        mixed = self._members * members
        mixed *= 1.0 / sum(mixed.tolist())
        mixed += NO_SHARE
        self._weights, self._members = weights, mixed

    def state(self) -> dict[str, Any]:
        """Return the weights of the experts in each member, and those of the members."""
        return {'experts': self._weights.tolist(), 'members': self._members.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        rows = fields.rows(state, 'experts', (len(self._members), self._count), POSITIVE)
        members = fields.numbers(state, 'members', len(self._members), POSITIVE)
        for row in (*rows, members):
            if abs(sum(row) - 1.0) > 1e-9:
                raise StateError('weights must sum to 1')
        self._weights, self._members = np.array(rows), np.array(members)
