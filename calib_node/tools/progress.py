# SPDX-License-Identifier: Apache-2.0
"""Progress of a long run: a tqdm bar in a terminal, else plain lines."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

LINE_EVERY = 2.0
"""Seconds between plain lines."""


class Progress:
    """Counts up to a total; a context manager.

    Parameters
    ----------
    total : int
        What it counts to.
    what : str
        What is counted.
    """

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._what = what
        self._count = 0
        self._next_line = time.monotonic() + LINE_EVERY
        self._bar: Any = None
        if sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(
                total=total,
                ncols=80,
                bar_format='  {n_fmt}/{total_fmt} |{bar}| {elapsed}<{remaining}{postfix}',
            )

    def advance(self, note: str) -> None:
        """Count one more; `note` says how things stand."""
        self._count += 1
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update()
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY
            note = f'; {note}' if note else ''
            print(f'  {self._count} of {self._total} {self._what}{note}')

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
