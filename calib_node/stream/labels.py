# SPDX-License-Identifier: Apache-2.0
"""What a label means: a number, a truth value or a name."""

from __future__ import annotations

from collections import deque
from typing import Any

from calib_node.core.refusal import Refused
from calib_node.stream.codec import read_number

TRUE = frozenset({'1', 'true', 'True'})
FALSE = frozenset({'0', 'false', 'False'})
NAMES_KEPT = 100


class LabelReader:
    """Reads the value of a label.

    Parameters
    ----------
    positive_class : str
        The name that counts as 1, every other one as 0; empty: labels are numbers, truth values
        or texts of those.

    Attributes
    ----------
    names : deque of str
        The last names.
    positive_seen : bool
        Whether the positive class was ever among them.

    Examples
    --------
    >>> LabelReader('car')('car'), LabelReader('')('False'), LabelReader('')(b'\\x01')
    (1.0, 0.0, 1.0)
    """

    def __init__(self, positive_class: str) -> None:
        self.positive_class = positive_class
        self.names: deque[str] = deque(maxlen=NAMES_KEPT)
        self.positive_seen = False

    def __call__(self, value: Any) -> float:
        """Return the number that a label stands for.

        Raises
        ------
        Refused
            If it stands for none.
        """
        if isinstance(value, str):
            return self._of_name(value)
        if isinstance(value, bytes) and len(value) == 1:
            # How rclpy holds a byte.
            return float(value[0])
        return read_number(value)

    def _of_name(self, name: str) -> float:
        if self.positive_class:
            if not name:
                raise Refused('empty_name')
            self.names.append(name)
            if name == self.positive_class:
                self.positive_seen = True
                return 1.0
            return 0.0
        if name in TRUE:
            return 1.0
        if name in FALSE:
            return 0.0
        return read_number(name)
