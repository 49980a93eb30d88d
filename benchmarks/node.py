#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The node against a plain relay: processor time and latency, as ratios from one run.

Each round starts the node, the relay on message objects and the relay on bytes in turn, sends
each the same predictions and labels, and reads from the operating system how much processor time
it took. Medians over the rounds are reported.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from statistics import median

from dds import SECOND, START, Client, node_command, processor_seconds, ros

from calib_node.tools.progress import Progress

LABEL_DELAY = 100
RELAY = str(Path(__file__).with_name('relay.py'))
PEER = 'relay on objects'
Figures = dict[str, float]


class Load:
    """Publishes predictions with a label for each, and times the answers."""

    def __init__(self) -> None:
        self.client = Client(self._answered)
        self.sent: dict[int, float] = {}
        self.latencies: list[float] = []

    def _answered(self, stamp: int, _: float) -> None:
        sent = self.sent.pop(stamp, None)
        if sent is not None:
            self.latencies.append(time.perf_counter() - sent)

    def run(self, rate: float, seconds: float, first: int) -> None:
        """Send predictions at a rate, each with the label of an earlier one."""
        generator = random.Random(first)
        interval = int(SECOND / rate)
        start = time.perf_counter()
        for i in range(int(rate * seconds)):
            due = start + i / rate
            while (wait := due - time.perf_counter()) > 0.0:
                self.client.spin(wait)
            stamp = first + i * interval
            p, y = generator.random(), generator.randrange(2)
            self.sent[stamp] = time.perf_counter()
            self.client.predict(stamp, p)
            self.client.label(stamp - LABEL_DELAY * interval, y)
        deadline = time.perf_counter() + 1.0
        while self.sent and time.perf_counter() < deadline:
            self.client.spin(0.05)

    def measure(self, command: list[str], rate: float, seconds: float) -> Figures:
        """Start a process, load it, stop it; return its figures."""
        with self.client.under_test(command) as process:
            self.run(rate, 1.0, START)
            self.latencies.clear()
            self.sent.clear()
            before = processor_seconds(process.pid)
            self.run(rate, seconds, START + 2 * SECOND)
            used = processor_seconds(process.pid) - before
        latencies = sorted(self.latencies)
        return {
            'processor s': used,
            'p50 ms': 1e3 * latencies[len(latencies) // 2],
            'p99 ms': 1e3 * latencies[int(0.99 * len(latencies))],
            'exit s': self.client.exit_seconds,
            'lost': float(len(self.sent)),
        }


def report(results: dict[str, list[Figures]]) -> None:
    """Print medians, and ratios of the medians to the relay on message objects."""
    medians = {
        name: {key: median(run[key] for run in runs) for key in runs[0]}
        for name, runs in results.items()
    }
    print(' ' * 18 + ''.join(f'{key:>18}' for key in medians[PEER]))
    for name, figures in medians.items():
        lost = figures.pop('lost')
        cells = (f'{value:.3f} ({value / medians[PEER][k]:.2f})' for k, value in figures.items())
        print(f'{name:18}' + ''.join(f'{cell:>18}' for cell in cells) + f'{lost:18.0f}')


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rates', type=float, nargs='+', default=[1000.0, 3000.0])
    parser.add_argument('--seconds', type=float, default=8.0)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--executor', choices=('events', 'single'), default='events')
    arguments = parser.parse_args()
    relay = [sys.executable, RELAY, '--executor', arguments.executor]
    commands = {
        'node': node_command(executor=arguments.executor),
        PEER: [*relay, 'objects'],
        'relay on bytes': [*relay, 'bytes'],
    }
    with ros():
        load = Load()
        for rate in arguments.rates:
            results: dict[str, list[Figures]] = {name: [] for name in commands}
            with Progress(arguments.rounds * len(commands), 'runs') as progress:
                for _ in range(arguments.rounds):
                    for name, command in commands.items():
                        results[name].append(load.measure(command, rate, arguments.seconds))
                        progress.advance(name)
            print(
                f'\n{rate:g} predictions/s and {rate:g} labels/s for {arguments.seconds:g} s, '
                f'median of {arguments.rounds} rounds (ratio to the {PEER})'
            )
            report(results)


if __name__ == '__main__':
    main()
