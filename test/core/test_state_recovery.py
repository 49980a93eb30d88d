# SPDX-License-Identifier: Apache-2.0
"""A start on a bad file: it is kept and told, and the one before it is used."""

from __future__ import annotations

import errno
import os
from datetime import datetime, timezone

import pytest
from saved_states import NODE, document, made, saved, started, updates_in

from calib_node.core.state.file import StateFile


def test_no_file_is_no_problem(path):
    assert started(path) == (0, [])


def test_bad_file_is_kept_and_told(path):
    saved(path, 1, 2)
    path.write_text('nonsense')
    updates, (bad, kept, used) = started(path)
    assert updates == 1
    assert bad == f'the state file {path} is bad: it is not a table of fields'
    (aside,) = path.parent.glob('*.corrupt-*')
    assert kept == f'it is kept as {aside}'
    assert used == 'the .bak before it is used'
    assert aside.read_text() == 'nonsense'
    # Until the next save the file is gone.
    assert started(path) == (1, [f'the state file {path} is gone', used])


def test_bad_bak_too_starts_anew(path):
    file = saved(path, 1, 2)
    for each in (path, file.backup):
        each.write_text('nonsense')
    updates, problems = started(path)
    assert updates == 0
    (aside,) = path.parent.glob(f'{path.name}.bak.corrupt-*')
    assert problems[2:] == [
        'its .bak is bad too: it is not a table of fields',
        f'it is kept as {aside}',
        'learning starts anew',
    ]


def test_bad_file_without_bak_starts_anew(path):
    saved(path, 2)
    path.write_text('nonsense')
    updates, problems = started(path)
    assert updates == 0
    assert problems[-1] == 'there is no .bak, so learning starts anew'


def test_save_after_a_recovery_writes_even_what_the_bak_holds(path):
    saved(path, 1, 2)
    path.write_text('nonsense')
    saved(path, 1)
    assert started(path) == (1, [])


def test_folder_in_place_of_the_file_stays(path):
    saved(path, 1, 2)
    path.unlink()
    path.mkdir()
    file, calibrator = StateFile(path, NODE), made()
    _, problems = file.recover(calibrator)
    assert (calibrator.updates, problems[1]) == (1, 'it is no regular file and stays where it is')
    with pytest.raises(OSError, match='no regular file'):
        file.save(document(3))
    assert path.is_dir()
    assert updates_in(file.backup) == 1


@pytest.mark.parametrize('bad', ['file', 'bak'])
def test_what_cannot_be_set_aside_is_so_before_the_first_save(path, monkeypatch, bad):
    """Neither it nor the sound one beside it is lost to a save."""

    def refuse(*_):
        raise PermissionError(errno.EACCES, 'Permission denied')

    backup = saved(path, 1, 2).backup
    if bad == 'bak':
        backup.write_text('nonsense too')
    path.write_text('nonsense')
    file = StateFile(path, NODE)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'rename', refuse)
        _, problems = file.recover(made())
        assert problems[1] == 'it cannot be set aside: Permission denied'
        for _ in range(2):
            with pytest.raises(PermissionError):
                file.save(document(3))
        assert path.read_text() == 'nonsense'
    file.save(document(3))
    kept = [aside.read_text() for aside in sorted(path.parent.glob('*.corrupt-*'))]
    assert kept == (['nonsense too', 'nonsense'] if bad == 'bak' else ['nonsense'])
    assert updates_in(path) == 3
    assert file.backup.exists() == (bad != 'bak')


def test_nothing_bad_is_ever_lost_where_the_clock_shows_one_time_again_and_again(path, monkeypatch):
    """A robot without a clock of its own starts at the same time whenever it is switched on."""
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc)
    monkeypatch.setattr('calib_node.core.state.beside.now', lambda: moment)
    contents = [f'nonsense {number}' for number in range(4)]
    saved(path, 1)
    for content in contents:
        path.write_text(content)
        file = saved(path, 1)
        file.set_aside_for_reset()
        file.save(document(2))
    for why, count in (('corrupt', 4), ('before-reset', 4)):
        assert len(list(path.parent.glob(f'{path.name}.{why}-*Z*'))) == count
    kept = path.parent.glob(f'{path.name}.corrupt-*')
    assert sorted(file.read_text() for file in kept) == contents
