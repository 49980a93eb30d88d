# SPDX-License-Identifier: Apache-2.0
"""Looks at the calibration nodes of a ROS graph from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from calib_node.stream.status import Level

SUFFIX = ': calibration'
"""How the name of our status ends."""


@dataclass
class Seen:
    """The last status of a calibration node.

    Attributes
    ----------
    node : str
        Fully qualified name.
    level : Level
    message : str
    figures : dict of str to str
    heard : float
        When it came, on the monotonic clock.
    """

    node: str
    level: Level
    message: str
    figures: dict[str, str]
    heard: float


class Watcher:
    """Hears the diagnostics of all calibration nodes.

    Parameters
    ----------
    name : str
        Of its own node.

    Attributes
    ----------
    node : Node
        For further subscriptions and clients.
    seen : dict of str to Seen
        By the name of the node, in the order in which they were heard first.
    """

    def __init__(self, name: str) -> None:
        self.node = Node(name, enable_rosout=False, start_parameter_services=False)
        self.seen: dict[str, Seen] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, 100)

    def _hear(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith(SUFFIX) and status.hardware_id.startswith('/'):
                self.seen[status.hardware_id] = Seen(
                    status.hardware_id,
                    Level(status.level[0]),
                    status.message,
                    {pair.key: pair.value for pair in status.values},
                    time.monotonic(),
                )

    def spin(self, seconds: float) -> None:
        """Hear what comes for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def wait_for(self, condition: Callable[[], Any], seconds: float) -> bool:
        """Hear what comes until a condition holds; return whether it does by the end."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self._executor.spin_once(timeout_sec=0.05)
        return True

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()


@contextmanager
def watching(name: str) -> Iterator[Watcher]:
    """Give a watcher, and leave the graph at the end; signals are left to Python."""
    rclpy.init(
        args=['--ros-args', '--disable-external-lib-logs'],
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        watcher = Watcher(name)
        try:
            yield watcher
        finally:
            watcher.close()
    finally:
        rclpy.try_shutdown()
