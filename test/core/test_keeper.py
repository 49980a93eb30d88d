# SPDX-License-Identifier: Apache-2.0
"""The keeper: restores at the start, saves from time to time, tells what went wrong."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
from saved_states import NODE, learned, saved

from calib_node.core.calibrators import OnlinePlattScaling, StateError
from calib_node.core.state.file import StateFile, StateFileInUse
from calib_node.core.state.keeper import StateKeeper


@pytest.fixture
def keep(path):
    """Make keepers and close them after the test."""
    keepers = []

    def make(updates: int = 0, node: str = NODE) -> tuple[StateKeeper, OnlinePlattScaling]:
        calibrator = learned(updates)
        keepers.append(StateKeeper(calibrator, StateFile(path, node)))
        return keepers[-1], calibrator

    yield make
    for keeper in keepers:
        keeper.close()


def updates_in(path: Path) -> int:
    calibrator = OnlinePlattScaling()
    StateFile(path, NODE).load(calibrator)
    return calibrator.updates


def refuse(*_):
    raise OSError('the disk is gone')


def test_start_without_a_file(keep, path):
    keeper, _ = keep()
    assert keeper.start() == f'nothing learned yet; the state will be saved to {path}'
    assert (keeper.problem, keeper.notes) == ('', [])


def test_start_goes_on_from_the_file(keep, path):
    saved(path, 3)
    keeper, calibrator = keep()
    assert keeper.start() == f'going on from 3 updates saved in {path}'
    assert calibrator.state() == learned(3).state()
    assert (keeper.problem, keeper.notes) == ('', [])


def test_start_tells_of_a_bad_file_until_the_next_save(keep, path):
    saved(path, 1, 2)
    path.write_text('nonsense')
    keeper, _ = keep()
    assert keeper.start() == f'going on from 1 updates saved in {path}'
    assert 'is bad' in keeper.problem
    assert keeper.save() is True
    assert keeper.problem == ''


def test_start_notes_a_file_of_another_node(keep, path):
    saved(path, 3)
    keeper, calibrator = keep(node='/other')
    keeper.start()
    assert keeper.notes == ["the state file was saved by another node, '/calib_node'"]
    assert calibrator.updates == 3


def test_start_is_refused_while_another_uses_the_file(keep):
    first, _ = keep()
    first.start()
    second, calibrator = keep(2)
    with pytest.raises(StateFileInUse):
        second.start()
    assert calibrator.updates == 2
    first.close()
    second.start()


def test_failed_save_is_told_until_the_next_that_succeeds(keep, path, monkeypatch):
    keeper, calibrator = keep(2)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'replace', refuse)
        with pytest.raises(OSError, match='the disk is gone'):
            keeper.save()
        calibrator.update(0.5, 1)
        keeper.save_in_background()
        keeper._wait()
    assert keeper.problem == f'the state cannot be saved to {path}: the disk is gone'
    assert keeper.failures == 2
    assert keeper.save() is True
    assert (keeper.problem, keeper.failures) == ('', 2)


def test_whatever_stops_a_save_is_told_and_stops_nothing_else(keep, path, monkeypatch):
    keeper, calibrator = keep(2)

    def no_room(_):
        raise MemoryError('no room')

    with monkeypatch.context() as patch:
        patch.setattr(keeper.file, 'save', no_room)
        for failures in (1, 2):
            keeper.save_in_background()
            keeper._wait()
            assert keeper.problem == f'the state cannot be saved to {path}: no room'
            assert keeper.failures == failures
        with pytest.raises(OSError, match='no room'):
            keeper.save()
    assert keeper.save() is True
    assert keeper.problem == ''
    assert updates_in(path) == calibrator.updates


def test_problem_is_over_when_the_file_holds_what_is_known(keep, path, monkeypatch):
    keeper, calibrator = keep(2)
    keeper.save()
    calibrator.update(0.5, 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'replace', refuse)
        with pytest.raises(OSError, match='the disk is gone'):
            keeper.save()
    keeper.load()
    assert keeper.save() is False
    assert keeper.problem == ''


def test_background_save_does_not_wait_and_saves_what_was_learned_by_then(keep, path, monkeypatch):
    keeper, calibrator = keep(2)
    disk = threading.Event()
    fsync = os.fsync
    monkeypatch.setattr(os, 'fsync', lambda file: (disk.wait(10), fsync(file)))
    keeper.save_in_background()
    calibrator.update(0.5, 1)
    keeper.save_in_background()
    assert not path.exists()
    disk.set()
    keeper._wait()
    assert updates_in(path) == 2
    keeper.save()
    assert updates_in(path) == 3


def test_close_waits_for_the_disk(keep, path):
    keeper, _ = keep(2)
    keeper.save_in_background()
    keeper.close()
    assert updates_in(path) == 2


def test_load_goes_back_to_the_file_or_changes_nothing(keep, path):
    keeper, calibrator = keep(2)
    keeper.save()
    calibrator.update(0.5, 1)
    keeper.load()
    assert calibrator.state() == learned(2).state()
    path.write_text('nonsense')
    with pytest.raises(StateError):
        keeper.load()
    assert calibrator.state() == learned(2).state()


def test_load_keeps_what_was_learned_since_the_last_save(keep, path):
    keeper, calibrator = keep(2)
    keeper.save()
    calibrator.update(0.5, 1)
    lost = calibrator.state()
    sentence = keeper.load()
    (before,) = path.parent.glob('*.before-load-*')
    loaded = f'loaded 2 updates from {path}'
    assert sentence == f'{loaded}; what was learned before is kept as {before}'
    again = OnlinePlattScaling()
    StateFile(before, NODE).load(again)
    assert again.state() == lost
    # Nothing is lost now, so nothing more is kept; nor by a start that has learned nothing.
    assert keeper.load() == loaded
    calibrator.reset()
    assert keeper.load() == loaded
    assert list(path.parent.glob('*.before-load-*')) == [before]


def test_load_that_cannot_keep_what_was_learned_loads_nothing(keep, path, monkeypatch):
    keeper, calibrator = keep(2)
    keeper.save()
    calibrator.update(0.5, 1)
    lost = calibrator.state()
    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', refuse)
        with pytest.raises(OSError, match='nothing is loaded, as what was learned cannot be kept'):
            keeper.load()
    assert calibrator.state() == lost
    assert not list(path.parent.glob('*.before-load-*'))
    assert keeper.save() is True
    assert updates_in(path) == 3


def test_reset_moves_the_file_away_and_saves_the_start(keep, path):
    keeper, calibrator = keep(2)
    keeper.save()
    calibrator.update(0.5, 1)
    sentence = keeper.reset(calibrator.reset)
    before, its_bak = sorted(path.parent.glob('*.before-reset-*'))
    assert sentence == f'learning starts anew; the state before it is {before}'
    # With what was learned since the last save; and no .bak is left to bring it back.
    assert (updates_in(before), updates_in(its_bak), updates_in(path)) == (3, 2, 0)
    assert not keeper.file.backup.exists()


def test_reset_that_cannot_move_the_file_forgets_nothing(keep, monkeypatch):
    keeper, calibrator = keep(2)
    keeper.save()
    monkeypatch.setattr(os, 'rename', refuse)
    with pytest.raises(OSError, match='the disk is gone'):
        keeper.reset(calibrator.reset)
    assert calibrator.updates == 2


def test_reset_says_where_all_is_when_the_new_start_cannot_be_saved(keep, path, monkeypatch):
    keeper, calibrator = keep(2)
    keeper.save()

    def forget():
        calibrator.reset()
        monkeypatch.setattr(os, 'fsync', refuse)

    with pytest.raises(OSError, match='but the state cannot be saved') as failure:
        keeper.reset(forget)
    (before,) = path.parent.glob('*.before-reset-*')
    assert str(before) in str(failure.value)
    assert updates_in(before) == 2


def test_name_of_another_node_may_be_anything(keep, path):
    """Six lines of aliases that would be a million items if they were ever written out."""
    lines = ['l0: &l0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]']
    lines += [f'l{i}: &l{i} [{", ".join([f"*l{i - 1}"] * 10)}]' for i in range(1, 6)]
    saved(path, 3)
    path.write_text('\n'.join([*lines, path.read_text().replace('/calib_node', '*l5')]))
    keeper, calibrator = keep()
    keeper.start()
    assert calibrator.updates == 3
    (note,) = keeper.notes
    assert len(note) < 500


def test_background_save_takes_short_turns_beside_the_thread_that_learns(keep, monkeypatch):
    keeper, _ = keep(2)
    usual = sys.getswitchinterval()
    turns = []
    monkeypatch.setattr(os, 'fsync', lambda _: turns.append(sys.getswitchinterval()))
    keeper.save_in_background()
    keeper.close()
    assert turns
    assert max(turns) <= 0.001 < usual
    assert sys.getswitchinterval() == usual
