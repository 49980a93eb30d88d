# SPDX-License-Identifier: Apache-2.0
"""What flows through the pipeline: predictions, labels and matches.

None is changed once it is made. They are not frozen because a frozen dataclass takes three times
as long to make, and three are made a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from calib_node.core.refusal import Refused

NANOSECONDS = 1_000_000_000

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

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


Issued = tuple[Prediction[P], P, Any, int]
"""A prediction that waits for its label: as it came in, what was published for it, the ticket, and
how many matches there were by then.

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
    delay : int
        How many other matches there were between the prediction and this one.
    """

    stamp: int
    key: str
    context: tuple[Any, ...]
    raw: P
    published: P
    label: int
    delay: int = field(default=0, repr=False, compare=False)


@dataclass(slots=True)
class Frame:
    """What a classifier says of all objects of a message, in their order in it.

    Attributes
    ----------
    stamp : int
        Time of the observation in nanoseconds; 0 is "no stamp".
    values : ndarray of float of shape (n,) or (n, K)
        The probability of each object, or one per class; anything where there is none.
    absent : ndarray of bool of shape (n,) or None
        Of which objects the model has no opinion; None: of none.
    refused : dict of int to Refused
        By index, the objects that hold no probability at all.
    keys, names : sequence of str
        Id and class of each object; empty where they are not told.
    places : ndarray of float or None
        Boxes as x0, y0, x1, y1, shape (n, 4), or centres, shape (n, 2) or (n, 3).
    contexts : sequence of tuple
        Values of the context variables of each object; empty where there are none.
    """

    stamp: int
    values: Floats
    absent: Bools | None = None
    refused: dict[int, Refused] = field(default_factory=dict)
    keys: Sequence[str] = ()
    names: Sequence[str] = ()
    places: Floats | None = None
    contexts: Sequence[tuple[Any, ...]] = ()


@dataclass(slots=True)
class LabelFrame:
    """The ground truth of the objects of a message.

    Attributes
    ----------
    stamp : int
        Time of the observation in nanoseconds.
    values : list of float or None
        0 or 1, or the index of the class, of each; None where it says nothing.
    refused : dict of int to Refused
        By index, the labels that are none.
    keys, names, places
        As in `Frame`.
    by_name : bool
        The class is the label: of an object's predictions that of the same class gets 1, the
        others 0.
    """

    stamp: int
    values: list[float | None]
    refused: dict[int, Refused] = field(default_factory=dict)
    keys: Sequence[str] = ()
    names: Sequence[str] = ()
    places: Floats | None = None
    by_name: bool = False

    def __len__(self) -> int:
        return len(self.values)
