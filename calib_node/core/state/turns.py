# SPDX-License-Identifier: Apache-2.0
"""How long the threads of this process take turns while one of them saves."""

from __future__ import annotations

import sys
from threading import Lock

TURN = 0.001
"""Seconds that the interpreter's other threads may keep a save waiting at each step of it."""


class ShortTurns:
    """Let a thread that often waits for the disk take its turn beside one that never waits.

    It gives up the interpreter some twenty times a save, and to get it back takes 5 ms each by
    default: a save beside a busy thread would last longer than a short autosave period. The length
    of a turn is the process's, in which several may save at a time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._saving = 0
        self._before = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._saving:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, TURN))
            self._saving += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._saving -= 1
            if not self._saving:
                sys.setswitchinterval(self._before)


short_turns = ShortTurns()
"""Of this process."""
