# SPDX-License-Identifier: Apache-2.0
"""What came last on an input, to see whether it makes sense."""

from __future__ import annotations

from collections import Counter, deque
from itertools import islice
from typing import Any

from calib_node.core.refusal import Refused


class Recent:
    """The last messages of an input, refused ones among them.

    Parameters
    ----------
    size : int
        How many are kept.

    Attributes
    ----------
    items : deque
        The value of each, oldest first; None where it held no value, and the reason (a str) where
        it was refused.
    last_refusal : str
        The sentence of the last one refused.

    Examples
    --------
    >>> recent = Recent(3)
    >>> recent.items.extend([0.9, None])
    >>> recent.refuse(Refused('out_of_range', 1.5))
    >>> recent.items.append(0.8)
    >>> recent.refused(3), recent.values()
    (Counter({'out_of_range': 1}), [0.8])
    """

    def __init__(self, size: int) -> None:
        self.items: deque[Any] = deque(maxlen=size)
        self.last_refusal = ''

    def refuse(self, refused: Refused) -> None:
        """Take in a message that was refused."""
        self.items.append(refused.reason)
        self.last_refusal = str(refused)

    def spoil(self, refused: Refused) -> None:
        """Take the last message for one that was refused, as it turned out to be."""
        if self.items:
            self.items.pop()
        self.refuse(refused)

    def last(self, count: int) -> list[Any]:
        """Return the last `count` items or fewer, the newest first."""
        return list(islice(reversed(self.items), count))

    def refused(self, count: int) -> Counter[str]:
        """Return how many of the last `count` were refused, by reason."""
        return Counter(item for item in self.last(count) if isinstance(item, str))

    def values(self) -> list[Any]:
        """Return the values that were taken, oldest first."""
        return [item for item in self.items if item is not None and not isinstance(item, str)]
