# SPDX-License-Identifier: Apache-2.0
"""Predictions and labels as fast as a node may get them."""

from __future__ import annotations

import threading
from typing import Any

from .harness import SECOND

START = 1_700_000_000 * SECOND


class Load:
    """Publishes a prediction and its label again and again, in a thread.

    Parameters
    ----------
    client : Client
        Whose publishers are used.
    pause : float
        Seconds between two pairs; 0.001 makes about a thousand pairs a second, 0 more than a node
        can take.
    """

    def __init__(self, client: Any, pause: float = 0.001) -> None:
        self._client = client
        self._pause = pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.number = 0

    def _run(self) -> None:
        while not self._over.wait(self._pause):
            self.number += 1
            stamp = START + self.number * 1_000_000
            self._client.predict(stamp, 0.1 + 0.8 * (self.number % 7) / 7)
            self._client.label(stamp, self.number % 2)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
