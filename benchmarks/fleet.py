#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many nodes in one process against a process each: processor time, lost messages, memory.

Each node gets predictions at a rate, with a label for each. All nodes share one core, which the
client leaves to them. Memory is what is resident (RSS), and what is left of it when that which
processes share is split among them (PSS).
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dds import RELIABLE, SECOND, START, processor_seconds, ros, stamped, unstamped
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

LABEL_DELAY = 10
DEADLINE = 120.0
EXECUTABLE = [sys.executable, '-m', 'calib_node.ros.main']


class Side:
    """The other side of one node's topics."""

    def __init__(self, client: Node, name: str) -> None:
        self.answers: set[int] = set()
        topics = {topic: f'{name}/{topic}' for topic in ('raw_probabilities', 'labels')}
        self._predictions, self._labels = (
            client.create_publisher(Float64MultiArray, topic, RELIABLE) for topic in topics.values()
        )
        client.create_subscription(
            Float64MultiArray, f'{name}/calibrated_probabilities', self._hear, RELIABLE, raw=True
        )

    def _hear(self, data: bytes) -> None:
        self.answers.add(unstamped(data)[0])

    def send(self, number: int, interval: int, generator: random.Random) -> None:
        """Publish a prediction, and the label of an earlier one."""
        stamp = START + number * interval
        self._predictions.publish(stamped(stamp, generator.random()))
        self._labels.publish(stamped(stamp - LABEL_DELAY * interval, generator.randrange(2)))


class Fleet:
    """The other side of all the nodes."""

    def __init__(self, names: list[str]) -> None:
        node = Node('client')
        self.executor = EventsExecutor()
        self.executor.add_node(node)
        self.sides = [Side(node, name) for name in names]
        self._generator = random.Random(0)
        self._number = 0

    def run(self, rate: float, seconds: float) -> int:
        """Send to all nodes in turn at a rate each; return how many answers did not come."""
        interval = int(SECOND / rate)
        rounds = range(self._number, self._number + int(rate * seconds))
        start = time.perf_counter()
        for i, number in enumerate(rounds):
            for j, side in enumerate(self.sides):
                due = start + (i + j / len(self.sides)) / rate
                while (wait := due - time.perf_counter()) > 0.0:
                    self.executor.spin_once(timeout_sec=wait)
                side.send(number, interval, self._generator)
        self._number = rounds.stop
        stamps = [START + number * interval for number in rounds]
        deadline = time.perf_counter() + 5.0
        while (lost := self._missing(stamps)) and time.perf_counter() < deadline:
            self.executor.spin_once(timeout_sec=0.05)
        return lost

    def _missing(self, stamps: list[int]) -> int:
        return sum(stamp not in side.answers for side in self.sides for stamp in stamps)

    def connect(self) -> None:
        """Send until every node has answered; end the program if one does not."""
        deadline = time.monotonic() + DEADLINE
        while not all(side.answers for side in self.sides):
            if time.monotonic() > deadline:
                raise SystemExit(f'not every node answered within {DEADLINE:g} s')
            self.run(1.0, 1.0)
        self.run(10.0, 1.0)


@contextmanager
def running(names: list[str], together: bool) -> Iterator[list[int]]:
    """Start the nodes, in one process or a process each, on the last core; yield process ids."""
    core = {max(os.sched_getaffinity(0))}
    commands = [['--nodes', *names]] if together else [['--nodes', name] for name in names]
    remaps = [
        f'{name}:{topic}:={name}/{topic}'
        for name in names
        for topic in ('raw_probabilities', 'labels', 'calibrated_probabilities', 'ece', 'raw_ece')
    ]
    options = ['--ros-args', *(word for remap in remaps for word in ('-r', remap))]
    processes = [
        subprocess.Popen(
            [*EXECUTABLE, *command, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, core),
        )
        for command in commands
    ]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                # Fast DDS may wait for its own callbacks for ever where many end at a time.
                process.kill()
                process.wait()


def megabytes(process: int, key: str) -> float:
    """Return a figure of the memory of a process, ``Rss`` or ``Pss``."""
    lines = Path(f'/proc/{process}/smaps_rollup').read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f'{key}:')).split()[1]) / 1024


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--nodes', type=int, default=20)
    parser.add_argument('--rate', type=float, default=50.0, help='predictions a second and node')
    parser.add_argument('--seconds', type=float, default=10.0)
    arguments = parser.parse_args()
    names = [f'node_{number}' for number in range(arguments.nodes)]
    sent = int(arguments.rate * arguments.seconds) * len(names)
    own = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, own[:-1] or own)
    print(
        f'{len(names)} nodes at {arguments.rate:g} predictions/s and labels/s each, on one core, '
        f'for {arguments.seconds:g} s'
    )
    print(f'{"":12}{"core":>8}{"lost":>8}{"of":>8}{"RSS MB":>10}{"PSS MB":>10}')
    for title, together in (('one process', True), ('one each', False)):
        os.sched_setaffinity(0, own)
        with ros(), running(names, together) as processes:
            os.sched_setaffinity(0, own[:-1] or own)
            fleet = Fleet(names)
            fleet.connect()
            before = sum(map(processor_seconds, processes))
            began = time.perf_counter()
            lost = fleet.run(arguments.rate, arguments.seconds)
            share = (sum(map(processor_seconds, processes)) - before) / (
                time.perf_counter() - began
            )
            rss, pss = (
                sum(megabytes(process, key) for process in processes) for key in ('Rss', 'Pss')
            )
        print(f'{title:12}{share:8.2f}{lost:8d}{sent:8d}{rss:10.0f}{pss:10.0f}', flush=True)


if __name__ == '__main__':
    main()
