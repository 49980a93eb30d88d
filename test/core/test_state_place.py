# SPDX-License-Identifier: Apache-2.0
"""Where the state file is, who may use it, and a place that cannot be written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from saved_states import NODE, document

from calib_node.core.state import StateFile, StateFileInUse
from calib_node.core.state_path import resolve_path

HOLD_LOCK = """
import sys
from pathlib import Path
from calib_node.core.state import StateFile
print(repr(StateFile(Path(sys.argv[1]), '/other').lock()), flush=True)
sys.stdin.read()
"""


def test_lock_keeps_a_second_process_out_until_the_first_has_died(path, run_python):
    with run_python(HOLD_LOCK, str(path), stdin=subprocess.PIPE) as other:
        assert other.stdout.readline() == "''\n"
        file = StateFile(path, NODE)
        with pytest.raises(StateFileInUse, match='in use by another process'):
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
        ('', '/n', {'HOME': '/h'}, '/h/.ros/calib_node/n.yaml'),
        ('', '/n', {'HOME': '/h', 'ROS_HOME': ''}, '/h/.ros/calib_node/n.yaml'),
        ('', '/n', {'HOME': '/h', 'ROS_HOME': '~/ros'}, '/h/ros/calib_node/n.yaml'),
        ('x/y.yaml', '/n', {'ROS_HOME': '/r'}, '/r/calib_node/x/y.yaml'),
        ('/x/y.yaml', '/n', {'ROS_HOME': '/r'}, '/x/y.yaml'),
        ('~/y.yaml', '/n', {'HOME': '/h', 'ROS_HOME': '/r'}, '/h/y.yaml'),
        ('$D/y.yaml', '/n', {'D': '/d', 'ROS_HOME': '/r'}, '/d/y.yaml'),
        ('${D}/y.yaml', '/n', {'D': 'd', 'ROS_HOME': '/r'}, '/r/calib_node/d/y.yaml'),
    ],
)
@pytest.mark.parametrize('source', ['the process', 'the argument'])
def test_path(setting, node, environment, expected, source, monkeypatch):
    if source == 'the process':
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        if 'ROS_HOME' not in environment:
            monkeypatch.delenv('ROS_HOME', raising=False)
        environment = dict(os.environ)
    assert resolve_path(setting, node, environment) == Path(expected)


def test_path_follows_a_link_so_that_saving_does_not_replace_it(tmp_path):
    (tmp_path / 'link.yaml').symlink_to(tmp_path / 'real.yaml')
    path = resolve_path(str(tmp_path / 'link.yaml'), NODE, {})
    assert path == (tmp_path / 'real.yaml').resolve()


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from calib_node.core.calibrators import create
from calib_node.core.state import StateFile, make_document
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
file, calibrator = StateFile(Path(sys.argv[1]), '/n'), create('ops')
print(file.lock())
print(file.recover(calibrator))
try:
    file.save(make_document(calibrator, '/n'))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize('content', [None, 'nonsense'])
def test_read_only_folder(folder_for_all, run_python, content):
    path = folder_for_all / 'state.yaml'
    if content:
        path.write_text(content)
        path.chmod(0o644)
    folder_for_all.chmod(0o555)
    with run_python(UNPRIVILEGED, str(path)) as process:
        output, errors = process.communicate(timeout=30)
    assert not errors
    lock, recovered, error = output.splitlines()
    assert 'cannot be created' in lock
    assert error == 'PermissionError'
    if content:
        assert 'it cannot be set aside' in recovered
        assert 'learning starts anew' in recovered
        assert path.read_text() == content
    else:
        assert recovered == '(None, [])'
