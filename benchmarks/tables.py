# SPDX-License-Identifier: Apache-2.0
"""Tables of text, as aligned markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Table:
    """A table with a title, a line that says what it shows, rows of text, and notes below."""

    title: str
    about: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        lines.insert(1, ['-' * width for width in widths])
        body = ['| ' + ' | '.join(map(str.ljust, line, widths)) + ' |' for line in lines]
        notes = ['', *(f'- {note}' for note in self.notes)] if self.notes else []
        return '\n'.join([f'## {self.title}', '', self.about, '', *body, *notes])


def digits(value: float) -> str:
    """Return a number to four digits, without a leading zero."""
    return f'{value:.4f}'.removeprefix('0')


def marked(values: Mapping[str, float]) -> dict[str, str]:
    """Return the values to four digits, the smallest of them in bold."""
    least = min(round(value, 4) for value in values.values())
    return {
        name: f'**{digits(value)}**' if round(value, 4) == least else digits(value)
        for name, value in values.items()
    }
