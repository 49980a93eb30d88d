# SPDX-License-Identifier: Apache-2.0
"""What flows through the pipeline: predictions, labels, matches and refusals.

None is changed once it is made. They are not frozen because a frozen dataclass takes three times
as long to make, and four are made a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NANOSECONDS = 1_000_000_000


@dataclass(slots=True)
class Prediction:
    """A classifier's probability of the positive class.

    Attributes
    ----------
    stamp : int
        Time of the observation in nanoseconds; 0 is "no stamp".
    probability : float or None
        Probability of the positive class; None when the model has no opinion.
    """

    stamp: int
    probability: float | None


@dataclass(slots=True)
class Label:
    """The ground truth of one observation.

    Attributes
    ----------
    stamp : int
        Time of the observation (not of its labelling) in nanoseconds.
    value : float or None
        0 or 1 as it came in the message; None when the label is empty.
    """

    stamp: int
    value: float | None


Issued = tuple[float | None, float, Any]
"""A prediction that waits for its label: raw, published, ticket.

The probability that came in (None when its label is to teach nothing), the calibrated one that
went out, which is what gets scored, and what the calibrator made it of.
"""

PLACEHOLDER: Issued = (None, 0.5, None)
"""Keeps the place of a prediction that teaches nothing, so that its label finds it."""


@dataclass(slots=True)
class Match:
    """A prediction and its label, as learned and scored.

    Attributes
    ----------
    raw, published : float
        The probability before and after calibration, as they were when it was published.
    label : int
        0 or 1.
    """

    raw: float
    published: float
    label: int


REASONS = {
    'undecodable': 'the bytes are not the message type they claim to be',
    'layout': 'the layout of the array is not trivial',
    'too_short': 'the array is too short for a stamp',
    'wrong_length': 'the array does not hold one value after its stamp',
    'bad_stamp': 'the stamp is not whole seconds and nanoseconds',
    'zero_stamp': 'the stamp is zero',
    'not_a_number': 'the field holds no number',
    'not_finite': 'the value is not finite',
    'out_of_range': 'the probability is outside [0, 1]',
    'bad_label': 'the label is neither 0 nor 1',
}


class Refused(ValueError):
    """A message that must not touch what was learned.

    Parameters
    ----------
    reason : str
        A key of `REASONS`, by which refusals are counted.
    detail : object
        What was found instead.
    """

    def __init__(self, reason: str, detail: object = '') -> None:
        self.reason = reason
        found = f' ({detail})' if detail != '' else ''
        super().__init__(f'{REASONS[reason]}{found}')
