# SPDX-License-Identifier: Apache-2.0
"""A status as an operator reads it."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus


def read(status: DiagnosticStatus, level: bytes, sentence: str) -> None:
    """Expect a level, and a sentence before all others."""
    assert (status.level, status.message[: len(sentence)]) == (level, sentence)


def refused(number: int, of: int, things: str, why: str) -> str:
    """Return the sentence that says how many were refused, and why."""
    count = 'all' if number == of else number
    verb = 'was' if count == 1 else 'were'
    return f'{count} of the last {of} {things} {verb} refused, the last one because {why}'
