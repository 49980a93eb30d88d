# SPDX-License-Identifier: Apache-2.0
"""What is refused, and the words to say so: one sentence that names the thing and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr

REASONS = {
    'undecodable': 'the bytes are not the message type they claim to be',
    'layout': 'the layout of the array is not trivial',
    'too_short': 'the array is too short for a stamp',
    'wrong_length': 'the number of values is wrong',
    'lengths_differ': 'arrays that belong together have different lengths',
    'bad_stamp': 'the stamp is not whole seconds and nanoseconds',
    'zero_stamp': 'the stamp is zero',
    'not_a_number': 'the field holds no number',
    'not_finite': 'the value is not finite',
    'out_of_range': 'the probability is outside [0, 1]',
    'bad_sum': 'the probabilities of the classes do not sum to 1',
    'bad_label': 'the label is neither 0 nor 1',
    'empty_name': 'the name of the class is empty',
    'unknown_class': 'the class is not known',
    'class_twice': 'a class has two probabilities for one object',
    'bad_place': 'the place of the object is not finite, or its box has no size',
    'empty_id': 'the id of the object is empty',
    'unreadable': 'the message could not be processed',
}


BAD_VALUES = frozenset(
    {'not_a_number', 'not_finite', 'out_of_range', 'bad_sum', 'bad_label', 'empty_name'}
)
"""Reasons that are about the value of a message, not about its shape or its stamp."""


class Refused(ValueError):
    """A message that must not touch what was learned.

    Parameters
    ----------
    reason : str
        A key of `REASONS`, by which refusals are counted.
    detail : object
        What was found instead.
    sentence : str
        What is wrong, where that of `REASONS` does not fit; empty: it does.
    stamp : int
        Stamp of the message in nanoseconds; 0 where it has none that is known.
    """

    def __init__(
        self, reason: str, detail: object = '', sentence: str = '', stamp: int = 0
    ) -> None:
        self.reason = reason
        self.stamp = stamp
        found = f' ({detail})' if detail != '' else ''
        super().__init__(f'{sentence or REASONS[reason]}{found}')


def bad_probability(p: float) -> ValueError:
    """Return the error for a probability outside [0, 1]."""
    return ValueError(f'a probability must be within [0, 1], not {p!r}')


def bad_label(y: object) -> ValueError:
    """Return the error for a label that is neither 0 nor 1."""
    return ValueError(f'a label must be 0 or 1, not {y!r}')


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return ``', did you mean …?'`` for a misspelt name, or an empty string."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f', did you mean {close[0]!r}?' if close else ''


_brief = Repr()
_brief.maxlevel = 2


def brief(value: object) -> str:
    """Return the repr of a value that may be anything, short enough for a sentence."""
    return _brief.repr(value)
