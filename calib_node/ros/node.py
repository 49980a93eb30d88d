# SPDX-License-Identifier: Apache-2.0
"""The node: wiring between ROS and the stream, which behaves."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.timer import Timer
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from calib_node.core.state.fields import StateError
from calib_node.ros.declaration import ParameterNode
from calib_node.ros.diagnostics import Diagnostics
from calib_node.ros.listener import Input
from calib_node.ros.messages import (
    InstalledMessages,
    alarm_message,
    find_type,
    reliability_message,
)
from calib_node.ros.topics import Topics
from calib_node.stream.codec import Codec
from calib_node.stream.settings import Settings
from calib_node.stream.status import Level
from calib_node.stream.stream import SAVE, Stream

NAME = 'calib_node'
"""Of the node, where nothing else is said."""


class CalibrationNode(ParameterNode):
    """Calibrates the predictions of one classifier.

    Parameters
    ----------
    name : str
        Of the node, unless a remap gives it another.
    announce : bool
        Whether it says that it is ready; else whoever makes it calls `announce`.

    Raises
    ------
    ValueError, StateFileInUse
        If a parameter, a topic name or the state file does not allow a start; the text is one
        sentence for the operator.
    """

    stream: Stream

    def __init__(self, name: str = NAME, announce: bool = True) -> None:
        super().__init__(name)
        name = self.get_fully_qualified_name()
        try:
            self.stream = stream = Stream(self.settings, InstalledMessages(), self._tell)
            self.get_logger().info(stream.keep(name, os.environ))
            self.topics = self._make_topics(stream)
        except Exception:
            self.destroy_node()
            raise
        self._publish_calibrated = self.topics.calibrated.publish
        self._diagnostics = Diagnostics(self, stream, self.topics)
        for service, action in (
            ('save_state', stream.save),
            ('load_state', stream.load),
            ('reset', stream.reset),
            ('acknowledge_alarm', stream.watch.acknowledge),
        ):
            self.create_service(Trigger, f'~/{service}', self._answer(action))
        # Steady, so that they go on when system or simulated time steps back or stands still.
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timers_by_name: dict[str, Timer] = {}
        self._notes: list[str] = []
        self._alarm_raised = False
        self._set_timers(set(self.settings.values))
        stream.watch.on_change = self._publish_alarm
        self._publish_alarm()
        if announce:
            self.announce()

    def announce(self, notes: Sequence[str] = ()) -> None:
        """Log that the node is ready, after the warnings of its start.

        Parameters
        ----------
        notes : sequence of str
            Others than its own.
        """
        for note in notes:
            self.get_logger().warning(note)
        self._tell_notes()
        effective = ', '.join(f'{key}={value!r}' for key, value in self.settings.values.items())
        self.get_logger().info(f'ready: {self.topics.describe()}; {effective}')

    def _make_topics(self, stream: Stream) -> Topics:
        def source(codec: Codec, stamping: str, callback: Callable[..., Any]) -> Input:
            return Input(find_type(codec.type_name), codec.serialized, stamping, callback)

        settings = self.settings
        return Topics(
            self,
            settings.qos,
            source(stream.prediction, settings.raw.stamping, self._on_prediction),
            source(stream.label, settings.label.stamping, stream.on_label),
        )

    @property
    def executor_name(self) -> str:
        """The executor to spin the node with."""
        return self.settings.executor_used

    def _on_prediction(self, message: Any, received: int | None = None) -> None:
        answer = self.stream.on_prediction(message, received)
        if answer is not None:
            self._publish_calibrated(answer)

    def _tell(self, level: Level, kind: str, sentence: str) -> None:
        """Log what just happened; the same trouble once in a while, but each failed save."""
        log = self.get_logger()
        if level == Level.OK:
            log.info(sentence)
            return
        due = self._throttle.due(sentence if level == Level.ERROR else kind)
        if level == Level.ERROR and (due or kind == SAVE):
            log.error(sentence)
        elif level == Level.WARN and due:
            log.warning(sentence)

    def close(self) -> None:
        """Decide the labels that wait and save what was learned; once."""
        # A start that failed has none.
        if hasattr(self, 'stream'):
            self.stream.close()

    def destroy_node(self) -> None:
        """As in rclpy; what was learned is saved first, whoever owns the executor."""
        self.close()
        super().destroy_node()

    # Timers

    def _set_timers(self, changed: set[str]) -> None:
        settings = self.settings
        for name, period, callback in (
            ('ece.period', settings.ece.period, self._publish_figures),
            ('diagnostics.period', settings.diagnostics.period, self._diagnostics.publish),
            ('state.autosave_period', settings.state.autosave_period, self.stream.autosave),
        ):
            if name not in changed:
                continue
            timer = self._timers_by_name.pop(name, None)
            if timer is not None:
                self.destroy_timer(timer)
            if period > 0.0:
                self._timers_by_name[name] = self.create_timer(period, callback, clock=self._steady)

    def _publish_figures(self) -> None:
        self.stream.watch.look()
        scores = self.stream.pipeline.scores
        if scores.calibrated.count:
            self.topics.ece.publish(Float64(data=scores.calibrated.ece()))
            self.topics.raw_ece.publish(Float64(data=scores.raw.ece()))
            if self.topics.reliability.get_subscription_count():
                self.topics.reliability.publish(reliability_message(scores))

    def _publish_alarm(self) -> None:
        """Publish whether the alarm is raised; whoever comes later hears the last of it."""
        message = alarm_message(self.get_fully_qualified_name(), self.stream.watch)
        self.topics.alarm.publish(message)
        if self.stream.watch.sentence:
            self.get_logger().warning(message.message)
        elif self._alarm_raised:
            self.get_logger().info(message.message)
        self._alarm_raised = bool(self.stream.watch.sentence)

    # Services

    def _answer(self, action: Callable[[], str]) -> Callable[[Any, Any], Any]:
        def callback(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                response.message = action()
                response.success = True
            except (OSError, StateError) as error:
                response.message = str(error)
                self._tell(Level.ERROR, 'service', response.message)
            return response

        return callback

    # Parameters

    def check_settings(self, settings: Settings) -> None:
        """Raise a ValueError if settings cannot take effect."""
        self.stream.check(settings)

    def use_settings(self, before: Settings) -> None:
        """Let checked settings take effect in place of those of before."""
        self.stream.configure(self.settings)
        self._set_timers(self.settings.differences(before))
        self._tell_notes()

    def _tell_notes(self) -> None:
        """Log the warnings about parameters that are new."""
        known, self._notes = self._notes, self.parameter_notes()
        # The stream tells its own.
        self._diagnostics.notes = [n for n in self._notes if n not in self.settings.notes]
        if self.stream.keeper is not None:
            self._notes = self._notes + self.stream.keeper.notes
        for note in self._notes:
            if note not in known:
                self.get_logger().warning(note)
