# SPDX-License-Identifier: Apache-2.0
"""Publishes the status of the stream, and of what is around it, on /diagnostics."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from calib_node.ros.topics import DIAGNOSTICS, LABELS, RAW, Topics
from calib_node.stream.judgement import SAME_STAMP
from calib_node.stream.status import Level, Status
from calib_node.stream.stream import Stream

LOSS_SHOWN = 60.0
"""Seconds that a loss of messages is warned of."""


class Diagnostics:
    """Publishes the status of the node.

    Parameters
    ----------
    node : Node
        Owner of the topic; the status carries its name and its clock's time.
    stream : Stream
        Whose status it is.
    topics : Topics
        Who else is on them.

    Attributes
    ----------
    notes : list of str
        Warnings about the parameters.
    """

    def __init__(self, node: Node, stream: Stream, topics: Topics) -> None:
        self._node = node
        self._stream = stream
        self._topics = topics
        self.notes: list[str] = []
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        self._pairs: dict[str, KeyValue] = {}
        self._same_stamp_said = False
        self._losses: dict[str, tuple[int, float]] = {}
        self._predictions_seen = 0
        self._last_prediction = time.monotonic()

    def publish(self) -> None:
        """Look at everything and publish what there is to say."""
        silence = self._silence()
        around = self._topics.warnings()
        if self._stream.pipeline.matcher.counts.same_stamp and not self._same_stamp_said:
            self._same_stamp_said = True
            self._node.get_logger().warning(SAME_STAMP)
        if not self._publisher.get_subscription_count():
            # Predictions would wait for what nobody hears.
            return
        status = self._stream.status()
        status.findings += [(Level.WARN, note) for note in self.notes + around]
        self._judge_surroundings(status, silence)
        self._publisher.publish(self._message(status))

    def _message(self, status: Status) -> DiagnosticArray:
        name = self._node.get_fully_qualified_name()
        message = DiagnosticArray()
        message.status = [
            DiagnosticStatus(
                level=bytes([status.level]),
                name=f'{name[1:]}: calibration',
                message=status.message,
                hardware_id=name,
                values=[self._pair(key, value) for key, value in status.figures.items()],
            )
        ]
        message.header.stamp = self._node.get_clock().now().to_msg()
        return message

    def _pair(self, key: str, value: str) -> KeyValue:
        # Message objects are slow to make, and predictions wait meanwhile.
        pair = self._pairs.get(key)
        if pair is None:
            self._pairs[key] = pair = KeyValue(key=key)
        if pair.value != value:
            pair.value = value
        return pair

    def _silence(self) -> float:
        """Return how long no prediction has come, in seconds."""
        now = time.monotonic()
        predictions = self._stream.pipeline.counts.predictions
        if predictions != self._predictions_seen:
            self._predictions_seen = predictions
            self._last_prediction = now
        return now - self._last_prediction

    def _judge_surroundings(self, status: Status, silence: float) -> None:
        topics = self._topics
        if silence > self._stream.settings.diagnostics.stale_after:
            sentence = f'no prediction on {topics.resolved[RAW]} for {silence:.1f} s'
            status.findings.append((Level.STALE, sentence))
        if not self._node.get_clock().now().nanoseconds:
            # Simulated time is 0 until it comes.
            sentence = 'use_sim_time is true, but nothing has come on /clock'
            status.findings.append((Level.WARN, sentence))
        status.figures |= {f'topic {name}': resolved for name, resolved in topics.resolved.items()}
        for name in (RAW, LABELS):
            status.figures[f'publishers on {name}'] = str(topics.publishers(name))
            self._judge_losses(status, name)

    def _judge_losses(self, status: Status, name: str) -> None:
        now, lost = time.monotonic(), self._topics.lost(name)
        status.figures[f'lost on {name}'] = str(lost)
        before, since = self._losses.get(name, (0, -LOSS_SHOWN))
        if lost != before:
            since = now
            self._losses[name] = lost, now
        if now - since < LOSS_SHOWN:
            sentence = (
                f'the middleware lost {lost} messages on {self._topics.resolved[name]} so far: set '
                'qos.depth higher, or let the publisher offer reliable'
            )
            status.findings.append((Level.WARN, sentence))
