# SPDX-License-Identifier: Apache-2.0
"""What a label means: a number, a truth value or a name."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from typing import Any

from calib_node.core.refusal import Refused, brief
from calib_node.stream.codec import read_number

TRUE = frozenset({'true', 'True'})
FALSE = frozenset({'false', 'False'})
POSITIVE = ('1', 'true', 'True')
NEGATIVE = ('0', 'false', 'False')
NAMES_KEPT = 100
# How Python writes a byte.
BYTE = re.compile(r"b'\\x([0-9a-fA-F]{2})'")


class LabelReader:
    """Reads the value of a label.

    Parameters
    ----------
    positive_class : str
        The name that counts as 1, every other one as 0; empty: the lists count.
    positive, negative : sequence of str
        What counts as 1 and as 0; a number is compared by its value.
    ignore : sequence of str
        What is neither learned nor refused.
    class_names : sequence of str
        The names of the classes in their order; where there are some, the label is a class.

    Attributes
    ----------
    names : deque of str
        The last names.
    positive_seen : bool
        Whether the positive class was ever among them.
    ignored : int
        Labels that were ignored.

    Raises
    ------
    ValueError
        If an entry is in two lists.

    Examples
    --------
    >>> LabelReader('car')('car'), LabelReader('')('False'), LabelReader('')(b'\\x01')
    (1.0, 0.0, 1.0)
    >>> grasp = LabelReader(positive=['SUCCESS', '4'], negative=['-1'], ignore=['255'])
    >>> grasp('SUCCESS'), grasp(4), grasp(-1), grasp(255)
    (1.0, 1.0, 0.0, None)
    >>> LabelReader(class_names=['car', 'bus'])('bus')
    1.0
    """

    def __init__(
        self,
        positive_class: str = '',
        positive: Sequence[str] = POSITIVE,
        negative: Sequence[str] = NEGATIVE,
        ignore: Sequence[str] = (),
        class_names: Sequence[str] = (),
    ) -> None:
        self.positive_class = positive_class
        self.names: deque[str] = deque(maxlen=NAMES_KEPT)
        self.positive_seen = False
        self.ignored = 0
        self.class_names = tuple(class_names)
        self._lists: dict[str, tuple[str, ...]] = {
            'label.positive': tuple(positive),
            'label.negative': tuple(negative),
            'label.ignore': tuple(ignore),
        }
        # Without lists of its own any number is for the pipeline to judge.
        self._listed = (tuple(positive), tuple(negative)) != (POSITIVE, NEGATIVE)
        self._numbered = bool(class_names) and all(len(_keys(name)) > 1 for name in class_names)
        self._meanings: dict[str | float, float | None] = {}
        self._enter()

    @property
    def plain(self) -> bool:
        """Whether a number stands for itself."""
        return not (self._listed or self._lists['label.ignore'] or self._numbered)

    def __call__(self, value: Any) -> float | None:
        """Return the number that a label stands for, None where it is to be ignored.

        Raises
        ------
        Refused
            If it stands for none.
        """
        if isinstance(value, str) and self.positive_class:
            return self._of_name(value)
        for key in _keys(value):
            if key in self._meanings:
                return self._meaning(key)
        return self._unlisted(value)

    def _of_name(self, name: str) -> float | None:
        if not name:
            raise Refused('empty_name')
        if name in self._meanings:
            meaning = self._meaning(name)
            if meaning is None:
                return None
            self.positive_seen = True
        else:
            meaning = 0.0
        self.names.append(name)
        return meaning

    def _meaning(self, key: str | float) -> float | None:
        meaning = self._meanings[key]
        self.ignored += meaning is None
        return meaning

    def ignores(self, name: str) -> bool:
        """Return whether the name of an object is to be ignored, and count it if so."""
        return name in self._meanings and self._meaning(name) is None

    def _unlisted(self, value: Any) -> float:
        if self.class_names and (isinstance(value, str) or self._numbered):
            raise Refused(
                'bad_label',
                brief(value),
                f'the label is none of class_names {list(self.class_names)}',
            )
        if not self._listed:
            return read_number(value[0] if isinstance(value, bytes) and len(value) == 1 else value)
        shown = ', '.join(f'{name} {list(lists)}' for name, lists in self._lists.items() if lists)
        raise Refused('bad_label', brief(value), f'the label is in no list: {shown}')

    def _enter(self) -> None:
        """Put each meaning under the texts and numbers that stand for it."""
        if self.class_names:
            meanings = [('class_names', name, float(k)) for k, name in enumerate(self.class_names)]
        elif self.positive_class:
            meanings = [('positive_class', self.positive_class, 1.0)]
        else:
            meanings = [('label.positive', entry, 1.0) for entry in self._lists['label.positive']]
            meanings += [('label.negative', entry, 0.0) for entry in self._lists['label.negative']]
        ignored = [('label.ignore', entry, None) for entry in self._lists['label.ignore']]
        entered: dict[str | float, str] = {}
        for name, entry, meaning in [*meanings, *ignored]:
            by_text = name == 'positive_class' or (name == 'class_names' and not self._numbered)
            for key in [entry] if by_text else _keys(entry):
                if key in entered and self._meanings[key] != meaning:
                    raise ValueError(
                        f'{entry!r} of {name} is in {entered[key]} too, and can mean one thing only'
                    )
                entered[key] = name
                self._meanings[key] = meaning


def _keys(value: Any) -> list[str | float]:
    """Return what a label or an entry of a list is found under: its text, its number, or both."""
    if not isinstance(value, str):
        if isinstance(value, bytes) and len(value) == 1:
            # How rclpy holds a byte.
            return [float(value[0])]
        return [read_number(value)]
    if value in TRUE or value in FALSE:
        return [value, float(value in TRUE)]
    if byte := BYTE.fullmatch(value):
        return [value, float(int(byte[1], 16))]
    try:
        number = float(value)
    except ValueError:
        return [value]
    return [value, number] if math.isfinite(number) else [value]
