# SPDX-License-Identifier: Apache-2.0
"""Starts node processes in a third of the time: a process that has imported the node forks itself.

Importing is most of what a start costs, and a few hundred nodes are started. What is forked runs
the same `main` to the end of the interpreter. The launcher is told over a socket what to start, and
what became of it; it ends when the socket is closed, and whatever it has started with it.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

PACKET = 200_000
"""Bytes that a command, arguments and environment of a process, may have."""


class Launcher:
    """The launcher's process, as the tests see it."""

    def __init__(self) -> None:
        self._socket, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with end:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__)), str(end.fileno())], pass_fds=[end.fileno()]
            )

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def start(self, arguments: list[str], environment: dict[str, str]) -> Launched:
        """Start a node; its output is one stream."""
        reading, writing = os.pipe()
        start = {'arguments': arguments, 'environment': environment, 'folder': os.getcwd()}
        pid = self._tell(start, writing)
        os.close(writing)
        return Launched(self, pid, reading)

    def exit_code(self, pid: int) -> int | None:
        """Return the exit code of a process, or None while it runs."""
        return self._tell({'pid': pid})

    def _tell(self, command: dict[str, Any], *files: int) -> Any:
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(command).encode()], files)
            return json.loads(self._socket.recv(PACKET))


class Launched:
    """A process that was launched, to be used as one of `subprocess`."""

    def __init__(self, launcher: Launcher, pid: int, reading: int) -> None:
        self._launcher = launcher
        self.pid = pid
        self.returncode: int | None = None
        self.stdout = open(reading, errors='replace')  # noqa: SIM115

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._launcher.exit_code(self.pid)
        return self.returncode

    def wait(self, timeout: float) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired('the node', timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def launcher() -> Launcher:
    """Return the one launcher of this test process."""
    one = Launcher()
    atexit.register(one.close)
    return one


def serve(control: socket.socket) -> list[str]:
    """Do what is told until the end, or return the arguments of the node that this process is."""
    running: set[int] = set()
    while True:
        data, files, _, _ = socket.recv_fds(control, PACKET, 1)
        if not data:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            sys.exit()
        told = json.loads(data)
        if 'pid' in told:
            pid, status = os.waitpid(told['pid'], os.WNOHANG)
            running.discard(pid)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if not answer:
                control.close()
                become(told, files[0])
                return list(told['arguments'])
            os.close(files[0])
            running.add(answer)
        control.send(json.dumps(answer).encode())


def become(told: dict[str, Any], output: int) -> None:
    """Take over the output, environment and folder of a process that is to be one of its own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    os.environ.clear()
    os.environ.update(told['environment'])
    os.chdir(told['folder'])


def serve_and_run() -> int:
    # An interrupt of the tests goes to all of the terminal; the launcher ends when they do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from calib_node.ros import main

    sys.argv[1:] = serve(socket.socket(fileno=int(sys.argv[1])))
    return main.main()


if __name__ == '__main__':
    sys.exit(serve_and_run())
