# SPDX-License-Identifier: Apache-2.0
"""Processes of a test, their output read by a thread, every wait with a deadline."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .launcher import Launched, launcher

DEADLINE = 60.0
"""Seconds that a condition has to come true; far more than it takes, for a machine that is busy."""


def wait_until(condition: Callable[[], Any], what: str, deadline: float = DEADLINE) -> Any:
    """Return the first true value of `condition`, asked again and again."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, f'no {what} within {deadline} s'
        time.sleep(0.005)
    return value


def run(command: list[str], environment: dict[str, str], **popen: Any) -> subprocess.Popen[str]:
    """Start a process whose output is one stream of text."""
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
        **popen,
    )


def run_node(
    arguments: list[str],
    environment: dict[str, str],
    within: Iterable[str] = (),
    fresh: bool = False,
    nodes: Iterable[str] = (),
    **popen: Any,
) -> NodeProcess:
    """Start the node.

    Parameters
    ----------
    arguments : list of str
        After ``--ros-args``.
    environment : dict
        All of its environment.
    within : iterable of str
        What its command line starts with.
    fresh : bool
        Whether it begins with an interpreter of its own, as an operator's does. So does one that is
        started `within` something or with other options of `subprocess.Popen`.
    nodes : iterable of str
        Names of the nodes, if it is not the one called calib_node.
    """
    arguments = [*(['--nodes', *nodes] if nodes else []), '--ros-args', *arguments]
    if not (within or fresh or popen):
        return NodeProcess(launcher().start(arguments, environment))
    command = [*within, sys.executable, '-m', 'calib_node.ros.main', *arguments]
    return NodeProcess(run(command, environment, **popen))


class OtherProcess:
    """A process of a test, its output read by a thread."""

    def __init__(self, process: subprocess.Popen[str] | Launched) -> None:
        self._process = process
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
    """The node as a process."""

    def processor_seconds(self) -> float:
        """Return the user and system time that the process has used, however busy the machine."""
        fields = Path(f'/proc/{self._process.pid}/stat').read_text().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    @property
    def warnings(self) -> list[str]:
        """What the node warned of; the middleware warns of the environment of these tests."""
        return [line for line in list(self.lines) if '[WARN]' in line and '[rmw_' not in line]
