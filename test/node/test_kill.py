# SPDX-License-Identifier: Apache-2.0
"""The node is killed again and again while it learns and saves: the file is sound, and not old."""

from __future__ import annotations

import random
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest
from disks import folder_in_memory

from calib_node.core.calibrators import create
from calib_node.core.state.file import StateFile

from .harness import EXECUTORS, World
from .load import Load

KILLS = 20
PERIOD = 0.05
TOLD_EVERY = 0.02


@pytest.mark.slow
def test_killed_at_any_moment_with_autosave_under_load(tmp_path, monkeypatch):
    # What a killed process shares of memory is never given back.
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    generator = random.Random(5)
    known = telling = 0
    with folder_in_memory(tmp_path) as memory:
        path = memory / 'state.yaml'
        for number in range(KILLS):
            told = live_and_die(tmp_path, path, EXECUTORS[number % 2], generator, known)
            calibrator = create('ops')
            _, problems = StateFile(path, '/calib_node').recover(calibrator)
            assert not problems
            assert calibrator.updates >= max(known, told)
            telling += told > known
            known = calibrator.updates
    # Else it would say little.
    assert telling > KILLS / 4
    assert known > 20 * KILLS


def live_and_die(folder: Path, path: Path, executor: str, generator, known: int) -> int:
    """Kill a node that goes on from a file; return how much it had learned two intervals ago."""
    settings = {
        'executor': executor,
        'state.file': str(path),
        'state.autosave_period': PERIOD,
        'diagnostics.period': TOLD_EVERY,
    }
    # A domain of its own: a killed node is missed there for some seconds.
    with World(folder) as world:
        node, client = world.connected(settings)
        assert node.said('going on from', f' {known} updates') or not known
        assert not node.said('[ERROR]')
        with Load(client):
            end = time.monotonic() + generator.uniform(0.05, 0.5)
            client.spin_until(lambda: time.monotonic() > end, 'end of a life')
            killed = time.time()
            node.send(signal.SIGKILL)
            node.wait()
        return told_by(client, killed - 2 * PERIOD)


def told_by(client, moment: float) -> int:
    """Return the number of updates that the node has told of by then.

    A node that is late with its diagnostics, on a machine that does something else, may be as late
    with its file.
    """
    told = [
        (
            message.header.stamp.sec + message.header.stamp.nanosec / 1e9,
            next(int(pair.value) for pair in status.values if pair.key == 'updates'),
        )
        for message, status in client.statuses
    ]
    late = max((b - a - TOLD_EVERY for (a, _), (b, _) in pairwise(told)), default=0.0)
    return max((updates for stamp, updates in told if stamp <= moment - late), default=0)
