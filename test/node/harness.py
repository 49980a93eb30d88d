# SPDX-License-Identifier: Apache-2.0
"""A ROS domain with node processes and a client, every wait with a deadline."""

from __future__ import annotations

import json
import os
import socket
from itertools import count
from pathlib import Path
from typing import Any

import yaml
from rclpy.context import Context
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

import calib_node
from calib_node.core.calibrators import create
from calib_node.core.matching import StampMatcher
from calib_node.core.pipeline import Pipeline

from .client import SECOND, Client
from .messages import array
from .process import DEADLINE, NodeProcess, OtherProcess, run_node, wait_until

__all__ = [
    'DEADLINE',
    'EXECUTORS',
    'SECOND',
    'Client',
    'NodeProcess',
    'OtherProcess',
    'World',
    'array',
    'decoded',
    'pipeline',
    'wait_until',
]

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
        process = run_node(given, self.environment(), **popen)
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


def decoded(data: bytes) -> Float64MultiArray:
    return deserialize_message(data, Float64MultiArray)


def pipeline(method: str = 'ops', **calibrator: float) -> Pipeline:
    """Return the core that a node with these parameters runs."""
    return Pipeline(create(method, **calibrator), StampMatcher())
