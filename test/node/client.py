# SPDX-License-Identifier: Apache-2.0
"""The other side of a node: it publishes, hears, calls and sets, every wait with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64, Float64MultiArray
from std_srvs.srv import Trigger

from .messages import array, parameter_messages
from .process import DEADLINE

SECOND = 1_000_000_000
PROBE_EVERY = 0.05


class Client:
    """The other side of the node's topics, parameters and services.

    `topics` is where those of the node's topics are that are remapped.
    """

    def __init__(
        self,
        domain: int,
        namespace: str = '',
        name: str = 'calib_node',
        topics: dict[str, str] | None = None,
        reliable: bool = True,
    ) -> None:
        self.context = Context()
        self.context.init(args=[], domain_id=domain)
        self.node = Node(
            'client', context=self.context, namespace=namespace, use_global_arguments=False
        )
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self.reliable = reliable
        self.full_name = f'{self.node.get_namespace().rstrip("/")}/{name}'
        self.calibrated: list[Float64MultiArray] = []
        self.ece: list[float] = []
        self.raw_ece: list[float] = []
        self.reliability: list[Float64MultiArray] = []
        self.statuses: list[tuple[DiagnosticArray, DiagnosticStatus]] = []
        self.published: list[int] = []
        self.probes = self._probes_back = 0
        self._last_back = ''
        own = {'~/reliability': f'{self.full_name}/reliability', **(topics or {})}

        def topic(name: str) -> str:
            return own.get(name, name)

        deep = QoSProfile(depth=10_000)
        offered = QoSProfile(
            depth=10_000,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        )
        self.raw_publisher = self.node.create_publisher(
            Float64MultiArray, topic('raw_probabilities'), offered
        )
        self.label_publisher = self.node.create_publisher(
            Float64MultiArray, topic('labels'), offered
        )
        hear = self.node.create_subscription
        hear(Float64MultiArray, topic('calibrated_probabilities'), self._hear, deep)
        hear(Float64, topic('ece'), lambda m: self.ece.append(m.data), deep)
        hear(Float64, topic('raw_ece'), lambda m: self.raw_ece.append(m.data), deep)
        hear(Float64MultiArray, topic('~/reliability'), self.reliability.append, deep)
        hear(DiagnosticArray, topic('/diagnostics'), self._diagnose, deep)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def _hear(self, message: Float64MultiArray) -> None:
        if list(message.data) == [0.0, 0.0]:
            self._probes_back += 1
            self._last_back = message.layout.dim[0].label if message.layout.dim else ''
        else:
            self.calibrated.append(message)

    def _diagnose(self, message: DiagnosticArray, info: dict[str, int]) -> None:
        for status in message.status:
            if status.hardware_id == self.full_name:
                self.statuses.append((message, status))
                self.published.append(info['source_timestamp'])

    # Waiting

    def spin_until(
        self, condition: Callable[[], Any], what: str = 'expected event', deadline: float = DEADLINE
    ) -> Any:
        """Return the first true value of `condition`, callbacks running meanwhile."""
        end = time.monotonic() + deadline
        while not (value := condition()):
            assert time.monotonic() < end, f'no {what} within {deadline} s; {self._last()}'
            self._executor.spin_once(timeout_sec=0.02)
        return value

    def _last(self) -> str:
        if not self.statuses:
            return 'no diagnostics came'
        return f'diagnostics: {self.status.level!r} {self.status.message} {self.figures()}'

    def connect(self) -> None:
        """Wait until predictions, labels and outputs flow between the node and the client.

        Matched counts tell only one side's view, so messages are sent that touch nothing: an
        unstamped prediction of no opinion and a label without a value. None is left under way.
        """
        back, empty, following = self._probes_back, self._empty_labels(), 0.0

        def heard() -> bool:
            nonlocal following
            if time.monotonic() > following:
                following = time.monotonic() + PROBE_EVERY
                self._probe()
            return self._probes_back > back and self._empty_labels() > empty

        self.spin_until(heard, 'flow of messages')
        self.settle()

    def settle(self) -> None:
        """Wait until nothing that was published by now is under way to the node."""
        empty, last = self.steady('empty labels'), ''
        while self.reliable and (not last or self.steady('empty labels') != empty):
            # Messages of a topic come in order.
            empty, last = self._empty_labels() + 1, self._probe()
            self.spin_until(lambda last=last: self._last_back == last, 'the last probe')
            self.spin_until(lambda n=empty: self._empty_labels() >= n, 'the last label')

    def _probe(self) -> str:
        """Publish a probe of both kinds; return what the prediction comes back with."""
        self.probes += 1
        name = f'{id(self)} {self.probes}'
        self.send_raw([0.0, 0.0], sizes=[2], label=name)
        self.send_label([0.0, 0.0])
        return name

    def _empty_labels(self) -> int:
        return int(self.figures()['empty labels']) if self.statuses else 0

    # Topics

    def send_raw(self, data: Iterable[float], **layout: Any) -> None:
        self.raw_publisher.publish(array(data, **layout))

    def send_label(self, data: Iterable[float], **layout: Any) -> None:
        self.label_publisher.publish(array(data, **layout))

    def predict(self, stamp: int, probability: float) -> None:
        self.send_raw([*divmod(stamp, SECOND), probability])

    def label(self, stamp: int, value: float) -> None:
        self.send_label([*divmod(stamp, SECOND), value])

    def ask(self, stamp: int, probability: float) -> float:
        """Publish a prediction and return what comes back for it."""
        heard = len(self.calibrated)
        self.predict(stamp, probability)
        self.spin_until(lambda: len(self.calibrated) > heard, 'calibrated probability')
        sec, nanosec, value = self.calibrated[heard].data
        assert (sec, nanosec) == divmod(stamp, SECOND)
        return value

    def teach(self, stamp: int, probability: float, value: float) -> float:
        """Publish a prediction and its label, wait for the match, return what was published."""
        matched = self.figure('matched')
        published = self.ask(stamp, probability)
        self.label(stamp, value)
        self.wait_for_figure('matched', matched + 1)
        return published

    # Diagnostics

    @property
    def status(self) -> DiagnosticStatus:
        return self.statuses[-1][1]

    def figures(self) -> dict[str, str]:
        """Return the figures of the last diagnostics."""
        return {pair.key: pair.value for pair in self.status.values}

    def next_status(self) -> DiagnosticStatus:
        """Return the status made after all that is done by now."""
        now = time.time_ns()
        # The first that was published after it may have been made before.
        self.spin_until(lambda: len(self.published) > 1 and self.published[-2] > now, 'diagnostics')
        return self.status

    def figure(self, key: str) -> int:
        """Return a count as of now."""
        self.next_status()
        return int(self.figures()[key])

    def steady(self, key: str) -> int:
        """Return a count once two in a row are the same."""
        count = self.figure(key)
        while count != (count := self.figure(key)):
            pass
        return count

    def wait_for_figure(self, key: str, value: object) -> None:
        self.spin_until(
            lambda: self.statuses and self.figures()[key] == str(value), f'{key} of {value}'
        )

    def wait_for_last(self, values: list[Any], expected: Any) -> None:
        """Wait until the last of what comes is what it should be."""
        self.spin_until(lambda: values[-1:] == [expected], f'{expected}, but {values[-1:]}')

    def wait_for_status(self, level: Any, *words: str) -> DiagnosticStatus:
        """Wait for a status of a level whose message holds all the words."""
        return self.spin_until(
            lambda: next(
                (
                    status
                    for _, status in self.statuses[-1:]
                    if status.level == level and all(word in status.message for word in words)
                ),
                None,
            ),
            f'status {level!r} with {words}',
        )

    # Services, parameters and the graph

    def endpoint(self, topic: str) -> Any:
        """Return what the graph says of the node's own side of a topic."""
        node = self.node
        namespace, _, name = self.full_name.rpartition('/')

        def find() -> Any:
            found = node.get_publishers_info_by_topic(topic)
            found += node.get_subscriptions_info_by_topic(topic)
            mine = (name, namespace or '/')
            return next((i for i in found if (i.node_name, i.node_namespace) == mine), None)

        return self.spin_until(find, f'{topic} of the node')

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        try:
            self.spin_until(client.service_is_ready, f'service {name}')
            future = client.call_async(request)
            self.spin_until(future.done, f'answer of {name}')
            return future.result()
        finally:
            self.node.destroy_client(client)

    def trigger(self, name: str) -> Trigger.Response:
        return self.call(Trigger, f'{self.full_name}/{name}', Trigger.Request())

    def set_each(self, values: dict[str, Any]) -> list[Any]:
        """Set parameters one by one; return a result each."""
        request = SetParameters.Request(parameters=parameter_messages(values))
        return list(self.call(SetParameters, f'{self.full_name}/set_parameters', request).results)

    def set_all(self, values: dict[str, Any]) -> Any:
        """Set parameters all at once; return the one result."""
        request = SetParametersAtomically.Request(parameters=parameter_messages(values))
        name = f'{self.full_name}/set_parameters_atomically'
        return self.call(SetParametersAtomically, name, request).result

    def set(self, name: str, value: Any) -> None:
        """Set a parameter that must be taken."""
        (result,) = self.set_each({name: value})
        assert result.successful, result.reason

    def get(self, *names: str) -> list[Any]:
        request = GetParameters.Request(names=list(names))
        response = self.call(GetParameters, f'{self.full_name}/get_parameters', request)
        values = [parameter_value_to_python(value) for value in response.values]
        # A list may be of any kind here; what is declared is a tuple.
        scalars = (bool, int, float, str, type(None))
        return [value if isinstance(value, scalars) else tuple(value) for value in values]

    def describe(self, *names: str) -> list[Any]:
        request = DescribeParameters.Request(names=list(names))
        response = self.call(DescribeParameters, f'{self.full_name}/describe_parameters', request)
        return list(response.descriptors)

    def list_parameters(self) -> list[str]:
        request = ListParameters.Request()
        response = self.call(ListParameters, f'{self.full_name}/list_parameters', request)
        return list(response.result.names)
