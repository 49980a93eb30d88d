# SPDX-License-Identifier: Apache-2.0
"""A context's own calibrator beside the shared one, and what the two have issued."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from calib_node.core.calibrators.base import Calibrator
from calib_node.core.calibrators.contexts.known import Context
from calib_node.core.calibrators.mixture.experts import CLIP
from calib_node.core.numerics.sigmoid import sigmoid

LARGEST_EVIDENCE = log((1.0 - CLIP) / CLIP) * (1.0 + 1e-9)
"""Of one label."""


class Own:
    """A context's own calibrator and its standing against the shared one.

    Attributes
    ----------
    calibrator : Calibrator
        Learns on the output of the shared one.
    evidence : float
        Log-odds that it, and not the shared one, forecasts the context.
    serial : int
        Tells it from one that had its place before; no part of a state.
    """

    __slots__ = ('calibrator', 'evidence', 'serial')

    def __init__(self, calibrator: Calibrator, serial: int) -> None:
        self.calibrator, self.serial, self.evidence = calibrator, serial, 0.0


class Ticket(NamedTuple):
    """What a forecast was made of."""

    context: Context
    place: int
    """How many forecasts were issued before it."""
    q: float
    shared_q: float
    shared: Any
    serial: int
    """Of the context's own calibrator; -1: it had none."""
    own_q: float
    own: Any


def mixed(shared: float, own: float, evidence: float) -> float:
    """Return the forecast of two that are weighed by log-odds."""
    q = shared + sigmoid(evidence) * (own - shared)
    return min(max(q, 0.0), 1.0)


def clipped(q: float) -> float:
    """Return a forecast clipped to ``[CLIP, 1 - CLIP]``."""
    return min(max(q, CLIP), 1.0 - CLIP)
