#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The node against a plain relay: processor time and latency, as ratios from one run.

Each round starts the node, the relay on message objects and the relay on bytes in turn, sends
each the same predictions and labels, and reads from the operating system how much processor time
it took. Medians over the rounds are reported.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rclpy
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray
from tqdm import tqdm

STAMPED = struct.Struct('<4s8xI4x3d')
HEADER = b'\x00\x01\x00\x00'
SECOND = 1_000_000_000
LABEL_DELAY = 100
TICKS = os.sysconf('SC_CLK_TCK')
RELAY = str(Path(__file__).with_name('relay.py'))
DISCOVERY_DEADLINE = 15.0


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """User and system time that a running process has used."""
    fields = Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Load(Node):
    """Publishes predictions with a label for each, and times the answers."""

    def __init__(self) -> None:
        super().__init__('load')
        sending = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
        self.predictions = self.create_publisher(Float64MultiArray, 'raw_probabilities', sending)
        self.labels = self.create_publisher(Float64MultiArray, 'labels', sending)
        self.answers = self.create_subscription(
            Float64MultiArray, 'calibrated_probabilities', self._answered, sending, raw=True
        )
        self.executor_ = EventsExecutor()
        self.executor_.add_node(self)
        self.sent: dict[int, float] = {}
        self.latencies: list[float] = []

    def _answered(self, data: bytes) -> None:
        _, _, seconds, nanoseconds, _ = STAMPED.unpack(data)
        stamp = int(seconds) * SECOND + int(nanoseconds)
        sent = self.sent.pop(stamp, None)
        if sent is not None:
            self.latencies.append(time.perf_counter() - sent)

    def wait_for_peer(self) -> None:
        """Wait until the three topics are connected."""
        deadline = time.monotonic() + DISCOVERY_DEADLINE
        while not (
            self.predictions.get_subscription_count()
            and self.labels.get_subscription_count()
            and self.count_publishers('calibrated_probabilities')
        ):
            if time.monotonic() > deadline:
                raise SystemExit('the process under test was not discovered')
            self.executor_.spin_once(timeout_sec=0.05)

    def run(self, rate: float, seconds: float, first: int) -> None:
        """Send predictions at a rate, each with the label of an earlier one."""
        generator = random.Random(first)
        interval = int(SECOND / rate)
        start = time.perf_counter()
        for i in range(int(rate * seconds)):
            due = start + i / rate
            while (wait := due - time.perf_counter()) > 0.0:
                self.executor_.spin_once(timeout_sec=wait)
            stamp = first + i * interval
            observed = stamp - LABEL_DELAY * interval
            message = STAMPED.pack(HEADER, 3, *divmod(stamp, SECOND), generator.random())
            label = STAMPED.pack(HEADER, 3, *divmod(observed, SECOND), generator.randrange(2))
            self.sent[stamp] = time.perf_counter()
            self.predictions.publish(message)
            self.labels.publish(label)
        deadline = time.perf_counter() + 1.0
        while self.sent and time.perf_counter() < deadline:
            self.executor_.spin_once(timeout_sec=0.05)


def measure(load: Load, command: list[str], rate: float, seconds: float) -> dict[str, float]:
    """Start a process, load it, stop it; return its figures."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        load.wait_for_peer()
        load.run(rate, 1.0, 1_000_000 * SECOND)
        load.latencies.clear()
        load.sent.clear()
        before = processor_seconds(process)
        load.run(rate, seconds, 1_000_002 * SECOND)
        used = processor_seconds(process) - before
        lost = len(load.sent)
    finally:
        process.terminate()
        process.wait(10.0)
    deadline = time.monotonic() + DISCOVERY_DEADLINE
    while load.count_publishers('calibrated_probabilities') and time.monotonic() < deadline:
        load.executor_.spin_once(timeout_sec=0.05)
    latencies = sorted(load.latencies)
    return {
        'processor': used,
        'p50': 1e3 * latencies[len(latencies) // 2],
        'p99': 1e3 * latencies[int(0.99 * len(latencies))],
        'lost': float(lost),
    }


def report(rate: float, seconds: float, results: dict[str, list[dict[str, float]]]) -> None:
    """Print medians, and ratios of the medians to the relay on message objects."""
    median = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for name, runs in results.items()
    }
    peer = median['relay on objects']
    print(
        f'\n{rate:g} predictions/s and {rate:g} labels/s for {seconds:g} s, median of '
        f'{len(results["node"])} rounds (ratio to the relay on objects)'
    )
    print(f'{"":18}{"processor s":>18}{"p50 ms":>18}{"p99 ms":>18}{"lost":>8}')
    for name, figures in median.items():
        cells = [
            f'{figures[k]:.3f} ({figures[k] / peer[k]:.2f})' for k in ('processor', 'p50', 'p99')
        ]
        print(f'{name:18}' + ''.join(f'{cell:>18}' for cell in cells) + f'{figures["lost"]:8.0f}')


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rates', type=float, nargs='+', default=[1000.0, 3000.0])
    parser.add_argument('--seconds', type=float, default=8.0)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--executor', choices=('events', 'single'), default='events')
    arguments = parser.parse_args()
    os.environ.setdefault('ROS_DOMAIN_ID', str(100 + os.getpid() % 100))
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(ROS_HOME=folder, ROS_LOG_DIR=folder)
        executor = arguments.executor
        commands = {
            'node': [
                sys.executable,
                '-m',
                'calib_node.ros.main',
                '--ros-args',
                '-p',
                f'executor:={executor}',
            ],
            'relay on objects': [sys.executable, RELAY, 'objects', '--executor', executor],
            'relay on bytes': [sys.executable, RELAY, 'bytes', '--executor', executor],
        }
        rclpy.init()
        load = Load()
        for rate in arguments.rates:
            results: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
            runs = [(name, c) for _ in range(arguments.rounds) for name, c in commands.items()]
            for name, command in tqdm(runs, desc=f'{rate:g}/s', leave=False):
                results[name].append(measure(load, command, rate, arguments.seconds))
            report(rate, arguments.seconds, results)
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
