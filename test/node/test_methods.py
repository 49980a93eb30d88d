# SPDX-License-Identifier: Apache-2.0
"""Each method has its own parameters in the node, with its own defaults."""

from __future__ import annotations

from inspect import signature

import pytest

from calib_node.core.calibrators import CALIBRATORS
from calib_node.ros.configuration import names_of_method
from calib_node.ros.parameters import BY_NAME, TABLE

from .harness import SECOND, World, pipeline

SAMPLES = [(0.9, 0), (0.8, 0), (0.7, 1), (0.95, 0), (0.2, 1), (0.85, 0)]
OTHER_DEFAULTS = {(method, 'rho') for method in ('beta', 'tobs', 'hobs')}


def teach(client, core, first: int) -> None:
    for number, (p, y) in enumerate(SAMPLES, first):
        assert client.teach(number * SECOND, p, y) == core.predict(p)
        core.update(p, y)


@pytest.mark.parametrize('method', CALIBRATORS)
def test_every_parameter_of_a_method_is_in_the_table_with_its_default(method):
    own = signature(CALIBRATORS[method]).parameters
    names = names_of_method(method)
    assert set(names) == set(own)
    for name, parameter in own.items():
        if (method, name) not in OTHER_DEFAULTS:
            assert BY_NAME[names[name]].default == parameter.default


def test_a_parameter_is_live_where_every_method_can_change_it():
    for spec in TABLE:
        if spec.of_method:
            fixed = any(spec.of_method in method.fixed for method in CALIBRATORS.values())
            assert spec.live is not fixed


@pytest.mark.parametrize(('given', 'value'), [({}, 25.0), ({'rho': 100.0}, 100.0)])
def test_what_is_not_given_has_the_methods_own_default(world: World, given, value):
    _, client = world.connected({'method': 'beta', **given})
    assert client.get('rho') == [value]
    teach(client, pipeline('beta', rho=value).calibrator, 1)


def test_a_change_of_a_methods_own_parameter_takes_effect_at_once(world: World):
    _, client = world.connected({'method': 'tops', 'calibeating.bins': 5})
    core = pipeline('tops', bins=5).calibrator
    teach(client, core, 1)
    client.set('calibeating.pseudo_count', 2.0)
    core.configure(pseudo_count=2.0)
    teach(client, core, 7)


def test_a_window_is_cut_at_once(world: World):
    _, client = world.connected({'method': 'isotonic', 'windowed.refit_every': 2})
    core = pipeline('isotonic', refit_every=2).calibrator
    for round_ in range(3):
        teach(client, core, 6 * round_ + 1)
    change = {'windowed.window': 10, 'windowed.smooth': False}
    assert client.set_all(change).successful
    core.configure(window=10, smooth=False)
    teach(client, core, 19)


def test_parameters_of_other_methods_are_named_at_the_start_and_refused_later(world: World):
    node, client = world.connected({'method': 'isotonic', 'gamma': 0.5, 'clip': 0.01})
    (warning,) = [line for line in node.warnings if 'no effect' in line]
    assert "'gamma' has no effect with method isotonic" in warning
    (result,) = client.set_each({'rho': 7.0})
    assert not result.successful
    assert "'rho' has no effect with method isotonic" in result.reason


def test_diagnostics_show_the_weights_and_the_delay_of_the_mixture(world: World):
    _, client = world.connected({'method': 'mixture'})
    core = pipeline('mixture').calibrator
    teach(client, core, 1)
    client.wait_for_figure('updates', len(SAMPLES))
    figures = client.figures()
    for name, figure in core.figures().items():
        assert figures[name] == repr(figure)
