# SPDX-License-Identifier: Apache-2.0
"""The node is killed again and again while it learns and saves: the file is sound, and not old."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from disks import folder_in_memory

from calib_node.core.calibrators import create
from calib_node.core.state.file import StateFile

from .harness import EXECUTORS, World
from .load import Load

KILLS = 20
PERIOD = 0.05
SPAWN = multiprocessing.get_context('spawn')


@pytest.mark.slow
def test_killed_at_any_moment_with_autosave_under_load(tmp_path, monkeypatch):
    # What a killed process shares of memory is never given back.
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    generator = random.Random(5)
    known = 0
    with folder_in_memory(tmp_path) as memory:
        path = memory / 'state.yaml'
        for number in range(KILLS):
            pause = generator.uniform(0.0, 4 * PERIOD)
            told = in_a_process(live_and_die, tmp_path, path, EXECUTORS[number % 2], pause, known)
            calibrator = create('ops')
            _, problems = StateFile(path, '/calib_node').recover(calibrator)
            assert not problems
            assert calibrator.updates >= told > known
            known = calibrator.updates


def in_a_process(call: Callable[..., int], *arguments: Any) -> int:
    """Return what a call returns that is made in a process of its own.

    The middleware of a client may crash when it ends beside a node that was killed.
    """
    ours, theirs = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=answer, args=(theirs, call, arguments))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


def answer(theirs: Any, call: Callable[..., int], arguments: tuple[Any, ...]) -> None:
    theirs.send(call(*arguments))
    os._exit(0)


def live_and_die(folder: Path, path: Path, executor: str, pause: float, known: int) -> int:
    """Kill a node that goes on from a file; return how much its last save must have known."""
    settings = {'executor': executor, 'state.file': str(path), 'state.autosave_period': PERIOD}
    # A domain of its own: a killed node is missed there for some seconds.
    world = World(folder)
    node, client = world.connected(settings)
    assert node.said('going on from', f' {known} updates') or not known
    assert not node.said('[ERROR]')
    with Load(client):
        # So that the life says something, however slow the machine is.
        told = client.spin_until(
            lambda: max(0, told_before_last_save(client, path) - known), 'two saves'
        )
        end = time.monotonic() + pause
        client.spin_until(lambda: time.monotonic() > end, 'end of a life')
        node.send(signal.SIGKILL)
        node.wait()
    return max(known + told, told_before_last_save(client, path))


def told_before_last_save(client, path: Path) -> int:
    """Return the number of updates that the node had told of when it wrote the .bak.

    The save that came after it was begun later, so it holds them; this is so at any load.
    """
    backup = path.with_name(f'{path.name}.bak')
    # In the middle of a save both may be one file, and that after it is still to come.
    if not backup.exists() or backup.samefile(path):
        return 0
    written = backup.stat().st_mtime
    told = [
        next(int(pair.value) for pair in status.values if pair.key == 'updates')
        for message, status in client.statuses
        if message.header.stamp.sec + message.header.stamp.nanosec / 1e9 <= written
    ]
    return max(told, default=0)
