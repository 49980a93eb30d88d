# SPDX-License-Identifier: Apache-2.0
"""What a stream says of itself: how grave, in words, and every figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Level(IntEnum):
    """The levels of a diagnostic_msgs/msg/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


GRAVEST_FIRST = (Level.ERROR, Level.WARN, Level.STALE)


@dataclass
class Status:
    """A status as plain data.

    Attributes
    ----------
    summary : str
        What is said where nothing is wrong.
    findings : list of (Level, str)
        What is wrong, each in one sentence that names the remedy.
    notes : list of str
        What is worth a look and no fault; they do not raise the level.
    figures : dict of str to str
        Every figure by name.
    """

    summary: str
    findings: list[tuple[Level, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def level(self) -> Level:
        """The gravest level of the findings: ERROR over WARN over STALE over OK."""
        found = {level for level, _ in self.findings}
        return next((level for level in GRAVEST_FIRST if level in found), Level.OK)

    @property
    def message(self) -> str:
        """What is wrong, the gravest first, or else the summary; then the notes."""
        sentences = [
            sentence
            for wanted in GRAVEST_FIRST
            for level, sentence in self.findings
            if level == wanted
        ]
        notes = [f'note: {note}' for note in self.notes]
        return '; '.join((sentences or [self.summary]) + notes)
