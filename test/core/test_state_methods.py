# SPDX-License-Identifier: Apache-2.0
"""The state of another method waits under that method's name until the method is back."""

from __future__ import annotations

import errno
import os

import pytest
from saved_states import NODE, document, learned, made, names, saved, started, updates_in

from calib_node.core.calibrators import StateError
from calib_node.core.state.document import from_yaml, to_yaml
from calib_node.core.state.file import StateFile

KINDS = [('beta', 1), ('ops', 3), ('beta', 3)]


def suffix(method: str, classes: int) -> str:
    return f'method-{method}' + (f'-classes-{classes}' if classes > 1 else '')


@pytest.mark.parametrize(('method', 'classes'), KINDS)
def test_to_another_method_and_back_bit_for_bit(path, method, classes):
    file = saved(path, 1, 2)
    before = path.read_bytes(), file.backup.read_bytes()
    assert started(path, method, classes) == (0, [])
    waiting = f'{path.name}.method-ops'
    assert names(path) == {waiting, f'{waiting}.bak'}
    saved(path, 3, 4, method=method, classes=classes)
    other = path.read_bytes(), file.backup.read_bytes()
    assert started(path) == (2, [])
    assert (path.read_bytes(), file.backup.read_bytes()) == before
    waiting = f'{path.name}.{suffix(method, classes)}'
    assert names(path) == {path.name, f'{path.name}.bak', waiting, f'{waiting}.bak'}
    assert started(path, method, classes) == (4, [])
    assert (path.read_bytes(), file.backup.read_bytes()) == other


def test_note_says_what_is_kept_and_where(path):
    saved(path, 2, method='ops', classes=3)
    file = StateFile(path, NODE)
    assert file.recover(made('beta')) == (None, [])
    assert file.notes == [
        f"what method 'ops' of 3 classes has learned is kept as {path}.method-ops-classes-3 "
        'until the node is started with it again'
    ]


def test_state_that_was_taken_back_is_not_written_again(path):
    saved(path, 2)
    saved(path, 3, method='beta')
    before = path.with_name(f'{path.name}.method-ops').stat()
    file = saved(path)
    assert file.save(document(2)) is False
    assert path.stat().st_ino == before.st_ino


def test_method_that_this_release_does_not_know_waits_too(path):
    saved(path, 1)
    table = from_yaml(path.read_text())
    text = to_yaml({**table, 'method': 'of_the_future', 'anything': [1.0]})
    path.write_text(text)
    assert started(path) == (0, [])
    kept = path.with_name(f'{path.name}.method-of_the_future')
    assert kept.read_text() == text


@pytest.mark.parametrize(
    'changed',
    [
        {'method': '../../etc'},
        {'method': 'x' * 65},
        {'method': 'Ops'},
        {'method': 7},
        {'method': None},
        {'classes': 0},
        {'classes': True},
        {'classes': '3'},
        {'format': 'other', 'method': 'beta'},
        {'version': 2, 'method': 'beta'},
        # Torn in the middle of the name.
        {'method': 'op', 'saved_at': None},
    ],
)
def test_what_is_no_state_of_any_method_is_bad(path, changed):
    saved(path, 1)
    path.write_text(to_yaml({**from_yaml(path.read_text()), **changed}))
    updates, problems = started(path)
    assert updates == 0
    assert problems[0].startswith(f'the state file {path} is bad: ')
    assert len(list(path.parent.glob('*.corrupt-*'))) == len(names(path)) == 1


def test_bad_file_that_waited_is_told_and_its_bak_is_used(path):
    saved(path, 1, 2)
    saved(path, 3, method='beta')
    waiting = path.with_name(f'{path.name}.method-ops')
    waiting.write_text('nonsense')
    updates, problems = started(path)
    (aside,) = path.parent.glob('*.corrupt-*')
    assert (updates, problems) == (
        1,
        [
            f'the state file {waiting} is bad: it is not a table of fields',
            f'it is kept as {aside}',
            'the .bak before it is used',
        ],
    )


def test_bak_of_this_method_below_the_file_of_another_is_used_and_told(path):
    """Somebody has put it there."""
    saved(path, 1, 2)
    other = saved(path.with_name('other'), 3, method='beta').path
    other.rename(path)
    only = "of method 'ops' only {} is left, and it is used"
    assert started(path) == (1, [only.format(f'{path}.bak')])
    assert started(path, 'beta') == (3, [])
    assert started(path) == (1, [only.format(f'{path}.method-ops.bak')])


def test_older_file_of_that_name_is_kept(path):
    saved(path, 1)
    path.rename(path.with_name(f'{path.name}.method-ops'))
    saved(path, method='beta')
    saved(path, 2).path.with_name(f'{path.name}.method-ops').write_text('older')
    assert started(path, 'beta') == (0, [])
    (older,) = path.parent.glob(f'{path.name}.method-ops.older-*')
    assert older.read_text() == 'older'
    assert started(path) == (2, [])


def test_folder_that_cannot_be_written_loses_neither_once_it_can(path, monkeypatch):
    def denied(*_):
        raise PermissionError(errno.EACCES, 'Permission denied')

    saved(path, 3, 4, method='beta')
    saved(path, 1, 2)
    file, calibrator = StateFile(path, NODE), made('beta')
    with monkeypatch.context() as patch:
        patch.setattr(os, 'rename', denied)
        _, problems = file.recover(calibrator)
        assert calibrator.state() == learned(4, 'beta').state()
        assert problems[0] == (
            f"what method 'ops' has learned is in {path}, and it cannot be set aside: "
            'Permission denied'
        )
        with pytest.raises(PermissionError):
            file.save(document(5, 'beta'))
    assert file.save(document(5, 'beta')) is True
    assert (updates_in(path, 'beta'), updates_in(file.backup, 'beta')) == (5, 4)
    assert started(path) == (2, [])
    assert updates_in(file.backup) == 1
    assert started(path, 'beta') == (5, [])


def test_load_of_another_method_moves_and_changes_nothing(path):
    saved(path, 2, method='beta')
    before = names(path)
    calibrator = learned(1)
    with pytest.raises(StateError, match="saved by method 'beta', not by 'ops'"):
        StateFile(path, NODE).load(calibrator)
    assert calibrator.state() == learned(1).state()
    assert names(path) == before
