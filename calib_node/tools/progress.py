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
    quiet : bool
        Whether it is not shown.
    """

    def __init__(self, total: int, what: str, quiet: bool = False) -> None:
        self._total = total
        self._what = what
        self._count = 0
        self._next_line = time.monotonic() + LINE_EVERY
        self._bar: Any = None
        self._quiet = quiet
        if not quiet and sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(
                total=total,
                ncols=80,
                unit='',
                bar_format='  {n_fmt}/{total_fmt} |{bar}| {rate_fmt} {elapsed}<{remaining}'
                '{postfix}',
            )

    def advance(self, note: str = '', count: int = 1) -> None:
        """Count on; `note` says how things stand."""
        self._count += count
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(count)
        elif not self._quiet and time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY
            note = f'; {note}' if note else ''
            print(f'  {self._count} of {self._total} {self._what}{note}', flush=True)

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
