# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a recording, for the operator."""

from __future__ import annotations


class RecordingError(Exception):
    """Why a recording cannot be replayed: one sentence that names file, topic and remedy."""


def one_line(error: BaseException) -> str:
    """Return what an error says, its kind where it says nothing, on one line."""
    return ' '.join(str(error).split()) or type(error).__name__
