# SPDX-License-Identifier: Apache-2.0
"""What somebody else made of the file since our own save is seen, kept, and written over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from saved_states import document, names, saved, updates_in


def overwritten(path: Path) -> None:
    path.write_text('of somebody else')


def cut(path: Path) -> None:
    os.truncate(path, 40)


def one_digit(path: Path) -> None:
    """Change the content, not its length."""
    path.write_text(path.read_text().replace('updates: 2', 'updates: 7'))


def another_in_its_place(path: Path) -> None:
    other = path.with_name('other')
    saved(other, 5)
    other.rename(path)


def not_to_be_read(path: Path) -> None:
    other = path.with_name('other')
    other.symlink_to('/proc/self/mem')
    other.rename(path)


CHANGES = pytest.mark.parametrize(
    'change', [overwritten, cut, one_digit, another_in_its_place, not_to_be_read]
)


@CHANGES
@pytest.mark.parametrize('updates', [2, 3], ids=['nothing new', 'more learned'])
def test_changed_file_is_kept_and_written_over(path, change, updates):
    file = saved(path, 1, 2)
    change(path)
    content = path.read_bytes() if change is not not_to_be_read else None
    assert file.save(document(updates)) is True
    assert updates_in(path) == updates
    (kept,) = path.parent.glob(f'{path.name}.replaced-*')
    assert content is None or kept.read_bytes() == content
    assert file.notes == [
        f'the state file {path} was changed by somebody else; what was there is kept as {kept}'
    ]
    # It is not the file before ours.
    assert updates_in(file.backup) == 1
    assert file.save(document(updates)) is False


@pytest.mark.parametrize('updates', [2, 3], ids=['nothing new', 'more learned'])
def test_file_that_is_gone_is_written_again(path, updates):
    file = saved(path, 1, 2)
    path.unlink()
    assert file.save(document(updates)) is True
    assert updates_in(path) == updates
    assert file.notes == []


@pytest.mark.parametrize('make', [Path.mkdir, os.mkfifo, lambda path: path.symlink_to('nowhere')])
@pytest.mark.parametrize('updates', [2, 3], ids=['nothing new', 'more learned'])
def test_what_is_no_file_is_a_failure_and_stays(path, make, updates):
    file = saved(path, 1, 2)
    path.unlink()
    make(path)
    for _ in range(2):
        with pytest.raises(OSError, match='no regular file'):
            file.save(document(updates))
    assert names(path) == {path.name, f'{path.name}.bak'}
    assert not path.is_file()


def test_same_content_in_another_file_is_ours(path):
    """A copy that was put back, or a tool that touched the file."""
    file = saved(path, 1, 2)
    shutil.copy(path, path.with_name('copy'))
    path.with_name('copy').rename(path)
    os.utime(path, (1.0, 1.0))
    assert file.save(document(2)) is False
    assert file.save(document(3)) is True
    assert (updates_in(file.backup), file.notes) == (2, [])


def test_content_that_is_put_there_again_and_again_is_kept_once(path):
    file = saved(path, 1)
    for updates in range(2, 6):
        overwritten(path)
        file.save(document(updates))
    assert len(list(path.parent.glob('*.replaced-*'))) == len(file.notes) == 1
    assert updates_in(path) == 5
    path.write_text('something new')
    file.save(document(5))
    assert len(list(path.parent.glob('*.replaced-*'))) == 2


def test_bad_file_that_was_not_loaded_is_kept_by_the_next_save(path):
    file = saved(path, 1, 2)
    path.write_text('nonsense')
    with pytest.raises(ValueError, match='not a table'):
        updates_in(path)
    assert file.save(document(2)) is True
    (kept,) = path.parent.glob('*.replaced-*')
    assert kept.read_text() == 'nonsense'
