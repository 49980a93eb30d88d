# SPDX-License-Identifier: Apache-2.0
"""The node in a process of its own, fed over the middleware as fast as it answers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from node import DISCOVERY_DEADLINE, HEADER, SECOND, STAMPED, processor_seconds
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from soak import INTERVAL, LABEL_DELAY, LOST, WINDOW, diagram, farthest
from std_msgs.msg import Float64, Float64MultiArray

from calib_node.core.metrics import ece

BINS = 15
OUTSTANDING = 50
"""Predictions under way; fewer than those that a label is late."""
START = 1_000_000 * SECOND
DEADLINE = 30.0
PARAMETERS = {
    'ece.bins': BINS,
    'ece.window': WINDOW,
    'ece.period': 0.25,
    'diagnostics.period': 0.25,
    'match.horizon': 60.0,
}


class NodeRun:
    """The node and the other side of its topics.

    Parameters
    ----------
    method : str
        Of the calibration.
    """

    def __init__(self, method: str) -> None:
        self._parameters: dict[str, Any] = {**PARAMETERS, 'method': method}

    def __enter__(self) -> NodeRun:
        os.environ.setdefault('ROS_DOMAIN_ID', str(100 + os.getpid() % 100))
        os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        self._folder = tempfile.TemporaryDirectory()
        os.environ.update(ROS_HOME=self._folder.name, ROS_LOG_DIR=self._folder.name)
        rclpy.init()
        self._node = Node('soak')
        self._executor = EventsExecutor()
        self._executor.add_node(self._node)
        self._open_topics()
        command = [sys.executable, '-m', 'calib_node.ros.main', '--ros-args']
        for name, value in self._parameters.items():
            command += ['-p', f'{name}:={value}']
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._generator = random.Random(0)
        self._sent: dict[int, float] = {}
        """Raw by stamp, of what is not answered."""
        self._answered: dict[int, tuple[float, float]] = {}
        """Raw and published by stamp, of what has no label."""
        self._window: deque[tuple[float, float, int]] = deque(maxlen=WINDOW)
        self._labels = 0
        self._spin_until(self._is_connected, 'the node', DISCOVERY_DEADLINE)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(DEADLINE)
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown()
        self._folder.cleanup()

    def _open_topics(self) -> None:
        node = self._node
        qos = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
        self._predictions = node.create_publisher(Float64MultiArray, 'raw_probabilities', qos)
        self._labels_topic = node.create_publisher(Float64MultiArray, 'labels', qos)
        hear = node.create_subscription
        self._topics = [
            hear(Float64MultiArray, 'calibrated_probabilities', self._on_answer, qos, raw=True),
            hear(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos),
            hear(Float64, 'ece', self._on_ece, qos),
            hear(Float64, 'raw_ece', self._on_raw_ece, qos),
            hear(Float64MultiArray, 'calib_node/reliability', self._on_reliability, qos),
        ]
        self._matched = -1
        self._ece: float | None = None
        self._raw_ece: float | None = None
        self._reliability: list[float] | None = None

    def _is_connected(self) -> bool:
        return (
            self._predictions.get_subscription_count() > 0
            and self._labels_topic.get_subscription_count() > 0
            and all(self._node.count_publishers(t.topic_name) > 0 for t in self._topics)
            and self._matched >= 0
        )

    def _on_answer(self, data: bytes) -> None:
        _, _, seconds, nanoseconds, published = STAMPED.unpack(data)
        stamp = int(seconds) * SECOND + int(nanoseconds)
        self._answered[stamp] = self._sent.pop(stamp), published

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._matched = next(int(v.value) for v in status.values if v.key == 'matched')

    def _on_ece(self, message: Float64) -> None:
        self._ece = message.data

    def _on_raw_ece(self, message: Float64) -> None:
        self._raw_ece = message.data

    def _on_reliability(self, message: Float64MultiArray) -> None:
        self._reliability = message.data.tolist()

    def _spin_until(self, condition: Callable[[], bool], what: str, deadline: float) -> None:
        end = time.monotonic() + deadline
        while not condition():
            if self._process.poll() is not None:
                raise SystemExit(f'the node ended with exit code {self._process.returncode}')
            if time.monotonic() > end:
                raise SystemExit(f'{what} did not come within {deadline:g} s')
            self._executor.spin_once(timeout_sec=0.05)

    @property
    def process(self) -> int:
        """As in `Run`."""
        return self._process.pid

    def processor_seconds(self) -> float:
        """As in `Run`."""
        return processor_seconds(self._process)

    def part(self, first: int, number: int) -> None:
        """As in `Run`."""
        chance = self._generator.random
        for i in range(first, first + number):
            p, stamp = chance(), START + i * INTERVAL
            self._sent[stamp] = p
            self._predictions.publish(STAMPED.pack(HEADER, 3, *divmod(stamp, SECOND), p))
            if i > LABEL_DELAY:
                self._label(stamp - LABEL_DELAY * INTERVAL)
            if len(self._sent) >= OUTSTANDING:
                self._spin_until(lambda: len(self._sent) < OUTSTANDING, 'an answer', DEADLINE)
        self._spin_until(lambda: not self._sent, 'every answer', DEADLINE)
        self._spin_until(lambda: self._matched == self._labels, 'every match', DEADLINE)

    def _label(self, stamp: int) -> None:
        raw, published = self._answered.pop(stamp)
        if self._generator.random() < LOST:
            return
        y = int(self._generator.random() < 0.5)
        self._labels_topic.publish(STAMPED.pack(HEADER, 3, *divmod(stamp, SECOND), y))
        self._labels += 1
        self._window.append((raw, published, y))

    def error(self) -> float:
        """As in `Run`, of the figures that are published."""
        if not self._window:
            return 0.0
        # Those of before may have been under way.
        for _ in range(2):
            self._ece = self._raw_ece = self._reliability = None
            self._spin_until(
                lambda: None not in (self._ece, self._raw_ece, self._reliability),
                'the figures',
                DEADLINE,
            )
        raw, published, y = (list(column) for column in zip(*self._window))
        errors = farthest([self._raw_ece, self._ece], [ece(raw, y, BINS), ece(published, y, BINS)])
        table = diagram(raw, y, BINS) + diagram(published, y, BINS)
        return max(errors, farthest(self._reliability, table))
