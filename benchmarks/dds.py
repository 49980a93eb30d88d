# SPDX-License-Identifier: Apache-2.0
"""The other side of the node's topics: a process under test, and a client that feeds it."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray

SECOND = 1_000_000_000
START = 1_000_000 * SECOND
"""Stamp of the first prediction."""
DEADLINE = 30.0
TICKS = os.sysconf('SC_CLK_TCK')
RELIABLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
STAMPED = struct.Struct('<4s8xI4x3d')
HEADER = b'\x00\x01\x00\x00'


def stamped(stamp: int, value: float) -> bytes:
    """Return a stamped array as its serialized bytes."""
    return STAMPED.pack(HEADER, 3, *divmod(stamp, SECOND), value)


def unstamped(data: bytes) -> tuple[int, float]:
    """Return stamp and value of a serialized stamped array."""
    _, _, seconds, nanoseconds, value = STAMPED.unpack(data)
    return int(seconds) * SECOND + int(nanoseconds), value


def node_command(**parameters: Any) -> list[str]:
    """Return the command that starts the node."""
    given = (f"{name}:={value}" for name, value in parameters.items())
    options = [word for pair in given for word in ('-p', pair)]
    return [sys.executable, '-m', 'calib_node.ros.main', '--ros-args', *options]


@contextmanager
def ros() -> Iterator[None]:
    """Begin and end ROS in a domain and with a ROS home of its own."""
    os.environ.setdefault('ROS_DOMAIN_ID', str(100 + os.getpid() % 100))
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(ROS_HOME=folder, ROS_LOG_DIR=folder)
        rclpy.init()
        yield
        rclpy.try_shutdown()


class Peer:
    """Publishes serialized predictions and labels of a type, and hears the answers.

    Parameters
    ----------
    kind : type
        Of the messages.
    on_answer : callable
        Called with the bytes of a calibrated prediction.

    Attributes
    ----------
    exit_seconds : float
        From the signal to the end of the last process under test.
    """

    def __init__(self, kind: Any, on_answer: Callable[[bytes], None]) -> None:
        self.node = Node('client')
        self._executor = EventsExecutor()
        self._executor.add_node(self.node)
        self._predictions = self.node.create_publisher(kind, 'raw_probabilities', RELIABLE)
        self._labels = self.node.create_publisher(kind, 'labels', RELIABLE)
        self.send_prediction = self._predictions.publish
        self.send_label = self._labels.publish
        self._topics: list[Any] = []
        self.exit_seconds = 0.0
        self.hear(kind, 'calibrated_probabilities', on_answer, raw=True)

    def hear(self, kind: Any, topic: str, callback: Callable[[Any], None], **options: Any) -> None:
        """Subscribe to a topic of the process under test."""
        self._topics.append(
            self.node.create_subscription(kind, topic, callback, RELIABLE, **options)
        )

    def spin(self, seconds: float) -> None:
        """Handle what comes within some seconds, at most one message."""
        self._executor.spin_once(timeout_sec=seconds)

    def spin_until(self, condition: Callable[[], bool], what: str) -> None:
        """Handle what comes until a condition holds; end the program if it does not."""
        end = time.monotonic() + DEADLINE
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f'{what} did not come within {DEADLINE:g} s')
            self.spin(0.05)

    @contextmanager
    def under_test(self, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process that answers on the topics, and stop it."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.spin_until(lambda: self._is_connected(process), 'the process under test')
            yield process
        finally:
            signalled = time.perf_counter()
            process.terminate()
            process.wait(DEADLINE)
            self.exit_seconds = time.perf_counter() - signalled
        self.spin_until(
            lambda: not self.node.count_publishers(self._topics[0].topic_name), 'its end'
        )

    def _is_connected(self, process: subprocess.Popen[bytes]) -> bool:
        if process.poll() is not None:
            raise SystemExit(f'the process under test ended with {process.returncode}')
        return (
            self._predictions.get_subscription_count() > 0
            and self._labels.get_subscription_count() > 0
            and all(self.node.count_publishers(topic.topic_name) > 0 for topic in self._topics)
        )


class Client(Peer):
    """Publishes stamped arrays of one number.

    Parameters
    ----------
    on_answer : callable
        Called with stamp and calibrated probability.
    """

    def __init__(self, on_answer: Callable[[int, float], None]) -> None:
        super().__init__(Float64MultiArray, lambda data: on_answer(*unstamped(data)))

    def predict(self, stamp: int, p: float) -> None:
        """Publish a prediction."""
        self.send_prediction(stamped(stamp, p))

    def label(self, stamp: int, y: int) -> None:
        """Publish a label."""
        self.send_label(stamped(stamp, y))


def processor_seconds(process: int) -> float:
    """Return the user and system time that a running process has used."""
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
