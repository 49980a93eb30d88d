# SPDX-License-Identifier: Apache-2.0
"""What flows through the pipeline: predictions, labels and matches.

None is changed once it is made. They are not frozen because a frozen dataclass takes three times
as long to make, and three are made a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

NANOSECONDS = 1_000_000_000

P = TypeVar('P')
"""What a classifier says: a float, or an array of one probability per class."""


@dataclass(slots=True)
class Prediction(Generic[P]):
    """What a classifier says of one object.

    Attributes
    ----------
    stamp : int
        Time of the observation in nanoseconds; 0 is "no stamp".
    probability : float, ndarray of float of shape (K,), or None
        Probability of the positive class, or of each of K classes; None when the model has no
        opinion.
    key : str
        Which of the objects of that stamp; empty for the only one.
    context : tuple
        Values of the context variables, such as the class or the distance.
    """

    stamp: int
    probability: P | None
    key: str = ''
    context: tuple[Any, ...] = ()


@dataclass(slots=True)
class Label:
    """The ground truth of one object.

    Attributes
    ----------
    stamp : int
        Time of the observation (not of its labelling) in nanoseconds.
    value : float or None
        0 or 1, or the index of the class, as it came in the message; None when the label is empty.
    """

    stamp: int
    value: float | None


Issued = tuple[Prediction[P], P, Any]
"""A prediction that waits for its label: as it came in, what was published for it, the ticket.

Where the label is to teach nothing the probability of the prediction is None; the ticket is then
why it was refused, or empty where it held no opinion.
"""


@dataclass(slots=True)
class Match(Generic[P]):
    """A prediction and its label, as learned and scored.

    Attributes
    ----------
    stamp, key, context
        Those of the prediction.
    raw, published : float or ndarray of float of shape (K,)
        The probability before and after calibration, as they were when it was published.
    label : int
        0 or 1, or the index of the class.
    """

    stamp: int
    key: str
    context: tuple[Any, ...]
    raw: P
    published: P
    label: int
