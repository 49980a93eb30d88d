# SPDX-License-Identifier: Apache-2.0
"""Where the state file is, who may use it, and a place that cannot be written."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest
from disks import mount_small_disk
from saved_states import NODE, document

from calib_node.core.calibrators import create
from calib_node.core.state.file import StateFile, StateFileInUse
from calib_node.core.state.path import resolve_path

HOLD_LOCK = """
import sys
from pathlib import Path
from calib_node.core.state.file import StateFile
print(repr(StateFile(Path(sys.argv[1]), '/other').lock()), flush=True)
sys.stdin.read()
"""


def test_lock_keeps_a_second_process_out_until_the_first_has_died(path, run_python):
    with run_python(HOLD_LOCK, str(path), stdin=subprocess.PIPE) as other:
        assert other.stdout.readline() == "''\n"
        file = StateFile(path, NODE)
        with pytest.raises(StateFileInUse, match='in use by another node'):
            file.lock()
        other.kill()
        other.wait()
    assert file.lock() == ''
    second = StateFile(path, NODE)
    with pytest.raises(StateFileInUse):
        second.lock()
    file.save(document(1))
    file.save(document(2))
    with pytest.raises(StateFileInUse):
        second.lock()
    file.unlock()
    assert second.lock() == ''
    second.unlock()


@pytest.mark.parametrize(
    ('setting', 'node', 'environment', 'expected'),
    [
        ('', '/calib_node', {'ROS_HOME': '/r'}, '/r/calib_node/calib_node.yaml'),
        ('', '/a/b/calib_node', {'ROS_HOME': '/r'}, '/r/calib_node/a/b/calib_node.yaml'),
        ('', '//n', {'ROS_HOME': '/r'}, '/r/calib_node/n.yaml'),
        ('', '/n', {'HOME': '/h'}, '/h/.ros/calib_node/n.yaml'),
        ('', '/n', {'HOME': '/h', 'ROS_HOME': ''}, '/h/.ros/calib_node/n.yaml'),
        ('', '/n', {'HOME': '/h', 'ROS_HOME': '~/ros'}, '/h/ros/calib_node/n.yaml'),
        ('x/y.yaml', '/n', {'ROS_HOME': '/r'}, '/r/calib_node/x/y.yaml'),
        ('/x/y.yaml', '/n', {}, '/x/y.yaml'),
        ('~/y.yaml', '/n', {'HOME': '/h', 'ROS_HOME': '/r'}, '/h/y.yaml'),
        ('~root/y.yaml', '/n', {}, os.path.expanduser('~root/y.yaml')),
        ('./~/y.yaml', '/n', {'ROS_HOME': '/r'}, '/r/calib_node/~/y.yaml'),
        ('$D/y.yaml', '/n', {'D': '/d'}, '/d/y.yaml'),
        ('${D}/y.yaml', '/n', {'D': 'd', 'ROS_HOME': '/r'}, '/r/calib_node/d/y.yaml'),
        ('/a$$b.yaml', '/n', {}, '/a$b.yaml'),
    ],
)
def test_path(setting, node, environment, expected):
    assert resolve_path(setting, node, environment) == Path(expected)


NO_HOME = "the default of ROS_HOME is '~/.ros', but HOME is not set"


@pytest.mark.parametrize(
    ('setting', 'environment', 'reason'),
    [
        ('', {}, NO_HOME),
        ('x.yaml', {}, NO_HOME),
        ('', {'HOME': ''}, NO_HOME),
        ('', {'ROS_HOME': '~/r'}, "ROS_HOME is '~/r', but HOME is not set"),
        ('', {'ROS_HOME': '~no_one'}, "ROS_HOME is '~no_one', but there is no user no_one"),
        ('', {'ROS_HOME': '$R'}, "ROS_HOME is '$R', but the environment variable R is not set"),
        ('~/x', {'ROS_HOME': '/r'}, "state.file is '~/x', but HOME is not set"),
        ('$V/x', {}, "state.file is '$V/x', but the environment variable V is not set"),
        ('~no_one/x', {}, "state.file is '~no_one/x', but there is no user no_one"),
        ('/x$', {}, "state.file is '/x$', but a $ in it is followed by no name ($$ stands for"),
    ],
)
def test_path_that_names_no_place_is_refused(setting, environment, reason):
    with pytest.raises(ValueError) as refusal:
        resolve_path(setting, '/n', environment)
    sentence = str(refusal.value)
    assert sentence.startswith(reason)
    remedy = 'state.file' if reason.startswith('state.file') else 'ROS_HOME or state.file'
    assert sentence.endswith(f'; set {remedy} to an absolute path')


def test_path_follows_a_link_so_that_saving_does_not_replace_it(tmp_path):
    (tmp_path / 'link.yaml').symlink_to(tmp_path / 'real.yaml')
    path = resolve_path(str(tmp_path / 'link.yaml'), NODE, {})
    assert path == (tmp_path / 'real.yaml').resolve()


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from calib_node.core.calibrators import create
from calib_node.core.state.document import make_document
from calib_node.core.state.file import StateFile
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
file, calibrator = StateFile(Path(sys.argv[1]), '/n'), create('ops')
print(file.lock())
print(file.recover(calibrator)[1])
try:
    file.save(make_document(calibrator, '/n'))
except OSError as error:
    print(type(error).__name__)
else:
    print('saved')
"""


@pytest.fixture
def as_nobody(folder_for_all, run_python):
    """Start from a file of that folder and save to it, as a user who owns neither."""

    def run(path: Path) -> list[str]:
        with run_python(UNPRIVILEGED, str(path)) as process:
            output, errors = process.communicate(timeout=30)
        assert not errors
        return output.splitlines()

    return run


@pytest.mark.parametrize('content', [None, 'nonsense'])
def test_read_only_folder(folder_for_all, as_nobody, content):
    path = folder_for_all / 'state.yaml'
    if content:
        path.write_text(content)
        path.chmod(0o644)
    folder_for_all.chmod(0o555)
    lock, problems, error = as_nobody(path)
    assert 'cannot be created' in lock
    assert error == 'PermissionError'
    if content:
        assert 'it cannot be set aside' in problems
        assert 'learning starts anew' in problems
        assert path.read_text() == content
    else:
        assert problems == '[]'


@pytest.mark.parametrize('mode', [0o600, 0o644], ids=['unreadable', 'readable'])
def test_folder_that_nobody_may_enter(folder_for_all, as_nobody, mode):
    path = folder_for_all / 'state.yaml'
    path.write_text('nonsense')
    path.chmod(mode)
    folder_for_all.chmod(0o600)
    lock, problems, error = as_nobody(path)
    assert 'cannot be created' in lock
    assert 'it cannot be read: Permission denied' in problems
    assert error == 'PermissionError'
    folder_for_all.chmod(0o755)
    assert path.read_text() == 'nonsense'


def test_file_that_may_not_be_read_is_kept_and_its_bak_is_used(folder_for_all, as_nobody):
    path = folder_for_all / 'state.yaml'
    file = StateFile(path, NODE)
    file.save(document(1))
    file.save(document(2))
    file.backup.chmod(0o644)
    content = path.read_bytes()
    if os.geteuid() != 0:
        path.chmod(0)
    folder_for_all.chmod(0o777)
    lock, problems, saved = as_nobody(path)
    assert lock == ''
    (kept,) = folder_for_all.glob('state.yaml.unreadable-*')
    assert f"it cannot be read: Permission denied', 'it is kept as {kept}'" in problems
    assert 'the .bak before it is used' in problems
    assert saved == 'saved'
    kept.chmod(0o600)
    assert kept.read_bytes() == content


def test_file_that_the_disk_does_not_give_back_is_kept(path):
    """The first page of its own memory is what a process cannot read: an input/output error."""
    file = StateFile(path, NODE)
    file.save(document(1))
    file.save(document(2))
    path.unlink()
    path.symlink_to('/proc/self/mem')
    calibrator = create('ops')
    _, problems = StateFile(path, NODE).recover(calibrator)
    assert problems[0] == f'the state file {path} is bad: it cannot be read: Input/output error'
    assert calibrator.updates == 1
    (kept,) = path.parent.glob(f'{path.name}.unreadable-*')
    assert os.readlink(kept) == '/proc/self/mem'


def test_place_that_is_no_folder(tmp_path):
    (tmp_path / 'file').write_text('of somebody')
    file = StateFile(tmp_path / 'file' / 'state.yaml', NODE)
    assert 'cannot be created: Not a directory' in file.lock() or 'File exists' in file.lock()
    assert file.recover(create('ops')) == (None, [])
    with pytest.raises(OSError, match=r'exists|directory'):
        file.save(document(1))
    assert (tmp_path / 'file').read_text() == 'of somebody'


def test_pipe_in_place_of_the_file_is_not_waited_for(path):
    path.parent.mkdir()
    os.mkfifo(path)
    _, problems = StateFile(path, NODE).recover(create('ops'))
    assert problems[0] == f'the state file {path} is bad: it is no regular file'
    assert path.is_fifo()


FULL_DISK = """
import sys
from pathlib import Path
from saved_states import NODE, document
from disks import fill
from calib_node.core.calibrators import create
from calib_node.core.state.file import StateFile
path = Path(sys.argv[1]) / 'state.yaml'
file = StateFile(path, NODE)
file.save(document(1))
file.save(document(2))
ballast = fill(path.parent)
for _ in range(3):
    try:
        file.save(document(3))
    except OSError as error:
        print(error.strerror)
    print(*sorted(entry.name for entry in path.parent.iterdir()))
calibrator = create('ops')
print(StateFile(path, NODE).recover(calibrator)[1], calibrator.updates)
ballast.unlink()
file.save(document(3))
StateFile(path, NODE).load(calibrator)
print(calibrator.updates)
"""


def test_full_disk_leaves_the_file_as_it_was(tmp_path, run_python):
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), os.environ.get('PYTHONPATH', '')])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PYTHONPATH', path)
        try:
            process = run_python(
                FULL_DISK, str(tmp_path), preexec_fn=lambda: mount_small_disk(tmp_path)
            )
        except subprocess.SubprocessError:
            pytest.skip('this system lets its users mount no file system')
    with process:
        output, errors = process.communicate(timeout=30)
    assert not errors
    full = ['No space left on device', 'ballast state.yaml state.yaml.bak']
    assert output.splitlines() == [*full * 3, '[] 2', '3']
    assert not list(tmp_path.iterdir())


def test_file_that_may_not_grow_so_far_is_left_as_it_was(path):
    """What a full disk is like, for every user."""
    file = StateFile(path, NODE)
    file.save(document(1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match='too large'):
            file.save(document(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert StateFile(path, NODE).recover(create('ops'))[1] == []
    assert file.save(document(2)) is True
