# SPDX-License-Identifier: Apache-2.0
"""Each method has its own parameters in the node, with its own defaults."""

from __future__ import annotations

import random
from copy import deepcopy

import pytest
from spec_values import names_of_method

from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import Label, Prediction
from calib_node.stream.table import TABLE

from .harness import SECOND, World, pipeline

SAMPLES = [(0.9, 0), (0.8, 0), (0.7, 1), (0.95, 0), (0.2, 1), (0.85, 0)]


def teach(client, core, first: int) -> None:
    for number, (p, y) in enumerate(SAMPLES, first):
        assert client.teach(number * SECOND, p, y) == core.predict(p)
        core.update(p, y)


@pytest.mark.parametrize(('given', 'value'), [({}, 25.0), ({'rho': 100.0}, 100.0)])
def test_what_is_not_given_has_the_methods_own_default(world: World, given, value):
    _, client = world.connected({'method': 'beta', **given})
    assert client.get('rho') == [value]
    teach(client, pipeline('beta', rho=value).calibrator, 1)


# A change of each live parameter, far enough to show within a few dozen samples.
CHANGES = {
    'gamma': 0.01,
    'rho': 5.0,
    'radius': 0.1,
    'clip': 0.2,
    'forgetting': 0.5,
    'calibeating.pseudo_count': 20.0,
    'windowed.window': 10,
    'windowed.refit_every': 3,
    'windowed.smooth': False,
    'windowed.interpolate': True,
    'ensemble.averaging': False,
    'ensemble.spring': False,
    'ensemble.auto': False,
}
# All live parameters between them, each once.
OF_METHOD: dict[str, list[str]] = {'ops': [], 'tops': [], 'isotonic': [], 'ensemble': []}
for _name in CHANGES:
    _first = next((m for m in OF_METHOD if _name in names_of_method(m).values()), 'ops')
    OF_METHOD[_first].append(_name)
WARMUP = 20
BATCH = 20


def samples(name: str, rng: random.Random) -> list[tuple[float, int]]:
    """Return overconfident probabilities and their labels, or honest ones where those tell more."""
    if name == 'ensemble.auto':
        return [(0.8, int(i % 10 != 1)) if i % 2 else (0.2, int(i % 10 == 0)) for i in range(BATCH)]
    drawn = [rng.random() for _ in range(BATCH)]
    return [(p, int(rng.random() < 0.3 + 0.4 * p)) for p in drawn]


def ask_and_label(core: Pipeline, batch: list[tuple[float, int]], start: int) -> list[float]:
    stamps = [(start + i) * SECOND for i in range(len(batch))]
    published = [core.predict(Prediction(stamp, p)) for stamp, (p, _) in zip(stamps, batch)]
    for stamp, (_, y) in zip(stamps, batch):
        core.label(Label(stamp, y))
    return published


def ask_and_label_node(client, batch: list[tuple[float, int]], start: int) -> list[float]:
    heard, matched = len(client.calibrated), client.figure('matched')
    for i, (p, _) in enumerate(batch, start):
        client.predict(i * SECOND, p)
    client.spin_until(lambda: len(client.calibrated) == heard + len(batch), 'every output')
    for i, (_, y) in enumerate(batch, start):
        client.label(i * SECOND, y)
    client.wait_for_figure('matched', matched + len(batch))
    return [message.data[2] for message in client.calibrated[heard:]]


def warm(method: str) -> dict[str, int]:
    return {'warmup': WARMUP} if method == 'ensemble' else {}


def test_the_changes_are_those_of_every_live_parameter_of_a_method():
    live = {spec.name for spec in TABLE if spec.live and spec.of_method}
    assert live == set(CHANGES) == {name for names in OF_METHOD.values() for name in names}


@pytest.mark.parametrize('method', CALIBRATORS)
def test_every_live_parameter_has_an_effect_with_every_method_that_has_it(method):
    for own, name in names_of_method(method).items():
        if name not in CHANGES:
            continue
        rng = random.Random(1)
        core = pipeline(method, **warm(method))
        for start in (1, 1 + BATCH, 1 + 2 * BATCH):
            ask_and_label(core, samples(name, rng), start)
        changed = deepcopy(core)
        changed.calibrator.configure(**{own: CHANGES[name]})
        batches = [samples(name, rng) for _ in range(3)]
        outputs = [
            [ask_and_label(one, batch, 100 + BATCH * i) for i, batch in enumerate(batches)]
            for one in (core, changed)
        ]
        assert outputs[0] != outputs[1], name


@pytest.mark.parametrize('method', OF_METHOD)
def test_a_change_of_a_methods_parameter_takes_effect_at_once(world: World, method):
    given = {f'ensemble.{name}': value for name, value in warm(method).items()}
    _, client = world.connected({'method': method, **given})
    rng = random.Random(1)
    own_names = {name: own for own, name in names_of_method(method).items()}
    start = 1
    for name in OF_METHOD[method]:
        client.trigger('reset')
        core = pipeline(method, **warm(method))
        for number in range(6):
            if number == 3:
                client.set(name, CHANGES[name])
                core.calibrator.configure(**{own_names[name]: CHANGES[name]})
            batch = samples(name, rng)
            expected = ask_and_label(core, batch, start)
            assert ask_and_label_node(client, batch, start) == expected, name
            start += BATCH
        client.set(name, pipeline(method).calibrator.parameters()[own_names[name]])


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
