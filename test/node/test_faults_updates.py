# SPDX-License-Identifier: Apache-2.0
"""An update that cannot be taken costs that one pair, and is shown until the next that can."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core.calibrators import create
from calib_node.core.state.document import make_document

from .harness import EXECUTORS, SECOND, World


def write_state(world: World, parameters: dict[str, float], learned: dict[str, Any]) -> None:
    """Write a state file as a node with these parameters would."""
    document = make_document(create('ops', **parameters), '/calib_node')
    world.state_path().parent.mkdir(parents=True, exist_ok=True)
    world.state_path().write_text(yaml.safe_dump({**document, **learned, 'updates': 1}))


# With so small a matrix the update rounds to one that has no inverse.
WORN_OUT = {'a': 0.9, 'b': -0.1, 'A': [[1e-200, 0.0], [0.0, 1e-200]]}


@pytest.mark.parametrize('executor', EXECUTORS)
def test_an_update_that_is_not_finite_leaves_the_state_and_shows_an_error(world: World, executor):
    write_state(world, {}, WORN_OUT)
    node, client = world.connected({'executor': executor})
    client.next_status()
    before = client.figures()
    forecast = client.ask(SECOND, 0.8)
    for number in (1, 2):
        client.teach(number * 10 * SECOND, 0.8, 0)
        client.wait_for_status(DiagnosticStatus.ERROR, 'the last update was not taken')
        assert client.figures()['failed updates'] == str(number)
    node.wait_for('not taken: the ')
    assert [client.figures()[key] for key in ('a', 'b', 'updates')] == [
        before[key] for key in ('a', 'b', 'updates')
    ]
    assert client.ask(30 * SECOND, 0.8) == forecast
    # They are scored all the same.
    assert client.figures()['samples in window'] == '2'
    # A larger rho is added to the matrix, and the next update can be taken.
    client.set('rho', 200.0)
    client.teach(40 * SECOND, 0.8, 0)
    client.wait_for_figure('updates', 2)
    client.wait_for_status(DiagnosticStatus.OK)
    assert client.figures()['learned'] == '1'


def test_a_reset_ends_what_keeps_updates_from_being_taken(world: World):
    write_state(world, {}, WORN_OUT)
    _, client = world.connected()
    client.teach(SECOND, 0.8, 0)
    client.wait_for_status(DiagnosticStatus.ERROR, 'the last update was not taken')
    assert client.trigger('reset').success
    client.wait_for_status(DiagnosticStatus.OK)
    client.teach(2 * SECOND, 0.8, 0)
    client.wait_for_figure('updates', 1)


# Sound by every check, but not to be projected onto the ball of this radius.
EXTREME = {'a': -0.794, 'b': 0.0, 'A': [[5e-21, -4e-111], [-4e-111, 2e306]]}
SMALL = {'radius': 1e-6, 'rho': 0.01}
WIDE = {'radius': 1e12, 'rho': 0.01}


def test_a_state_that_does_not_survive_the_arithmetic_is_set_aside_at_the_start(world: World):
    write_state(world, WIDE, EXTREME)
    _, client = world.connected(SMALL)
    client.wait_for_status(DiagnosticStatus.ERROR, 'is bad: it cannot be taken over')
    assert client.figures()['updates'] == '0'
    assert len(list(world.state_path().parent.glob('*.corrupt-*'))) == 1


def test_a_live_change_that_does_not_survive_the_arithmetic_is_refused(world: World):
    write_state(world, WIDE, EXTREME)
    _, client = world.connected(WIDE)
    (result,) = client.set_each({'radius': 1e-6})
    assert not result.successful
    assert 'what was learned cannot be taken along' in result.reason
    assert client.get('radius') == [1e12]


def test_such_a_state_is_not_loaded_into_a_node_that_runs(world: World):
    _, client = world.connected(SMALL)
    client.teach(SECOND, 0.8, 0)
    before = client.status.message
    write_state(world, WIDE, EXTREME)
    answer = client.trigger('load_state')
    assert not answer.success
    assert 'cannot be taken over' in answer.message
    client.next_status()
    assert client.status.message == before
    assert client.figures()['updates'] == '1'
