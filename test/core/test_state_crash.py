# SPDX-License-Identifier: Apache-2.0
"""Whenever a save or a start breaks off, what was learned is there at the next start."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from power import Failure, PowerCut, at_each_step
from saved_states import NODE, document, made, names, saved, started, updates_in

from calib_node.core.state.file import StateFile
from calib_node.core.state.keeper import StateKeeper

ERRORS = pytest.mark.parametrize('error', [PowerCut, Failure])


@pytest.fixture
def anew(path):
    """Make the folder anew with a file of so many updates each time."""

    def make(*updates: int, **options) -> StateFile:
        shutil.rmtree(path.parent, ignore_errors=True)
        return saved(path, *updates, **options)

    return make


def start_and_save(path: Path, method: str, updates: int) -> None:
    """Start a node with a method, let it learn so far, and save."""
    file = StateFile(path, NODE)
    file.recover(made(method))
    file.save(document(updates, method))


def somewhere(path: Path, content: bytes) -> bool:
    return any(entry.read_bytes() == content for entry in path.parent.iterdir())


@ERRORS
def test_save_leaves_the_old_file_or_the_new(anew, error):
    def check(file):
        held = updates_in(file.path)
        assert held in (2, 3)
        assert updates_in(file.backup) in (1, 2)
        if error is Failure:
            # The same process tries again.
            file.save(document(3))
            assert (updates_in(file.path), file.notes) == (3, [])
        assert started(file.path) == (updates_in(file.path), [])

    steps = at_each_step(error, lambda: anew(1, 2), lambda file: file.save(document(3)), check)
    assert steps >= 6


@ERRORS
def test_change_of_method_loses_neither_state(anew, path, error):
    """A file of `ops` with its .bak, and nothing or an older file of `beta` that waits."""

    def check(_):
        assert started(path, 'ops') == (2, [])
        updates, problems = started(path, 'beta')
        assert (updates in expected, problems) == (True, [])
        assert started(path, 'ops') == (2, [])
        assert started(path, 'beta') == (updates, [])

    expected = {0, 4}
    change = lambda _: start_and_save(path, 'beta', 4)  # noqa: E731
    assert at_each_step(error, lambda: anew(1, 2), change, check) >= 8

    def with_beta_waiting():
        anew(1, 3, method='beta')
        start_and_save(path, 'ops', 1)
        start_and_save(path, 'ops', 2)

    expected = {3, 4}
    assert at_each_step(error, with_beta_waiting, change, check) >= 10


@ERRORS
def test_the_bak_of_each_method_is_there_when_its_file_is_bad(anew, path, error):
    def check(_):
        for method in ('ops', 'beta'):
            started(path, method)
            path.write_text('nonsense')
            assert started(path, method)[0] == {'ops': 1, 'beta': 3}[method]

    def both():
        anew(3, 4, method='beta')
        start_and_save(path, 'ops', 1)
        start_and_save(path, 'ops', 2)

    change = lambda _: StateFile(path, NODE).recover(made('beta'))  # noqa: E731
    assert at_each_step(error, both, change, check) >= 5


@ERRORS
def test_what_somebody_else_put_there_is_not_lost_to_a_save(anew, path, error):
    others = b'of somebody else'

    def replaced():
        file = anew(1, 2)
        path.write_bytes(others)
        return file

    def check(file):
        assert somewhere(path, others)
        assert updates_in(file.backup) == 1
        if error is Failure:
            file.save(document(3))
            assert updates_in(path) == 3
            assert somewhere(path, others)

    steps = at_each_step(error, replaced, lambda file: file.save(document(3)), check)
    assert steps >= 6


@ERRORS
def test_bad_file_and_the_sound_bak_are_not_lost_to_a_start(anew, path, error):
    def bad():
        anew(1, 2)
        path.write_text('nonsense')

    def check(_):
        assert somewhere(path, b'nonsense')
        assert started(path)[0] in (1, 3)

    assert at_each_step(error, bad, lambda _: start_and_save(path, 'ops', 3), check) >= 6


@ERRORS
def test_reset_keeps_what_was_learned(anew, path, error):
    def running():
        anew(1, 2)
        calibrator = made()
        keeper = StateKeeper(calibrator, StateFile(path, NODE))
        keeper.start()
        return keeper, calibrator

    def check(prepared):
        keeper, _ = prepared
        keeper.file.unlock()
        held = {started(path)[0]}
        held |= {updates_in(kept) for kept in path.parent.glob('*.before-reset-*')}
        assert 2 in held

    steps = at_each_step(error, running, lambda both: both[0].reset(both[1].reset), check)
    assert steps >= 5


def test_disk_has_the_content_before_the_name_and_then_the_folder(path, monkeypatch):
    file = saved(path, 1)
    steps = []

    def fsync(descriptor):
        steps.append(os.readlink(f'/proc/self/fd/{descriptor}'))

    def replace(source, target):
        steps.append((str(source), str(target)))
        os.rename(source, target)

    monkeypatch.setattr(os, 'fsync', fsync)
    monkeypatch.setattr(os, 'replace', replace)
    file.save(document(2))
    assert steps[0] == f'{path}.tmp'
    assert steps[-2:] == [(f'{path}.tmp', str(path)), str(path.parent)]


def test_left_over_temporary_files_do_no_harm(path):
    file = saved(path, 1)
    for suffix in ('tmp', 'bak.tmp'):
        path.with_name(f'{path.name}.{suffix}').write_text('half a')
    file.save(document(2))
    assert started(path) == (2, [])
    assert updates_in(file.backup) == 1
    assert names(path) == {path.name, f'{path.name}.bak'}


@pytest.mark.slow
@pytest.mark.parametrize('with_backup', [True, False])
def test_file_cut_at_any_byte(path, with_backup):
    saved(path, 1, 2)
    content = path.read_bytes()
    backup = path.with_name(f'{path.name}.bak')
    kept = backup.read_bytes()
    for length in range(len(content)):
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        path.write_bytes(content[:length])
        if with_backup:
            backup.write_bytes(kept)
        updates, problems = started(path)
        if problems:
            assert updates == (1 if with_backup else 0)
            (aside,) = path.parent.glob(f'{path.name}.corrupt-*')
            assert aside.read_bytes() == content[:length]
        else:
            assert updates == 2


SAVE_ON_AND_ON = """
import itertools, sys
from pathlib import Path
from calib_node.core.calibrators import OnlinePlattScaling
from calib_node.core.state.document import make_document
from calib_node.core.state.file import StateFile
file, calibrator = StateFile(Path(sys.argv[1]), '/calib_node'), OnlinePlattScaling()
if file.path.exists():
    file.load(calibrator)
for number in itertools.count(calibrator.updates):
    calibrator.update(0.7 + number % 7 / 31, number % 3 // 2)
    file.save(make_document(calibrator, '/calib_node'))
    print(calibrator.updates, flush=True)
"""


@pytest.mark.slow
def test_killed_while_it_saves_on_and_on(path, run_python):
    """What save() has returned from is never lost, and the file is sound at every moment."""
    generator = random.Random(4)
    started = 0
    for _ in range(25):
        with run_python(SAVE_ON_AND_ON, str(path)) as process:
            acknowledged = int(process.stdout.readline())
            time.sleep(generator.uniform(0.0, 0.03))
            process.send_signal(signal.SIGKILL)
            lines = process.stdout.read().split('\n')
        acknowledged = max([acknowledged, *map(int, lines[:-1])])
        assert acknowledged > started
        started = updates_in(path)
        assert started in (acknowledged, acknowledged + 1)
        if started > 1:
            updates_in(path.with_name(f'{path.name}.bak'))
