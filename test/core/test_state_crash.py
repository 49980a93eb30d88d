# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a save or to a file, what was learned is there at the next start."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from saved_states import NODE, document, learned, saved

from calib_node.core.calibrators import StateError, create
from calib_node.core.state.file import StateFile


def recovered(path: Path) -> tuple[int, list[str]]:
    """Start from a file; return the updates restored and the problems."""
    calibrator = create('ops')
    _, problems = StateFile(path, NODE).recover(calibrator)
    assert calibrator.state() == learned(calibrator.updates).state()
    return calibrator.updates, problems


def updates_in(path: Path) -> int:
    calibrator = create('ops')
    StateFile(path, NODE).load(calibrator)
    return calibrator.updates


@pytest.mark.parametrize('broken', range(4))
def test_save_that_breaks_off_at_any_step_leaves_the_old_file_or_the_new(path, monkeypatch, broken):
    file = saved(path, 1, 2)
    steps: list[str] = []

    def breaking(name, call):
        def step(*arguments):
            steps.append(name)
            if len(steps) == broken + 1:
                raise OSError('the disk is gone')
            return call(*arguments)

        return step

    with monkeypatch.context() as patch:
        for name in ('fsync', 'replace'):
            patch.setattr(os, name, breaking(name, getattr(os, name)))
        with pytest.raises(OSError, match='the disk is gone'):
            file.save(document(3))
    assert steps == ['fsync', 'replace', 'replace', 'fsync'][: broken + 1]
    assert updates_in(path) == (3 if broken == 3 else 2)
    assert updates_in(file.backup) in (1, 2)
    assert file.save(document(3)) is True
    assert recovered(path) == (3, [])


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
    calibrator.update(0.7 if number % 2 else 0.2, number % 3 // 2)
    file.save(make_document(calibrator, '/calib_node'))
    print(calibrator.updates, flush=True)
"""


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
        updates, problems = recovered(path)
        if problems:
            assert updates == (1 if with_backup else 0)
            (aside,) = path.parent.glob(f'{path.name}.corrupt-*')
            assert aside.read_bytes() == content[:length]
        else:
            assert updates == 2


def test_bad_file_is_kept_and_told(path):
    saved(path, 1, 2)
    path.write_text('nonsense')
    updates, (bad, kept, used) = recovered(path)
    assert updates == 1
    assert bad == f'the state file {path} is bad: it is not a table of fields'
    (aside,) = path.parent.glob('*.corrupt-*')
    assert kept == f'it is kept as {aside}'
    assert used == 'the .bak before it is used'
    assert aside.read_text() == 'nonsense'


def test_bad_bak_too_starts_anew(path):
    file = saved(path, 1, 2)
    for each in (path, file.backup):
        each.write_text('nonsense')
    updates, problems = recovered(path)
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
    updates, problems = recovered(path)
    assert updates == 0
    assert problems[-1] == 'there is no .bak, so learning starts anew'


def test_folder_in_place_of_the_file_stays(path):
    file = saved(path, 1, 2)
    path.unlink()
    path.mkdir()
    updates, problems = recovered(path)
    assert updates == 1
    assert problems[1] == 'it is no regular file and stays where it is'
    with pytest.raises(OSError, match='no regular file'):
        file.save(document(3))
    assert path.is_dir()
    assert updates_in(file.backup) == 1


def test_bad_file_that_cannot_be_set_aside_is_so_before_the_first_save(path, monkeypatch):
    """Neither it nor the sound .bak beside it is lost to a save."""

    def refuse(*_):
        raise PermissionError(errno.EACCES, 'Permission denied')

    saved(path, 1, 2)
    path.write_text('nonsense')
    file = StateFile(path, NODE)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'rename', refuse)
        _, problems = file.recover(create('ops'))
        assert problems[1] == 'it cannot be set aside: Permission denied'
        for _ in range(2):
            with pytest.raises(PermissionError):
                file.save(document(3))
        assert path.read_text() == 'nonsense'
    file.save(document(3))
    (aside,) = path.parent.glob(f'{path.name}.corrupt-*')
    assert aside.read_text() == 'nonsense'
    assert (updates_in(path), updates_in(file.backup)) == (3, 1)


def test_bad_file_that_was_to_be_loaded_is_set_aside_by_the_next_save(path):
    file = saved(path, 1, 2)
    path.write_text('nonsense')
    with pytest.raises(StateError):
        file.load(create('ops'))
    assert file.save(document(2)) is True
    (aside,) = path.parent.glob(f'{path.name}.corrupt-*')
    assert aside.read_text() == 'nonsense'
    assert (updates_in(path), updates_in(file.backup)) == (2, 1)


def test_nothing_bad_is_ever_lost_where_the_clock_shows_one_time_again_and_again(path, monkeypatch):
    """A robot without a clock of its own starts at the same time whenever it is switched on."""
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc)
    monkeypatch.setattr('calib_node.core.state.file._now', lambda: moment)
    contents = [f'nonsense {number}' for number in range(4)]
    saved(path, 1)
    for content in contents:
        path.write_text(content)
        file = StateFile(path, NODE)
        file.recover(create('ops'))
        file.save(document(1))
        file.set_aside_for_reset()
        file.save(document(2))
    for why, count in (('corrupt', 4), ('before-reset', 4)):
        assert len(list(path.parent.glob(f'{path.name}.{why}-*Z*'))) == count
    kept = path.parent.glob(f'{path.name}.corrupt-*')
    assert sorted(file.read_text() for file in kept) == contents


def test_no_file_is_no_problem(path):
    assert recovered(path) == (0, [])


def test_power_cut_between_a_recovery_and_the_next_save_costs_nothing(path):
    saved(path, 1, 2)
    path.write_text('nonsense')
    assert recovered(path)[0] == 1
    assert recovered(path)[0] == 1


def test_save_after_a_recovery_writes_even_what_the_bak_holds(path):
    saved(path, 1, 2)
    path.write_text('nonsense')
    file = StateFile(path, NODE)
    file.recover(create('ops'))
    file.save(document(1))
    assert recovered(path) == (1, [])


def test_left_over_temporary_files_do_no_harm(path):
    file = saved(path, 1)
    for suffix in ('tmp', 'bak.tmp'):
        path.with_name(f'{path.name}.{suffix}').write_text('half a')
    file.save(document(2))
    assert recovered(path) == (2, [])
    assert updates_in(file.backup) == 1
    assert sorted(os.listdir(path.parent)) == [path.name, f'{path.name}.bak']
