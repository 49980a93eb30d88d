# SPDX-License-Identifier: Apache-2.0
"""A ROS domain with node processes and a client, every wait with a deadline."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

import yaml
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
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64, Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from std_srvs.srv import Trigger

import calib_node
from calib_node.core.calibrators import create
from calib_node.core.matching import StampMatcher
from calib_node.core.pipeline import Pipeline

DEADLINE = 15.0
"""Seconds that a condition has to come true; discovery alone may take three."""

SECOND = 1_000_000_000
EXECUTORS = ('events', 'single')
PACKAGE_FOLDER = str(Path(calib_node.__file__).parents[1])
FIRST_DOMAINS = count(os.getpid())
DOMAINS = 102
"""Higher domains have ports that the system gives to others."""


def take_domain() -> tuple[int, socket.socket]:
    """Return a ROS domain that nobody uses, and what keeps it from other test runs."""
    for _ in range(DOMAINS):
        domain = 1 + next(FIRST_DOMAINS) % (DOMAINS - 1)
        mark = socket.socket(socket.AF_UNIX)
        try:
            # An abstract address: it is gone with the process.
            mark.bind(f'\0calib_node test domain {domain}')
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                # The first participant's port by the RTPS rules.
                probe.bind(('', 7410 + 250 * domain))
        except OSError:
            mark.close()
            continue
        return domain, mark
    raise RuntimeError('every ROS domain is in use')


def wait_until(condition: Callable[[], Any], what: str, deadline: float = DEADLINE) -> Any:
    """Return the first true value of `condition`, asked again and again."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, f'no {what} within {deadline} s'
        time.sleep(0.005)
    return value


class OtherProcess:
    """A process of a test, its output read by a thread."""

    def __init__(self, command: list[str], environment: dict[str, str], **popen: Any) -> None:
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            **popen,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.lines.append(line.rstrip('\n'))

    @property
    def output(self) -> str:
        return '\n'.join(self.lines)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def said(self, *words: str) -> str:
        """Return the first line that holds all the words, or an empty text."""
        return next((line for line in list(self.lines) if all(w in line for w in words)), '')

    def wait_for(self, *words: str, deadline: float = DEADLINE) -> str:
        """Wait for a line that holds all the words, and return it; the node must run on."""
        end = time.monotonic() + deadline
        while not (line := self.said(*words)):
            assert self.running, f'ended with {self._process.returncode}:\n{self.output}'
            assert time.monotonic() < end, f'no line with {words} in:\n{self.output}'
            time.sleep(0.005)
        return line

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, deadline: float = DEADLINE) -> int:
        """Wait for the end and return the exit code."""
        code = self._process.wait(deadline)
        self._reader.join()
        return code

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the process by a signal, as an operator does, and expect a clean end."""
        self.send(number)
        code = self.wait()
        assert code == 0, f'exit code {code}:\n{self.output}'

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def end(self) -> None:
        """End the process whatever it does."""
        try:
            if self.running:
                self.stop()
        finally:
            self.kill()
        assert 'Traceback' not in self.output, self.output


class NodeProcess(OtherProcess):
    """The node as a process; `within` is what its command line starts with."""

    def __init__(
        self,
        arguments: list[str],
        environment: dict[str, str],
        within: Iterable[str] = (),
        **popen: Any,
    ) -> None:
        command = [sys.executable, '-m', 'calib_node.ros.main', '--ros-args', *arguments]
        super().__init__([*within, *command], environment, **popen)

    @property
    def warnings(self) -> list[str]:
        """What the node warned of; the middleware warns of the environment of these tests."""
        return [line for line in list(self.lines) if '[WARN]' in line and '[rmw_' not in line]


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
        self.full_name = f'{self.node.get_namespace().rstrip("/")}/{name}'
        self.calibrated: list[Float64MultiArray] = []
        self.ece: list[float] = []
        self.raw_ece: list[float] = []
        self.reliability: list[Float64MultiArray] = []
        self.statuses: list[tuple[DiagnosticArray, DiagnosticStatus]] = []
        self._probes_back = 0
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
        else:
            self.calibrated.append(message)

    def _diagnose(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.hardware_id == self.full_name:
                self.statuses.append((message, status))

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
        status = self.statuses[-1][1]
        figures = {pair.key: pair.value for pair in status.values}
        return f'diagnostics: {status.level!r} {status.message} {figures}'

    def connect(self) -> None:
        """Wait until predictions, labels and outputs flow between the node and the client.

        Matched counts tell only one side's view, so messages are sent that touch nothing: an
        unstamped prediction of no opinion and a label without a value.
        """
        back = self._probes_back
        figures = self.figures if self.statuses else dict
        empty = int(figures().get('empty labels', 0))

        def heard() -> bool:
            self.send_raw([0.0, 0.0])
            self.send_label([0.0, 0.0])
            return (
                self._probes_back > back
                and bool(self.statuses)
                and int(self.figures()['empty labels']) > empty
            )

        self.spin_until(heard, 'flow of messages')

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
        seen = len(self.statuses)
        # The first to come may have been under way already.
        self.spin_until(lambda: len(self.statuses) > seen + 1, 'diagnostics')
        return self.status

    def figure(self, key: str) -> int:
        """Return a count as of now."""
        self.next_status()
        return int(self.figures()[key])

    def wait_for_figure(self, key: str, value: object) -> None:
        self.spin_until(
            lambda: self.statuses and self.figures()[key] == str(value), f'{key} of {value}'
        )

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
        name, namespace = self.full_name.rpartition('/')[2], self.full_name.rpartition('/')[0]

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
        return [parameter_value_to_python(value) for value in response.values]

    def describe(self, *names: str) -> list[Any]:
        request = DescribeParameters.Request(names=list(names))
        response = self.call(DescribeParameters, f'{self.full_name}/describe_parameters', request)
        return list(response.descriptors)

    def list_parameters(self) -> list[str]:
        request = ListParameters.Request()
        response = self.call(ListParameters, f'{self.full_name}/list_parameters', request)
        return list(response.result.names)


class World:
    """A ROS domain of its own with a folder, and all that a test starts in it.

    Parameters
    ----------
    folder : Path
        Holds ``$ROS_HOME``, logs and parameter files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.domain, self._mark = take_domain()
        self.ros_home = folder / 'ros_home'
        self.processes: list[OtherProcess] = []
        self.clients: list[Client] = []
        self._strangers: list[Node] = []

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for client in self.clients:
                client.close()
            for stranger in self._strangers:
                stranger.destroy_node()
                stranger.context.try_shutdown()
            problems = []
            for process in self.processes:
                try:
                    process.end()
                except AssertionError as error:
                    problems.append(str(error))
            assert not problems, '\n'.join(problems)
        finally:
            self._mark.close()

    def client(self, **options: Any) -> Client:
        client = Client(self.domain, **options)
        self.clients.append(client)
        return client

    def stranger(self) -> Node:
        """Return another ROS node: a participant may have a topic with one type only."""
        context = Context()
        context.init(args=[], domain_id=self.domain)
        self._strangers.append(Node('stranger', context=context, use_global_arguments=False))
        return self._strangers[-1]

    def environment(self) -> dict[str, str]:
        """Return the environment of the processes of this domain."""
        return {
            **os.environ,
            'ROS_DOMAIN_ID': str(self.domain),
            'ROS_HOME': str(self.ros_home),
            'ROS_LOG_DIR': str(self.folder / 'log'),
            'PYTHONPATH': os.pathsep.join(
                filter(None, (PACKAGE_FOLDER, os.environ.get('PYTHONPATH')))
            ),
        }

    def spawn(
        self,
        parameters: dict[str, Any] | None = None,
        *arguments: str,
        namespace: str = '',
        remaps: dict[str, str] | None = None,
        quick: bool = True,
        **popen: Any,
    ) -> NodeProcess:
        """Start a node process and return at once.

        Its diagnostics come 50 times a second unless it is not `quick` or they say otherwise.
        """
        given = list(arguments)
        every = {'diagnostics.period': 0.02} if quick else {}
        for name, value in {**every, **(parameters or {})}.items():
            # JSON is YAML: a text stays a text and a number a number.
            given += ['-p', f'{name}:={json.dumps(value)}']
        for name, target in (remaps or {}).items():
            given += ['-r', f'{name}:={target}']
        if namespace:
            given += ['-r', f'__ns:={namespace}']
        process = NodeProcess(given, self.environment(), **popen)
        self.processes.append(process)
        return process

    def start(self, *parameters: Any, **options: Any) -> NodeProcess:
        """Start a node process and wait until it is ready."""
        process = self.spawn(*parameters, **options)
        process.wait_for('ready:')
        return process

    def connected(
        self, parameters: dict[str, Any] | None = None, **options: Any
    ) -> tuple[NodeProcess, Client]:
        """Start a node and a client that hear each other."""
        client = self.client()
        process = self.start(parameters, **options)
        client.connect()
        return process, client

    def refused(self, parameters: dict[str, Any] | None = None, *rest: str, **options: Any) -> str:
        """Start a node that must end at once; return its one sentence why."""
        process = self.spawn(parameters, *rest, quick=False, **options)
        wait_until(lambda: process.said('ready:') or not process.running, 'end of the start')
        assert not process.running, f'the node started:\n{process.output}'
        assert process.wait() == 1, process.output
        assert 'Traceback' not in process.output, process.output
        (sentence,) = [line for line in process.lines if 'cannot start:' in line]
        return sentence

    def parameters_file(self, content: dict[str, Any], name: str = 'parameters.yaml') -> list[str]:
        """Write a parameters file; return the arguments that name it."""
        path = self.folder / name
        path.write_text(yaml.safe_dump(content))
        return ['--params-file', str(path)]

    def state_path(self, node: str = 'calib_node') -> Path:
        return self.ros_home / 'calib_node' / f'{node}.yaml'

    def state(self, node: str = 'calib_node') -> dict[str, Any]:
        """Return what the state file holds."""
        return yaml.safe_load(self.state_path(node).read_text())


def array(data: Iterable[float], offset: int = 0, sizes: Iterable[int] = ()) -> Float64MultiArray:
    """Return a Float64MultiArray with a dimension for each of `sizes`."""
    dimensions = [MultiArrayDimension(label='x', size=size, stride=size) for size in sizes]
    layout = MultiArrayLayout(dim=dimensions, data_offset=offset)
    return Float64MultiArray(layout=layout, data=[float(number) for number in data])


def parameter_messages(values: dict[str, Any]) -> list[Any]:
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]


def decoded(data: bytes) -> Float64MultiArray:
    return deserialize_message(data, Float64MultiArray)


def pipeline(method: str = 'ops', **calibrator: float) -> Pipeline:
    """Return the core that a node with these parameters runs."""
    return Pipeline(create(method, **calibrator), StampMatcher())
