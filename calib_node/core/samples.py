# SPDX-License-Identifier: Apache-2.0
"""What flows through the pipeline: predictions, labels, matches and refusals.

None is changed once it is made. They are not frozen because a frozen dataclass takes three times
as long to make, and four are made a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

NANOSECONDS = 1_000_000_000

P = TypeVar('P')
"""What a classifier says: a float, or an array of a probability a class."""


@dataclass(slots=True)
class Prediction(Generic[P]):
    """What a classifier says of one observation.

    Attributes
    ----------
    stamp : int
        Time of the observation in nanoseconds; 0 is "no stamp".
    probability : float, ndarray of float of shape (K,), or None
        Probability of the positive class, or of each of K classes; None when the model has no
        opinion.
    """

    stamp: int
    probability: P | None


@dataclass(slots=True)
class Label:
    """The ground truth of one observation.

    Attributes
    ----------
    stamp : int
        Time of the observation (not of its labelling) in nanoseconds.
    value : float or None
        0 or 1, or the index of the class, as it came in the message; None when the label is empty.
    """

    stamp: int
    value: float | None


Issued = tuple[P | None, P, Any]
"""A prediction that waits for its label: raw, published, ticket.

The probability that came in (None when its label is to teach nothing), the calibrated one that
went out, which is what gets scored, and what the calibrator made it of.
"""

PLACEHOLDER: tuple[None, Any, None] = (None, None, None)
"""Keeps the place of a prediction that teaches nothing, so that its label finds it."""


@dataclass(slots=True)
class Match(Generic[P]):
    """A prediction and its label, as learned and scored.

    Attributes
    ----------
    raw, published : float or ndarray of float of shape (K,)
        The probability before and after calibration, as they were when it was published.
    label : int
        0 or 1, or the index of the class.
    """

    raw: P
    published: P
    label: int
