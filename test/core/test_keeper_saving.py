# SPDX-License-Identifier: Apache-2.0
"""The keeper saves from any thread, tells at once what went wrong, and ends once."""

from __future__ import annotations

import errno
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import pytest
from saved_states import NODE, learn, refuse, updates_in

from calib_node.core.state.file import StateFile, StateFileInUse
from calib_node.core.state.keeper import NotSaved, StateKeeper
from calib_node.core.state.turns import ShortTurns

DEADLINE = 30.0


class Told(Queue):
    """Sentences in the order in which they were told, with the threads that told them."""

    def __call__(self, sentence: str) -> None:
        self.put((sentence, threading.current_thread()))

    def next(self) -> str:
        return self.get(timeout=DEADLINE)[0]


def finish(keeper: StateKeeper) -> None:
    """Wait for the autosave that is under way."""
    keeper._writing.result(DEADLINE)


# Failures


@pytest.mark.parametrize('background', [False, True])
def test_failed_save_is_told_at_once_each_time_and_so_is_the_success(
    keep, path, monkeypatch, background
):
    problems, notes = Told(), Told()
    keeper, _ = keep(2, on_problem=problems, on_note=notes)
    sentence = f'the state cannot be saved to {path}: the disk is gone'

    def save() -> None:
        if background:
            keeper.save_in_background()
        else:
            keeper.save()

    with monkeypatch.context() as patch:
        patch.setattr(os, 'replace', refuse)
        for failures in (1, 2):
            if background:
                save()
            else:
                with pytest.raises(NotSaved, match='the disk is gone'):
                    save()
            told, thread = problems.get(timeout=DEADLINE)
            assert told == keeper.problem == sentence
            assert keeper.failures == failures
            assert (thread is threading.current_thread()) is not background
            if background:
                finish(keeper)
    save()
    assert notes.next() == f'the state is saved to {path} again, after 2 saves failed'
    assert (keeper.problem, keeper.failures) == ('', 2)
    keeper.stop()
    assert problems.empty()
    assert notes.empty()
    assert updates_in(path) == 2


@pytest.mark.parametrize(
    ('error', 'remedy'),
    [
        (errno.ENOSPC, 'make room on its disk'),
        (errno.EACCES, 'let the node write into its folder, or set state.file'),
        (errno.EROFS, 'set state.file to a place that can be written'),
    ],
)
def test_failure_names_file_reason_and_remedy(keep, path, monkeypatch, error, remedy):
    def fail(*_):
        raise OSError(error, os.strerror(error), '/the/file')

    keeper, _ = keep(2)
    monkeypatch.setattr(os, 'replace', fail)
    with pytest.raises(NotSaved) as failure:
        keeper.save()
    assert str(failure.value) == (
        f'the state cannot be saved to {path}: {os.strerror(error)} (/the/file); {remedy}'
    )


def test_whatever_stops_a_save_is_told_and_stops_nothing_else(keep, path, monkeypatch):
    def no_room(_):
        raise MemoryError('no room')

    problems = Told()
    keeper, _ = keep(2, on_problem=problems)
    with monkeypatch.context() as patch:
        patch.setattr(keeper.file, 'save', no_room)
        keeper.save_in_background()
        assert problems.next() == f'the state cannot be saved to {path}: no room'
        with pytest.raises(NotSaved, match='no room'):
            keeper.save()
    assert keeper.save() is True
    assert updates_in(path) == 2


def test_problem_is_over_when_the_file_holds_what_is_known(keep, monkeypatch):
    keeper, calibrator = keep(2)
    keeper.save()
    learn(calibrator)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'replace', refuse)
        with pytest.raises(NotSaved):
            keeper.save()
    keeper.load()
    assert keeper.save() is False
    assert keeper.problem == ''


def test_file_that_somebody_changed_is_told_and_is_no_failure(keep, path):
    problems, notes = Told(), Told()
    keeper, _ = keep(2, on_problem=problems, on_note=notes)
    keeper.start()
    keeper.save()
    path.write_text('of somebody else')
    assert keeper.save() is True
    (kept,) = path.parent.glob('*.replaced-*')
    assert notes.next().endswith(f'what was there is kept as {kept}')
    assert (problems.empty(), keeper.problem) == (True, '')


def test_folder_in_place_of_the_file_is_told_though_nothing_has_changed(keep, path):
    problems = Told()
    keeper, _ = keep(2, on_problem=problems)
    keeper.save()
    path.unlink()
    path.mkdir()
    keeper.save_in_background()
    assert problems.next() == (
        f'the state cannot be saved to {path}: this is no regular file ({path}); move it away'
    )


# Threads


def test_background_save_does_not_wait_and_saves_what_was_learned_by_then(keep, path, monkeypatch):
    keeper, calibrator = keep(2)
    disk = threading.Event()
    fsync = os.fsync
    monkeypatch.setattr(os, 'fsync', lambda file: (disk.wait(DEADLINE), fsync(file)))
    keeper.save_in_background()
    learn(calibrator)
    # Skipped, as one is under way.
    keeper.save_in_background()
    assert not path.exists()
    disk.set()
    finish(keeper)
    assert updates_in(path) == 2
    keeper.save()
    assert updates_in(path) == 3


def test_older_state_never_replaces_a_newer_one(keep, path, monkeypatch):
    """An autosave that gets its turn only after a save that was asked for later."""
    keeper, calibrator = keep(2)
    turn = threading.Event()
    write = keeper._try_to_write
    monkeypatch.setattr(keeper, '_try_to_write', lambda *made: (turn.wait(DEADLINE), write(*made)))
    keeper.save_in_background()
    learn(calibrator)
    assert keeper.save() is True
    turn.set()
    keeper.stop()
    assert updates_in(path) == 3


@pytest.mark.parametrize('action', ['reset', 'load'])
def test_state_from_before_a_reset_or_a_load_does_not_come_back(keep, path, monkeypatch, action):
    keeper, calibrator = keep(2)
    keeper.save()
    turn = threading.Event()
    write = keeper._try_to_write
    monkeypatch.setattr(keeper, '_try_to_write', lambda *made: (turn.wait(DEADLINE), write(*made)))
    learn(calibrator)
    keeper.save_in_background()
    if action == 'reset':
        keeper.reset(calibrator.reset)
    else:
        keeper.load()
    turn.set()
    finish(keeper)
    assert updates_in(path) == (0 if action == 'reset' else 2)


def test_many_threads_save_at_once(keep, path):
    problems, notes = Told(), Told()
    keeper, calibrator = keep(0, on_problem=problems, on_note=notes)
    keeper.start()
    learning = threading.Lock()
    rounds = 40

    def one(_: int) -> None:
        with learning:
            learn(calibrator)
            keeper.save_in_background()
        keeper.save()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, range(rounds)))
    assert updates_in(path) == rounds
    assert (problems.empty(), notes.empty(), keeper.failures) == (True, True, 0)
    assert len(list(path.parent.iterdir())) == 3


def test_background_save_takes_short_turns_beside_the_thread_that_learns(keep, monkeypatch):
    keeper, _ = keep(2)
    usual = sys.getswitchinterval()
    turns = []
    monkeypatch.setattr(os, 'fsync', lambda _: turns.append(sys.getswitchinterval()))
    keeper.save_in_background()
    finish(keeper)
    assert turns
    assert max(turns) <= 0.001 < usual
    assert sys.getswitchinterval() == usual


def test_turns_are_as_long_as_before_once_all_that_save_at_a_time_are_done():
    usual = sys.getswitchinterval()
    turns = ShortTurns()
    with turns:
        with turns:
            assert sys.getswitchinterval() <= 0.001
        assert sys.getswitchinterval() <= 0.001
        first, second = threading.Event(), threading.Event()

        def save_longer() -> None:
            with turns:
                first.set()
                second.wait()

        thread = threading.Thread(target=save_longer)
        thread.start()
        first.wait()
    assert sys.getswitchinterval() <= 0.001
    second.set()
    thread.join()
    assert sys.getswitchinterval() == usual


# Stop


def test_stop_saves_once_and_lets_go_of_the_file(keep, path):
    first, calibrator = keep()
    first.start()
    second, other = keep()
    with pytest.raises(StateFileInUse):
        second.start()
    learn(calibrator)
    assert first.stop() == f'saved to {path}'
    # It is not the first one's any more.
    learn(calibrator)
    assert first.stop() == ''
    first.save_in_background()
    with pytest.raises(NotSaved, match='no more'):
        first.save()
    assert updates_in(path) == 1
    second.start()
    assert other.updates == 1


def test_stop_from_many_threads_saves_once(keep, path):
    keeper, calibrator = keep()
    keeper.start()
    learn(calibrator)
    keeper.save_in_background()
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda _: keeper.stop(), range(8)))
    assert sorted(said) == [''] * 7 + [f'saved to {path}']
    assert updates_in(path) == 1


def test_stop_of_what_never_started_writes_nothing(keep, path):
    """The file is that of the node that kept it from starting."""
    first, _ = keep()
    first.start()
    second, _ = keep(2)
    with pytest.raises(StateFileInUse):
        second.start()
    assert second.stop() == ''
    assert not path.exists()


def test_stop_that_cannot_save_tells_and_lets_go(keep, path, monkeypatch):
    problems = Told()
    keeper, _ = keep(on_problem=problems)
    keeper.start()
    with monkeypatch.context() as patch:
        patch.setattr(os, 'replace', refuse)
        assert keeper.stop() == ''
    assert 'the disk is gone' in problems.next()
    assert StateFile(path, NODE).lock() == ''
