# SPDX-License-Identifier: Apache-2.0
"""The state file: what is written, what is read, and what is refused."""

from __future__ import annotations

import ast
import copy
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from saved_states import NODE, document, learned, names, refuse, saved

import calib_node
from calib_node.core.calibrators import StateError, create
from calib_node.core.state.disk import read_document
from calib_node.core.state.document import SAFE_LOADER, make_document, restore_document
from calib_node.core.state.file import StateFile


def test_state_comes_back_bit_for_bit(path):
    saved(path, 3)
    calibrator = create('ops')
    StateFile(path, NODE).load(calibrator)
    assert calibrator.state() == learned().state()


def test_file_is_a_table_that_a_person_can_read(path):
    saved(path, 3)
    text = path.read_text(encoding='utf-8')
    assert text.startswith('format: calib_node/state\nversion: 1\nmethod: ops\nnode: /calib_node\n')
    table = yaml.safe_load(text)
    assert table.pop('saved_at').endswith('+00:00')
    assert table == document()


def test_state_that_has_not_changed_is_not_written_again(path):
    file = saved(path, 2, 3)
    before = path.stat(), file.backup.read_bytes()
    assert file.save(document()) is False
    assert (path.stat(), file.backup.read_bytes()) == before
    reader = StateFile(path, NODE)
    reader.load(create('ops'))
    assert reader.save(document()) is False


def test_bak_is_the_file_before(path):
    file = saved(path, 1)
    first = path.read_bytes()
    assert not file.backup.exists()
    file.save(document(2))
    assert file.backup.read_bytes() == first
    assert names(path) == {path.name, f'{path.name}.bak'}


def test_bak_is_a_copy_where_there_are_no_hard_links(path, monkeypatch):
    file = saved(path, 1)
    first = path.read_bytes()
    monkeypatch.setattr(os, 'link', refuse)
    file.save(document(2))
    assert file.backup.read_bytes() == first
    assert stat.S_IMODE(file.backup.stat().st_mode) == 0o600


def test_only_the_owner_reads_the_files(path):
    old = os.umask(0)
    try:
        file = saved(path, 1, 2)
        file.lock()
    finally:
        os.umask(old)
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
    file.unlock()
    assert modes == dict.fromkeys([path.name, f'{path.name}.bak', f'{path.name}.lock'], 0o600)


def test_nobody_else_may_write_whatever_the_umask_and_whatever_was_there(path, monkeypatch):
    monkeypatch.setattr(os, 'link', refuse)
    path = path.parent / 'deeper' / path.name
    old = os.umask(0)
    try:
        file = saved(path, 1)
        for suffix in ('tmp', 'bak.tmp'):
            left_over = path.with_name(f'{path.name}.{suffix}')
            left_over.touch()
            left_over.chmod(0o666)
        file.save(document(2))
        file.keep_before_load(document(3))
        file.lock()
    finally:
        os.umask(old)
    file.unlock()
    entries = [path.parent.parent, path.parent, *path.parent.iterdir()]
    assert len(entries) == 6
    for entry in entries:
        assert not stat.S_IMODE(entry.stat().st_mode) & (0o002 if entry.is_dir() else 0o077), entry


@pytest.mark.parametrize('suffix', ['tmp', 'bak', 'bak.tmp', 'lock'])
def test_link_that_somebody_left_beside_is_not_written_through(path, suffix):
    file = saved(path, 1)
    victim = path.parent.parent / 'victim'
    victim.write_text('precious')
    link = path.with_name(f'{path.name}.{suffix}')
    link.symlink_to(victim)
    if suffix == 'lock':
        assert 'cannot be created' in file.lock()
    file.save(document(2))
    assert victim.read_text() == 'precious'
    assert not path.is_symlink()


def calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_nothing_that_is_read_can_become_code():
    """A parameter, a message, a state file: data, whoever wrote it."""
    package = Path(calib_node.__file__).parent
    banned = re.compile(
        r'(eval|exec|compile|__import__|os\.system|os\.popen)$|(pickle|marshal|shelve|dill)\.'
        r'|yaml\.(unsafe_|full_)?load(_all)?$|.*Unpickler'
    )
    found = [
        (path.name, call)
        for path in package.rglob('*.py')
        for call in calls(path)
        if banned.match(call)
    ]
    # The source of a walk is made of numbers and of our own names, and YAML is loaded with a loader
    # that descends from the safe one, see below.
    walk = [('program.py', 'exec'), ('program.py', 'compile')]
    assert sorted(found) == sorted([*walk, ('document.py', 'yaml.load')])
    assert issubclass(SAFE_LOADER, yaml.SafeLoader | getattr(yaml, 'CSafeLoader', yaml.SafeLoader))


@pytest.mark.parametrize(
    ('field', 'value', 'sentence'),
    [
        ('format', None, "format is None instead of 'calib_node/state'"),
        ('format', 'other/state', "format is 'other/state'"),
        ('version', None, 'version is None, and this release reads version 1'),
        ('version', 2, 'version is 2'),
        ('version', True, 'version is True'),
        ('version', '1', "version is '1'"),
        ('method', None, "method None, not by 'ops'"),
        ('a', None, 'a must be a finite number'),
        ('A', [[1.0, 2.0], [2.0, 1.0]], 'A must be symmetric and positive definite'),
    ],
)
def test_each_damaged_field_is_refused_and_changes_nothing(field, value, sentence):
    damaged = copy.deepcopy(document())
    damaged[field] = value
    calibrator = learned(1)
    with pytest.raises(StateError, match=sentence):
        restore_document(calibrator, damaged)
    assert calibrator.state() == learned(1).state()


@pytest.mark.parametrize(
    'content',
    [
        b'',
        b'\xff\xfe\x00',
        b'\x00',
        b'- a list',
        b'42',
        b'a: [1, 2',
        b'a: *missing',
        b'--- {}\n--- {}\n',
        b'[' * 600,
        b'a: 2020-13-45',
        b'a: ' + b'9' * 5000,
        b'a: !!bool perhaps',
        b'a: !!int ""',
        b'a: !!float ""',
        b'a: !!timestamp soon',
        b'? [1]\n: 2\n',
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_no_table_is_refused_with_a_sentence(tmp_path, content):
    path = tmp_path / 'bad.yaml'
    path.write_bytes(content)
    with pytest.raises(StateError, match=r'it is not|it cannot be read'):
        read_document(path)


@pytest.mark.parametrize(
    'tag', ['python/object/apply:os.mkdir [{}]', 'python/object/new:os.mkdir [[{}]]']
)
def test_python_objects_are_not_made(tmp_path, tag):
    path = tmp_path / 'bad.yaml'
    path.write_text(f'a: !!{tag.format(tmp_path / "made")}')
    with pytest.raises(StateError, match='it is not YAML'):
        read_document(path)
    assert not (tmp_path / 'made').exists()


@pytest.mark.parametrize('field', ['format', 'version', 'method', 'a', 'updates', 'parameters'])
def test_yaml_bomb_is_refused_in_a_short_sentence(tmp_path, field):
    """Six lines of aliases that would be a million items if they were ever written out."""
    path = tmp_path / 'bomb.yaml'
    lines = ['l0: &l0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]']
    lines += [f'l{i}: &l{i} [{", ".join([f"*l{i - 1}"] * 10)}]' for i in range(1, 6)]
    whole = {**document(), field: None}
    lines += [yaml.safe_dump({key: whole[key]}) for key in whole if key != field]
    path.write_text('\n'.join([*lines, f'{field}: *l5']))
    with pytest.raises(StateError) as refusal:
        StateFile(path, NODE).load(create('ops'))
    assert len(str(refusal.value)) < 500


def test_load_of_a_bad_file_moves_and_changes_nothing(path):
    saved(path, 1, 2)
    path.write_text('nonsense')
    before = names(path)
    calibrator = learned(3)
    with pytest.raises(StateError):
        StateFile(path, NODE).load(calibrator)
    assert calibrator.state() == learned(3).state()
    assert names(path) == before
    assert path.read_text() == 'nonsense'


def test_load_without_a_file_says_so(path):
    with pytest.raises(FileNotFoundError):
        StateFile(path, NODE).load(create('ops'))


def test_reset_sets_the_file_aside(path):
    file = saved(path, 1, 2)
    content = path.read_bytes()
    kept = file.set_aside_for_reset()
    assert kept.name.startswith(f'{path.name}.before-reset-')
    assert kept.read_bytes() == content
    assert not path.exists()
    assert file.save(document(2)) is True


def test_file_asks_no_more_of_a_calibrator_than_it_says(path):
    """Any object with a name, classes, updates, state and restore will do."""

    class Counter:
        name, classes, updates = 'counter', 1, 0

        def state(self):
            return {'method': self.name, 'updates': self.updates, 'parameters': {}}

        def restore(self, state):
            self.updates = state['updates']

    first, second = Counter(), Counter()
    first.updates = 7
    StateFile(path, NODE).save(make_document(first, NODE))
    StateFile(path, NODE).load(second)
    assert second.updates == 7
