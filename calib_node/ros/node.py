# SPDX-License-Identifier: Apache-2.0
"""The node: wiring only. Behaviour is in the pipeline, the state keeper and the tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.timer import Timer
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from calib_node.core.calibrators import StateError
from calib_node.core.refusal import Refused
from calib_node.core.samples import Label, Prediction
from calib_node.core.state.file import StateFile
from calib_node.core.state.keeper import StateKeeper
from calib_node.core.state.path import resolve_path
from calib_node.ros import configuration, declaration
from calib_node.ros.diagnostics import Diagnostics
from calib_node.ros.fields import make_codec
from calib_node.ros.messages import reliability_message
from calib_node.ros.parameter_files import not_for
from calib_node.ros.topics import Input, Topics

REPEAT_AFTER = 10.0
"""Seconds before a message refused for the same reason is logged again."""


class CalibrationNode(Node):
    """Calibrates the predictions of one classifier.

    Parameters
    ----------
    arguments : sequence of str
        The command line, to warn of parameter files in it that are for other nodes alone.

    Raises
    ------
    ValueError, StateFileInUse
        If a parameter, a topic name or the state file does not allow a start; the text is one
        sentence for the operator.
    """

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__('calib_node', automatically_declare_parameters_from_overrides=True)
        try:
            self.values, others = declaration.declare(self)
            self.pipeline = configuration.make_pipeline(self.values)
            self.keeper = self._make_keeper()
            self.topics = self._make_topics()
        except Exception:
            self.destroy_node()
            raise
        self._publish_calibrated = self.topics.calibrated.publish
        self._said: dict[str, float] = {}
        notes = declaration.without_effect(self, self.values, others)
        notes += self.keeper.notes if self.keeper else []
        self._diagnostics = Diagnostics(
            self, self.values, self.pipeline, self.keeper, self.topics, notes
        )
        for note in notes + not_for(self.get_fully_qualified_name(), arguments):
            self.get_logger().warning(note)
        for name in ('save_state', 'load_state', 'reset'):
            self.create_service(Trigger, f'~/{name}', self._answer(getattr(self, f'_{name}')))
        # Steady, so that they go on when system or simulated time steps back or stands still.
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timers_by_name: dict[str, Timer] = {}
        self._use(self.values)
        self._listen_to_parameters()
        effective = ', '.join(f'{name}={value!r}' for name, value in self.values.items())
        self.get_logger().info(f'ready: {self.topics.describe()}; {effective}')

    def _make_keeper(self) -> StateKeeper | None:
        if not self.values['state.enabled']:
            return None
        name = self.get_fully_qualified_name()
        path = resolve_path(self.values['state.file'], name, os.environ)
        keeper = StateKeeper(self.pipeline.calibrator, StateFile(path, name))
        found = keeper.start()
        if keeper.problem:
            self.get_logger().error(keeper.problem)
        self.get_logger().info(found)
        return keeper

    def _make_topics(self) -> Topics:
        values = self.values
        raw, label = make_codec(values, 'raw'), make_codec(values, 'label')
        self._decode_prediction, self._encode = raw.decode, raw.encode
        self._decode_label = label.decode
        return Topics(
            self,
            values,
            Input(raw, values['raw.stamping'], self._on_prediction),
            Input(label, values['label.stamping'], self._on_label),
        )

    @property
    def executor_name(self) -> str:
        """The executor to spin the node with."""
        if 'publication' in (self.values['raw.stamping'], self.values['label.stamping']):
            # The events executor cannot hand over the middleware's message info.
            return 'single'
        name: str = self.values['executor']
        return name

    def close(self) -> None:
        """Decide the labels that wait and save what was learned."""
        self.pipeline.flush()
        if self.keeper is None:
            return
        try:
            self.keeper.save()
            self.get_logger().info(f'saved to {self.keeper.file.path}')
        except OSError:
            self.get_logger().error(self.keeper.problem)
        self.keeper.close()

    # Messages

    def _on_prediction(self, message: Any, received: int | None = None) -> None:
        try:
            stamp, value, carrier = self._decode_prediction(message)
        except Refused as refusal:
            self.pipeline.refuse(refusal.reason)
            self._refused('prediction', refusal, message)
            return
        if received is not None:
            stamp = received
        try:
            probability = self.pipeline.predict(Prediction(stamp, value)).probability
        except Refused as refusal:
            self._refused('prediction', refusal, message)
            return
        if probability is not None:
            carrier = self._encode(carrier, probability)
        self._publish_calibrated(carrier)

    def _on_label(self, message: Any, received: int | None = None) -> None:
        try:
            stamp, value, _ = self._decode_label(message)
        except Refused as refusal:
            self.pipeline.refuse(refusal.reason)
            self._refused('label', refusal)
            return
        if received is not None:
            stamp = received
        try:
            self.pipeline.label(Label(stamp + self._label_offset if stamp else 0, value))
        except Refused as refusal:
            self._refused('label', refusal)

    def _refused(self, kind: str, refusal: Refused, message: Any = None) -> None:
        if message is not None and self._pass_invalid:
            self._publish_calibrated(message)
        now = time.monotonic()
        key = f'{kind}: {refusal.reason}'
        if now - self._said.get(key, -REPEAT_AFTER) >= REPEAT_AFTER:
            self._said[key] = now
            self.get_logger().warning(f'a {kind} is refused: {refusal}')

    # Timers

    def _set_timer(self, name: str, period: float, callback: Callable[[], None]) -> None:
        timer = self._timers_by_name.pop(name, None)
        if timer is not None:
            self.destroy_timer(timer)
        if period > 0.0:
            self._timers_by_name[name] = self.create_timer(period, callback, clock=self._steady)

    def _publish_figures(self) -> None:
        raw, calibrated = self.pipeline.raw, self.pipeline.calibrated
        if calibrated.count:
            self.topics.ece.publish(Float64(data=calibrated.ece()))
            self.topics.raw_ece.publish(Float64(data=raw.ece()))
            if self.topics.reliability.get_subscription_count():
                self.topics.reliability.publish(reliability_message(raw, calibrated))

    def _autosave(self) -> None:
        if self.keeper is not None:
            self.keeper.save_in_background()

    # Services

    def _answer(self, action: Callable[[], str]) -> Callable[[Any, Any], Any]:
        def callback(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                response.message = action()
                response.success = True
            except (OSError, StateError) as error:
                response.message = str(error)
                self.get_logger().error(response.message)
            return response

        return callback

    def _kept(self) -> StateKeeper:
        if self.keeper is None:
            raise StateError('state.enabled is false, so there is no state file')
        return self.keeper

    def _save_state(self) -> str:
        keeper = self._kept()
        written = keeper.save()
        return f'{"saved to" if written else "nothing has changed since it was saved to"} ' + str(
            keeper.file.path
        )

    def _load_state(self) -> str:
        return self._kept().load()

    def _reset(self) -> str:
        if self.keeper is not None:
            return self.keeper.reset(self.pipeline.reset)
        self.pipeline.reset()
        return 'learning starts anew'

    # Parameters

    def _listen_to_parameters(self) -> None:
        if hasattr(self, 'add_pre_set_parameters_callback'):
            self.add_pre_set_parameters_callback(declaration.as_declared)
            self.add_on_set_parameters_callback(self._check)
            self.add_post_set_parameters_callback(self._changed)
        else:
            # Humble has only the one callback; ours is asked last there.
            self.add_on_set_parameters_callback(self._check_and_change)

    def _check(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            changed = declaration.check(changes, self.values)
            configuration.check_change(self.pipeline.calibrator, self.values, changed)
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _changed(self, changes: list[Parameter]) -> None:
        self._use(declaration.check(changes, self.values))

    def _check_and_change(self, changes: list[Parameter]) -> SetParametersResult:
        result = self._check(changes)
        if result.successful:
            self._changed(changes)
        return result

    def _use(self, changed: dict[str, Any]) -> None:
        """Let checked values take effect."""
        values = self.values
        values.update(changed)
        configuration.change_pipeline(self.pipeline, values, changed)
        self._pass_invalid = values['on_invalid'] == 'pass'
        self._label_offset = configuration.nanoseconds(values['label.offset'])
        for name, callback in (
            ('ece.period', self._publish_figures),
            ('diagnostics.period', self._diagnostics.publish),
            ('state.autosave_period', self._autosave),
        ):
            if name in changed:
                self._set_timer(name, values[name], callback)
