# SPDX-License-Identifier: Apache-2.0
"""Tables as plain text and as markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

BEST = '*'
"""Marks the best of a column; bold in markdown."""


@dataclass
class Table:
    """A table with a title, a line that says what it shows, and rows of text."""

    title: str
    about: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the table with aligned columns."""
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = [
            '  '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return '\n'.join([self.title.upper(), self.about, *body, *self.notes])

    def markdown(self) -> str:
        """Return the table as markdown."""
        lines = [self.header, ['---'] * len(self.header), *self.rows]
        body = [f'| {" | ".join(map(bold, line))} |' for line in lines]
        notes = ['', *(f'- {note}' for note in self.notes)] if self.notes else []
        return '\n'.join([f'## {self.title}', '', self.about, '', *body, *notes])


def bold(cell: str) -> str:
    """Return a marked cell in bold."""
    return f'**{cell.removesuffix(BEST)}**' if cell.endswith(BEST) else cell


def best(values: Mapping[str, float]) -> set[str]:
    """Return the keys of the smallest value to four digits."""
    rounded = {name: round(value, 4) for name, value in values.items()}
    return {name for name, value in rounded.items() if value == min(rounded.values())}
