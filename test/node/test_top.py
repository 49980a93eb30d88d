# SPDX-License-Identifier: Apache-2.0
"""calib_top on nodes that run: once as text, and live in a terminal of eighty columns."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from .harness import DEADLINE, SECOND, World

COMMAND = [sys.executable, '-m', 'calib_node.tools.top']
ESCAPES = re.compile(r'\x1b(\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9]|[=>])')


def environment_of(world: World) -> dict[str, str]:
    """Return that of the world, but for what some releases' middleware warns of in the terminal."""
    own = world.environment()
    return {name: own[name] for name in own if name != 'FASTRTPS_DEFAULT_PROFILES_FILE'}


def once(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, '--once', *arguments]
    return subprocess.run(
        command, env=environment_of(world), capture_output=True, text=True, check=False
    )


def until_heard(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it until it has heard someone, however slow discovery is."""
    end = time.monotonic() + DEADLINE
    while not (done := once(world, *arguments)).stdout:
        assert time.monotonic() < end, done.stderr
    return done


def test_once_as_text(world: World):
    world.connected()
    done = until_heard(world)
    assert done.returncode == 0, done.stderr
    head, *rest = done.stdout.splitlines()
    assert head.startswith('/calib_node ')
    assert any('pending' in line for line in rest)
    assert '\x1b' not in done.stdout


def test_names_choose(world: World):
    _, client = world.connected()
    client.teach(SECOND, 0.9, 1)
    assert client.trigger('save_state').success
    world.start(namespace='/front')
    both = once(world, 'calib_node', 'front/calib_node', '--wait', '60')
    heads = [line.split()[0] for line in both.stdout.splitlines() if line.startswith('/')]
    assert heads == ['/calib_node', '/front/calib_node']
    one = once(world, 'front/calib_node', '--wait', '60')
    heads = [line.split()[0] for line in one.stdout.splitlines() if line.startswith('/')]
    assert heads == ['/front/calib_node']
    assert re.search(r'saved \d+ s ago', both.stdout)
    assert 'over 1 matches' in both.stdout


def test_a_node_at_error_is_the_exit_code(world: World, tmp_path: Path):
    folder = tmp_path / 'file'
    folder.write_text('no folder')
    _, client = world.connected({'state.file': str(folder / 'state.yaml')})
    client.trigger('save_state')
    done = once(world, 'calib_node', '--wait', '60')
    assert done.returncode == 1
    assert ' ERROR' in done.stdout


@pytest.mark.parametrize('name', ['', 'nobody'])
def test_nobody_is_there(world: World, name: str):
    done = once(world, '--wait', '0.5', *filter(None, [name]))
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith('calib_top: no diagnostics of ')
    assert f'ROS domain {world.domain}' in sentence


class Terminal:
    """A terminal of so many columns with calib_top in it."""

    def __init__(self, world: World, columns: int, **environment: str) -> None:
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        given = {k: v for k, v in environment_of(world).items() if k not in ('COLUMNS', 'NO_COLOR')}
        self.process = subprocess.Popen(
            COMMAND, env={**given, 'TERM': 'xterm-256color', **environment},
            stdin=slave, stdout=slave, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.said = ''

    def wait_for(self, word: str) -> None:
        end = time.monotonic() + DEADLINE
        while word not in self.said:
            assert time.monotonic() < end, self.said
            if select.select([self._master], [], [], 0.1)[0]:
                self.said += os.read(self._master, 65536).decode(errors='replace')

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        end = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < end
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    os.read(self._master, 65536)
                except OSError:
                    break
        code = self.process.wait()
        os.close(self._master)
        return code


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_live_in_eighty_columns(world: World, number: int):
    pytest.importorskip('rich', reason='rich is not installed')
    _, client = world.connected()
    client.teach(SECOND, 0.9, 1)
    terminal = Terminal(world, 80)
    terminal.wait_for('over 1 matches')
    assert '\x1b[1;32m' in terminal.said
    assert terminal.end(number) == 0
    lines = ESCAPES.sub('', terminal.said).replace('\r', '\n').split('\n')
    assert max(map(len, lines)) <= 80


def test_live_without_colour(world: World):
    pytest.importorskip('rich', reason='rich is not installed')
    _, client = world.connected()
    client.teach(SECOND, 0.9, 1)
    terminal = Terminal(world, 80, NO_COLOR='1')
    terminal.wait_for('over 1 matches')
    assert terminal.end(signal.SIGINT) == 0
    assert not re.search(r'\x1b\[[0-9;]*3[0-7]', terminal.said)
