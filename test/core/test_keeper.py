# SPDX-License-Identifier: Apache-2.0
"""What the keeper restores at a start, by ~/load_state, and forgets by ~/reset."""

from __future__ import annotations

import os

import pytest
from saved_states import learn, learned, refuse, saved, updates_in

from calib_node.core.calibrators import StateError
from calib_node.core.state.keeper import NotSaved

# Start


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


def test_start_tells_of_the_state_of_another_method_as_no_problem(keep, path):
    saved(path, 2, method='beta')
    keeper, _ = keep()
    assert keeper.start() == (
        f'nothing learned yet; the state will be saved to {path}; what method '
        f"'beta' has learned is kept as {path}.method-beta until the node is started with it again"
    )
    assert (keeper.problem, keeper.notes) == ('', [])


def test_start_notes_a_file_of_another_node(keep, path):
    saved(path, 3)
    keeper, calibrator = keep(node='/other')
    keeper.start()
    assert keeper.notes == ["the state file was saved by another node, '/calib_node'"]
    assert calibrator.updates == 3


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


# Load and reset


def test_load_goes_back_to_the_file(keep):
    keeper, calibrator = keep(2)
    keeper.save()
    learn(calibrator)
    keeper.load()
    assert calibrator.state() == learned(2).state()


@pytest.mark.parametrize(
    ('content', 'sentence'),
    [
        (None, 'nothing is loaded: nothing was saved to {path} yet'),
        (
            'nonsense',
            'nothing is loaded: the state file {path} is bad: it is not a table of fields; '
            'the next save keeps it beside and writes a sound one',
        ),
        (
            'beta',
            "nothing is loaded: the state file {path} holds what method 'beta' has learned; "
            'start the node with that method and number of classes to use it',
        ),
    ],
)
def test_load_of_what_is_not_ours_says_so_and_changes_and_moves_nothing(
    keep, path, content, sentence
):
    path.parent.mkdir()
    if content == 'beta':
        saved(path, 2, method='beta')
    elif content:
        path.write_text(content)
    keeper, calibrator = keep(1)
    before = {entry: entry.read_bytes() for entry in path.parent.iterdir()}
    with pytest.raises(StateError) as refusal:
        keeper.load()
    assert str(refusal.value) == sentence.format(path=path)
    assert calibrator.state() == learned(1).state()
    assert {entry: entry.read_bytes() for entry in path.parent.iterdir()} == before
    # And the next save loses nothing of it.
    keeper.save()
    kept = [entry.read_bytes() for entry in path.parent.glob('*.replaced-*')]
    assert kept == list(before.values())


def test_load_keeps_what_was_learned_since_the_last_save(keep, path):
    keeper, calibrator = keep(2)
    keeper.save()
    learn(calibrator)
    sentence = keeper.load()
    (before,) = path.parent.glob('*.before-load-*')
    loaded = f'loaded 2 updates from {path}'
    assert sentence == f'{loaded}; what was learned before is kept as {before}'
    assert updates_in(before) == 3
    # Nothing is lost now, so nothing more is kept; nor by a start that has learned nothing.
    assert keeper.load() == loaded
    calibrator.reset()
    assert keeper.load() == loaded
    assert list(path.parent.glob('*.before-load-*')) == [before]


def test_load_that_cannot_keep_what_was_learned_loads_nothing(keep, path, monkeypatch):
    keeper, calibrator = keep(2)
    keeper.save()
    learn(calibrator)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', refuse)
        with pytest.raises(OSError, match='nothing is loaded, as what was learned cannot be kept'):
            keeper.load()
    assert calibrator.state() == learned(3).state()
    assert not list(path.parent.glob('*.before-load-*'))
    assert keeper.save() is True
    assert updates_in(path) == 3


def test_reset_moves_the_file_away_and_saves_the_start(keep, path):
    keeper, calibrator = keep(2)
    keeper.save()
    learn(calibrator)
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

    with pytest.raises(NotSaved, match='but the state cannot be saved') as failure:
        keeper.reset(forget)
    (before,) = path.parent.glob('*.before-reset-*')
    assert str(before) in str(failure.value)
    assert updates_in(before) == 2
