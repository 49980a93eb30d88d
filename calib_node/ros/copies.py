# SPDX-License-Identifier: Apache-2.0
"""Messages that come over two subscriptions to one topic, each let through once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

RELIABLE, BEST_EFFORT = -1, 1


class Copies:
    """Tells a message that is heard for the first time from its copy.

    The publishers that offer reliable are heard twice where there are others too, and no message
    says who sent it. So of each content as many are let through as came over the one of the two
    subscriptions that has heard it more often.

    Parameters
    ----------
    remembered : int
        Contents whose copies are yet to come; the oldest is forgotten for a new one.
    """

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        # How many more of a content have come over best effort than over reliable.
        self._ahead: OrderedDict[Hashable, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ahead)

    def is_new(self, content: Hashable, side: int) -> bool:
        """Take a message into account; return whether it is no copy.

        Parameters
        ----------
        content : hashable
            What equal messages have in common.
        side : int
            The subscription, `RELIABLE` or `BEST_EFFORT`.
        """
        ahead = self._ahead.pop(content, 0)
        if ahead != -side:
            self._ahead[content] = ahead + side
            if len(self._ahead) > self._remembered:
                self._ahead.popitem(last=False)
        return ahead * side >= 0


def content_of(message: Any) -> int:
    """Return what equal messages have in common; of objects it is their text, which shows all."""
    return hash(message if isinstance(message, bytes) else repr(message))
