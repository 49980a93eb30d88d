# SPDX-License-Identifier: Apache-2.0
"""The node in a process of its own, fed over the middleware as fast as it answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dds import START, Client, node_command, processor_seconds, ros
from diagnostic_msgs.msg import DiagnosticArray
from soak_runs import BINS, INTERVAL, LABEL_DELAY, LOST, WINDOW, Run
from std_msgs.msg import Float64, Float64MultiArray

OUTSTANDING = 50
"""Predictions under way; fewer than those that a label is late."""
PARAMETERS = {
    'ece.bins': BINS,
    'ece.window': WINDOW,
    'ece.period': 0.25,
    'diagnostics.period': 0.25,
    'match.horizon': 60.0,
}


@contextmanager
def node_run(method: str) -> Iterator[NodeRun]:
    """Start the node, with a client at the other side of its topics."""
    with ros():
        run = NodeRun()
        command = node_command(**PARAMETERS, method=method)
        with run.client.under_test(command) as process:
            run.process = process.pid
            run.client.spin_until(lambda: run.matched == 0, 'the diagnostics')
            yield run


class NodeRun(Run):
    """The other side of the node's topics."""

    process: int

    def __init__(self) -> None:
        super().__init__()
        self.client = Client(self._on_answer)
        self.matched = -1
        self._sent: dict[int, float] = {}
        """Raw by stamp, of what is not answered."""
        self._answered: dict[int, tuple[float, float]] = {}
        """Raw and published by stamp, of what has no label."""
        self._labels = 0
        self._heard: dict[str, list[float]] = {}
        """The last figures that were published, by topic."""
        self.client.hear(DiagnosticArray, '/diagnostics', self._on_diagnostics)
        hear, heard = self.client.hear, self._heard
        hear(Float64, 'ece', lambda message: heard.update(ece=[message.data]))
        hear(Float64, 'raw_ece', lambda message: heard.update(raw_ece=[message.data]))
        hear(
            Float64MultiArray,
            'calib_node/reliability',
            lambda message: heard.update(diagrams=message.data.tolist()),
        )

    def _on_answer(self, stamp: int, published: float) -> None:
        self._answered[stamp] = self._sent.pop(stamp), published

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.matched = next(int(v.value) for v in status.values if v.key == 'matched')

    def processor_seconds(self) -> float:
        """As in `Run`."""
        return processor_seconds(self.process)

    def part(self, first: int, number: int) -> None:
        """As in `Run`."""
        spin_until = self.client.spin_until
        for i in range(first, first + number):
            p, stamp = self._chance(), START + i * INTERVAL
            self._sent[stamp] = p
            self.client.predict(stamp, p)
            if i > LABEL_DELAY:
                self._label(stamp - LABEL_DELAY * INTERVAL)
            if len(self._sent) >= OUTSTANDING:
                spin_until(lambda: len(self._sent) < OUTSTANDING, 'an answer')
        spin_until(lambda: not self._sent, 'every answer')
        spin_until(lambda: self.matched == self._labels, 'every match')

    def _label(self, stamp: int) -> None:
        raw, published = self._answered.pop(stamp)
        if self._chance() > LOST:
            y = int(self._chance() < 0.5)
            self.client.label(stamp, y)
            self._labels += 1
            self._window.append((raw, published, y))

    def figures(self) -> tuple[list[float], list[float]]:
        """As in `Run`: those that are published."""
        # Those of before may have been under way.
        for _ in range(2):
            self._heard.clear()
            self.client.spin_until(lambda: len(self._heard) == 3, 'the figures')
        diagrams = self._heard['diagrams']
        half = len(diagrams) // 2
        return (
            [*self._heard['raw_ece'], *diagrams[:half]],
            [*self._heard['ece'], *diagrams[half:]],
        )
