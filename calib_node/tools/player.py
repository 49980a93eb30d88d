# SPDX-License-Identifier: Apache-2.0
"""The classifier's side: publishes answers at a steady rate and their labels late."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray

from calib_node.core.samples import NANOSECONDS
from calib_node.ros.main import make_executor
from calib_node.ros.topics import CALIBRATED, LABELS, RAW
from calib_node.stream.codec import to_stamp
from calib_node.tools.recording import Answer

LONGEST_WAIT = 0.05
"""Seconds between two looks at whether to go on."""


@dataclass
class Heard:
    """What came from the node.

    Attributes
    ----------
    calibrated : dict of int to float
        Probability by stamp; the first, should one come twice.
    repeated : int
        How many came again.
    unknown : int
        How many came that were never published here.
    echoed : bool
        Whether a prediction of no opinion came back.
    last : float
        When the last prediction came, on the monotonic clock.
    figures : dict of str to str
        The node's diagnostics, as last published.
    """

    calibrated: dict[int, float] = field(default_factory=dict)
    repeated: int = 0
    unknown: int = 0
    echoed: bool = False
    last: float = 0.0
    figures: dict[str, str] = field(default_factory=dict)

    def figure(self, name: str) -> int:
        """Return a count of the diagnostics; 0 before the first have come."""
        return int(self.figures.get(name, '0'))


class Player:
    """Talks to the calibration node in a namespace as a classifier and a labeller would.

    Parameters
    ----------
    namespace : str
        Where the node is.
    check : callable
        Called at least every `LONGEST_WAIT` seconds of each wait; raises to end it.
    record : callable
        Called with the topic and the bytes of each answer and label that is published.
    """

    def __init__(
        self,
        namespace: str,
        check: Callable[[], None],
        record: Callable[[str, bytes], None],
    ) -> None:
        self.heard = Heard()
        self.published: dict[int, Answer] = {}
        self._check = check
        self._record = record
        self._last_stamp = 0
        self._node = Node('classifier', namespace=namespace)
        qos = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
        create = self._node.create_publisher
        self._predictions = create(Float64MultiArray, RAW, qos)
        self._labels = create(Float64MultiArray, LABELS, qos)
        listen = self._node.create_subscription
        self._calibrated = listen(Float64MultiArray, CALIBRATED, self._on_calibrated, qos)
        listen(DiagnosticArray, 'diagnostics', self._on_diagnostics, 10)
        self._executor: Executor = make_executor('events', self._node)

    def close(self) -> None:
        """Leave the network."""
        self._executor.shutdown()
        self._node.destroy_node()

    def _on_calibrated(self, message: Float64MultiArray) -> None:
        self.heard.last = time.monotonic()
        stamp = to_stamp(message.data[0], message.data[1])
        if len(message.data) == 2:
            self.heard.echoed = True
        elif stamp in self.heard.calibrated:
            self.heard.repeated += 1
        elif stamp in self.published:
            self.heard.calibrated[stamp] = message.data[2]
        else:
            self.heard.unknown += 1

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.heard.figures = {pair.key: pair.value for pair in status.values}

    def spin_until(self, due: float) -> None:
        """Hear what comes until `due` on the monotonic clock, and once even if that is past."""
        while True:
            self._check()
            left = due - time.monotonic()
            self._executor.spin_once(timeout_sec=min(max(left, 0.0), LONGEST_WAIT))
            if time.monotonic() >= due:
                return

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Hear what comes until the condition holds; return False if time is up before."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= deadline:
                return False
            self.spin_until(min(deadline, time.monotonic() + LONGEST_WAIT))
        return True

    def wait_until_alone(self, seconds: float) -> bool:
        """Wait until the network no longer knows of a node; return False if it still does."""
        self.heard.figures, self.heard.echoed = {}, False
        return self.wait_for(lambda: not any(self._links()), seconds)

    def greet(self, seconds: float) -> bool:
        """Make sure that each topic gets through; return False if one does not.

        A match that one side knows of may still be news to the other. So a prediction of no
        opinion and an empty label, which teach nothing, are sent until the one has come back and
        the other has been counted.
        """
        deadline = time.monotonic() + seconds
        while not (self.heard.echoed and self.heard.figure('empty labels')):
            if time.monotonic() >= deadline:
                return False
            stamp = self._now()
            self._predictions.publish(_stamped(stamp))
            self._labels.publish(_stamped(stamp))
            self.spin_until(time.monotonic() + 2 * LONGEST_WAIT)
        return True

    def _links(self) -> tuple[int, int, int]:
        count = self._node.count_publishers(self._calibrated.topic_name)
        publishers: tuple[Any, Any] = (self._predictions, self._labels)
        raw, labels = (publisher.get_subscription_count() for publisher in publishers)
        return raw, labels, count

    def _now(self) -> int:
        """Return a stamp that is later than all before."""
        self._last_stamp = max(self._last_stamp + 1, self._node.get_clock().now().nanoseconds)
        return self._last_stamp

    def play(
        self,
        answers: Sequence[Answer],
        delays: Sequence[float],
        rate: float,
        on_published: Callable[[], None],
    ) -> list[int]:
        """Publish each answer in its turn and each label `delay` seconds after its answer.

        Returns
        -------
        list of int
            The stamps given, in order.
        """
        start = time.monotonic()
        stamps: list[int] = []
        labels: list[tuple[float, int, int]] = []
        while len(stamps) < len(answers) or labels:
            index = len(stamps)
            next_answer = start + index / rate if index < len(answers) else math.inf
            next_label = labels[0][0] if labels else math.inf
            self.spin_until(min(next_answer, next_label))
            if next_answer <= next_label:
                stamp, answer = self._now(), answers[index]
                self.published[stamp] = answer
                self._publish(self._predictions, stamp, answer.probability)
                stamps.append(stamp)
                heappush(labels, (next_answer + delays[index], stamp, answer.label))
                on_published()
            else:
                _, stamp, label = heappop(labels)
                self._publish(self._labels, stamp, label)
        return stamps

    def _publish(self, publisher: Any, stamp: int, value: float) -> None:
        message = serialize_message(_stamped(stamp, value))
        self._record(publisher.topic_name, message)
        publisher.publish(message)


@contextmanager
def connected(
    namespace: str, check: Callable[[], None], record: Callable[[str, bytes], None]
) -> Iterator[Player]:
    """Give a player, and leave the network at the end."""
    rclpy.init(
        args=['--ros-args', '--disable-external-lib-logs'],
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        player = Player(namespace, check, record)
        try:
            yield player
        finally:
            player.close()
    finally:
        rclpy.try_shutdown()


def _stamped(stamp: int, *values: float) -> Float64MultiArray:
    """Return a stamped array: seconds, nanoseconds, values."""
    seconds, nanoseconds = divmod(stamp, NANOSECONDS)
    return Float64MultiArray(data=[float(number) for number in (seconds, nanoseconds, *values)])
