# SPDX-License-Identifier: Apache-2.0
"""Replays on a cluster are those in one process, to the bit, even where a worker is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from calib_node.bags.playback import Source
from calib_node.bags.units import Outcome, Unit, combined, run_here, units_of
from calib_node.core.calibrators.merge import merge_states

from .bags import LABELS, RAW, SECOND, START, drive, record, replayed

Capture = pytest.CaptureFixture[str]
METHODS = {name: {'method': name} for name in ('ops', 'beta', 'isotonic')}


@pytest.fixture
def recordings(tmp_path: Path) -> tuple[Path, ...]:
    return tuple(
        record(tmp_path / f'bag{n}', drive(200, START + n * 3600 * SECOND, seed=n))
        for n in range(3)
    )


def facts(units: list[Unit], outcomes: list[Outcome]) -> list[Any]:
    """Return all that came of replays."""
    states, comparison = combined(units, outcomes)
    scores = [(n, vars(s) | {'losses': s.losses.sums}) for n, s in comparison.scores.items()]
    return [states, scores, [(o.count, o.problems) for o in outcomes], comparison.lines()]


@pytest.mark.parametrize('merged', [False, True])
def test_units(recordings: tuple[Path, ...], merged: bool):
    units = units_of(Source(recordings, RAW, LABELS), METHODS, merged)
    assert len(units) == (9 if merged else 3)
    outcomes = run_here(units, lambda _: None)
    states, comparison = combined(units, outcomes)
    assert comparison.count == 3 * 195
    assert states['ops']['updates'] == 3 * 195
    if merged:
        assert states['ops'] == merge_states([o.state for o in outcomes[:3]])
        assert states['isotonic'] == {}
        assert "method 'isotonic'" in comparison.notes['isotonic']
    else:
        assert states['isotonic']['updates'] == 3 * 195


def test_what_fails_is_told_with_method_and_recording(tmp_path: Path):
    path = record(tmp_path / 'bag', drive(10))
    units = units_of(Source((path,), '/nothing', LABELS), METHODS, False)
    errors = [outcome.error for outcome in run_here(units, lambda _: None)]
    assert [e for e in errors if e.startswith(f'ops over {path}: there is no topic /nothing')]
    assert len(set(errors)) == 3


@pytest.mark.slow
@pytest.mark.parametrize('merged', [False, True])
def test_a_local_cluster(recordings: tuple[Path, ...], merged: bool):
    pytest.importorskip('distributed', reason='Dask is not installed')
    from calib_node.bags.cluster import local_cluster, runner

    units = units_of(Source(recordings, RAW, LABELS), METHODS, merged)
    done: list[Outcome] = []
    with local_cluster(2) as client:
        outcomes = runner(client)(units, done.append)
    assert len(done) == len(units)
    assert facts(units, outcomes) == facts(units, run_here(units, lambda _: None))


@pytest.mark.slow
def test_a_worker_that_is_killed(tmp_path: Path):
    """While it works: the other one, and the one that takes its place, do what it had to do."""
    pytest.importorskip('distributed', reason='Dask is not installed')
    from calib_node.bags.cluster import local_cluster, runner

    paths = tuple(record(tmp_path / f'bag{n}', drive(8000, seed=n)) for n in range(8))
    units = units_of(Source(paths, RAW, LABELS), {'ops': {}}, True)
    killed: list[int] = []
    with local_cluster(2) as client:
        pids = [*client.run(os.getpid).values()]

        def kill_one(_: Outcome) -> None:
            if not killed:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

        outcomes = runner(client)(units, kill_one)
    assert killed
    assert facts(units, outcomes) == facts(units, run_here(units, lambda _: None))


@pytest.mark.slow
def test_the_tool_on_a_cluster(recordings: tuple[Path, ...], tmp_path: Path, capsys: Capture):
    pytest.importorskip('distributed', reason='Dask is not installed')
    given = (*recordings, '--method', 'beta', '--quiet', '--states', 'merge')
    one, two = tmp_path / 'one.yaml', tmp_path / 'two.yaml'
    code, here, errors = replayed(capsys, *given, '--state', one)
    assert (code, errors) == (0, [])
    code, there, errors = replayed(capsys, *given, '--state', two, '--workers', 2)
    assert (code, errors) == (0, [])
    assert yaml.safe_load(one.read_text())['updates'] == 3 * 195
    assert one.read_text().split('saved_at')[0] == two.read_text().split('saved_at')[0]
    assert here.splitlines()[2:-1] == there.splitlines()[2:-1]


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        (('--workers', '0'), 'at least 1'),
        (('--workers', '2', '--scheduler', 'tcp://127.0.0.1:1'), 'one of --workers'),
        (('--workers', '2', '--samples', 's.csv'), '--samples'),
        (('--states', 'merge', '--start', 's.yaml'), '--start'),
    ],
)
def test_what_does_not_go_together(
    recordings: tuple[Path, ...], capsys: Capture, given: tuple[str, ...], words: str
):
    code, _, errors = replayed(capsys, *recordings, *given)
    assert (code, len(errors)) == (1, 1)
    assert words in errors[0]


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer(
    recordings: tuple[Path, ...], capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip('distributed', reason='Dask is not installed')
    from calib_node.bags import cluster

    monkeypatch.setattr(cluster, 'CONNECT_WITHIN', 2)
    code, _, errors = replayed(capsys, *recordings, '--scheduler', 'tcp://127.0.0.1:1')
    assert code == 1
    assert '--scheduler tcp://127.0.0.1:1 does not answer' in errors[-1]
