# SPDX-License-Identifier: Apache-2.0
"""The node's executable as a process: found, started, watched and stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

NAME = 'calib_node'
STOP_WITHIN = 5.0
"""Seconds after SIGINT before the process is killed."""


class NodeError(Exception):
    """Why there is no running node, in one sentence, with the last lines of its log."""


def find_executable(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the node's executable: beside this Python, else in a ROS prefix, else on PATH.

    Raises
    ------
    NodeError
        If there is none.
    """
    candidates = [Path(sys.executable).parent / NAME]
    prefixes = environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    candidates += [Path(prefix, 'lib', NAME, NAME) for prefix in prefixes if prefix]
    on_path = shutil.which(NAME, path=environment.get('PATH'))
    if on_path:
        candidates.append(Path(on_path))
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    raise NodeError(
        f'The executable {NAME} is not installed: it is neither beside {sys.executable}, nor in '
        'a sourced workspace, nor on PATH.'
    )


class NodeProcess:
    """The node in a process of its own that a Ctrl-C in the terminal does not reach.

    Parameters
    ----------
    command : sequence of str
        The executable with its arguments.
    log : Path
        File that what it says is added to.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open('ab') as file:
            self._said_before = file.tell()
            # In a session of its own: who started the node stops it, in order.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, 'RCUTILS_COLORIZED_OUTPUT': '0'},
            )

    def check(self) -> None:
        """Raise `NodeError` unless the process runs."""
        code = self._process.poll()
        if code is None:
            return
        how = f'exit code {code}' if code >= 0 else f'signal {signal.Signals(-code).name}'
        raise self.error(f'The node ended by itself ({how})')

    def error(self, sentence: str) -> NodeError:
        """Return an error with the last lines of the node's log added to the sentence."""
        lines = self.last_lines()
        if not lines:
            return NodeError(f'{sentence}; it said nothing.')
        return NodeError('\n'.join([f'{sentence}. The last that it said:', *lines]))

    def last_lines(self, count: int = 5) -> list[str]:
        """Return the last lines that this process wrote, indented and cut to a readable length."""
        with self._log.open('rb') as file:
            file.seek(self._said_before)
            lines = file.read().decode(errors='replace').splitlines()
        cut = [line if len(line) <= 200 else line[:199] + '…' for line in lines if line.strip()]
        return [f'    {line}' for line in cut[-count:]]

    def stop(self) -> str:
        """Stop it by SIGINT, or by SIGKILL if it does not end; return how it ended, in words."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            code = self._process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return f'killed, since SIGINT did not end it within {STOP_WITHIN:g} s'
        return f'exit code {code}'
