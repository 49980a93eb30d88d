# SPDX-License-Identifier: Apache-2.0
"""A saved mixture goes on to the last bit, and is read with suspicion at every depth."""

from __future__ import annotations

import copy
import math
import random
from collections import deque

import pytest
import yaml

from calib_node.core.calibrators import CALIBRATORS, Mixture, StateError, create

Path = tuple[str | int, ...]


def noise(count, seed=0):
    generator = random.Random(seed)
    return [(generator.random(), generator.randint(0, 1)) for _ in range(count)]


def run(mixture, samples, delay=0):
    """Return the forecasts, each label learned `delay` predictions late."""
    pending, output = deque(), []
    for p, y in samples:
        q, ticket = mixture.issue(p)
        output.append(q)
        pending.append((p, y, ticket))
        if len(pending) > delay:
            mixture.update(*pending.popleft())
    return output


def learned(count=130, delay=0):
    mixture = Mixture()
    run(mixture, noise(count), delay)
    return mixture


@pytest.mark.parametrize('delay', [0, 20])
@pytest.mark.parametrize(
    'count',
    [
        pytest.param(0, id='nothing'),
        pytest.param(1, id='one'),
        pytest.param(30, id='warm-up'),
        pytest.param(49, id='the last before a fit'),
        pytest.param(50, id='a fit'),
        pytest.param(130, id='window not full'),
        pytest.param(1069, id='window full'),
    ],
)
def test_saved_state_goes_on_to_the_last_bit(count, delay):
    mixture, other = learned(count, delay), Mixture()
    other.restore(yaml.safe_load(yaml.safe_dump(mixture.state())))
    assert other.state() == mixture.state()
    assert other.weights == mixture.weights
    samples = noise(120, 1)
    assert run(other, samples, delay) == run(mixture, samples, delay)
    assert other.state() == mixture.state()


def test_restoring_leaves_nothing_of_what_was_learned_before():
    mixture, other = learned(130), learned(1100, 7)
    other.restore(mixture.state())
    samples = noise(120, 1)
    assert run(other, samples) == run(mixture, samples)
    assert other.state() == mixture.state()


def test_predictions_pending_while_restoring_keep_their_places():
    mixture = learned(130)
    state = mixture.state()
    tickets = [mixture.issue(p)[1] for p, _ in noise(9)]
    mixture.restore(state)
    mixture.update(0.5, 1, tickets[3])
    assert mixture.state()['delays'][-1] == 5


def test_a_taken_state_does_not_change():
    mixture = learned()
    taken = mixture.state()
    kept = copy.deepcopy(taken)
    run(mixture, noise(120, 1), 3)
    mixture.reset()
    assert taken == kept


def emptied(value):
    """Change whatever is in a state."""
    if isinstance(value, dict):
        for part in value.values():
            emptied(part)
        value.clear()
    elif isinstance(value, list):
        for part in value:
            emptied(part)
        value[:] = [0.123] * 3


def test_a_taken_state_can_be_changed_without_harm():
    mixture = learned()
    kept = copy.deepcopy(mixture.state())
    emptied(mixture.state())
    assert mixture.state() == kept


def test_a_restored_state_is_shared_with_nothing():
    state = learned().state()
    mixture = Mixture()
    mixture.restore(state)
    kept = copy.deepcopy(state)
    run(mixture, noise(120, 1))
    assert state == kept
    mixture.restore(state)
    emptied(state)
    assert mixture.state() == kept


SAVED = learned().state()


def fields(value, path: Path = ()) -> list[Path]:
    """Return the way to every field of a state; of a list the first, one within and the last."""
    found = [path] if path else []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = sorted({0, len(value) // 2, len(value) - 1} & set(range(len(value))))
    else:
        keys = []
    for key in keys:
        found += fields(value[key], (*path, key))
    return found


def filled(value, number):
    """Return the number in place of each number of a list, or the value if there is none."""
    if isinstance(value, list):
        return [filled(part, number) for part in value]
    return number if isinstance(value, int | float) else value


KINDS = {
    'removed': lambda value: ...,
    'null': lambda value: None,
    'NaN': lambda value: filled(value, math.nan),
    'infinite': lambda value: filled(value, -math.inf),
    'huge': lambda value: filled(value, 1.7e308),
    'huge and negative': lambda value: filled(value, -1.7e308),
    'a huge whole number': lambda value: filled(value, 10**400),
    'a string': lambda value: f'{value!r} ',
    'a bool': lambda value: True,
    'in a table': lambda value: {'value': value},
    'in a list': lambda value: [value],
    'emptied': lambda value: type(value)() if isinstance(value, list | dict) and value else value,
    'longer': lambda value: [*value, value[-1]] if isinstance(value, list) else value,
}
"""What is done to a field; what cannot be done to it leaves it as it is."""


def refusal(mixture, state):
    """Return why a state is refused, or nothing if it is not."""
    try:
        mixture.restore(state)
    except StateError as error:
        return str(error)
    return ''


@pytest.mark.parametrize('kind', KINDS)
def test_a_damaged_field_is_refused_in_a_sentence_and_nothing_changes(kind):
    mixture = learned(70)
    before, ahead = mixture.state(), mixture.predict(0.3)
    for path in fields(SAVED):
        state = copy.deepcopy(SAVED)
        holder = state
        for key in path[:-1]:
            holder = holder[key]
        value = holder[path[-1]]
        damaged = KINDS[kind](value)
        if damaged is ...:
            del holder[path[-1]]
        else:
            holder[path[-1]] = damaged
        # A label is 0 or 1, and true is 1.
        if damaged is value or (kind == 'a bool' and path[:-1] == ('experts', 'window', 'y')):
            continue
        sentence = refusal(mixture, state)
        assert len(sentence.split()) > 4, (path, sentence)
        assert '\n' not in sentence, path
        assert mixture.state() == before, path
    assert mixture.predict(0.3) == ahead


def changed(path: Path, value) -> dict:
    state = copy.deepcopy(SAVED)
    holder = state
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return state


CONTRADICTIONS = {
    'weights that do not sum to 1': (('weights', 'experts', 0), [1.0 / 12.0] * 13),
    'members that do not sum to 1': (('weights', 'members'), [0.1] * 9),
    'a weight of 0': (('weights', 'members'), [0.125] * 8 + [0.0]),
    'a weight below 0': (('weights', 'experts', 4), [0.1] * 11 + [0.2, -0.3]),
    'ten experts': (('weights', 'experts'), [[0.1] * 10] * 9),
    'six members': (('weights', 'experts'), [[1.0 / 13.0] * 13] * 6),
    'too few delays': (('delays',), [0] * 99),
    'a delay below 0': (('delays',), [0] * 99 + [-1]),
    'half a delay': (('delays',), [0] * 99 + [0.5]),
    'more positives than labels': (('experts', 'positives'), 131),
    'a mean above 1': (('experts', 'residuals'), [0.0, 1.1, 0.0]),
    'updates of a part': (('experts', 'drifting', 'updates'), 129),
    'all updates': (('updates',), 131),
    'parameters far out': (('experts', 'fast', 0), 101.0),
    'a matrix that is indefinite': (('experts', 'fast'), [1.0, 0.0, 10.0, 10.1, 10.0]),
    'a matrix below its start': (('experts', 'fast'), [1.0, 0.0, 9.0, 0.0, 11.0]),
    'a matrix beyond its labels': (('experts', 'fast'), [1.0, 0.0, 9e3, 0.0, 11.0]),
    'a tiny matrix': (('experts', 'drifting', 'A'), [[1e-30, 0.0], [0.0, 1e-30]]),
    'a vast matrix': (('experts', 'drifting', 'A'), [[1.7e308, 0.0], [0.0, 1.7e308]]),
    'a tiny matrix of beta scaling': (
        ('experts', 'tobs', 'wrapped', 'A'),
        [[1e-30, 0.0, 0.0], [0.0, 1e-30, 0.0], [0.0, 0.0, 1e-30]],
    ),
    'a tiny matrix of Platt scaling': (
        ('experts', 'tops', 'wrapped', 'A'),
        [[1e-30, 0.0], [0.0, 1e-30]],
    ),
    'a root above its start': (('experts', 'stack', 'root', 3, 3), 0.32),
    'a field that is not': (('parameters',), {'clip': 0.01}),
}


@pytest.mark.parametrize('contradiction', CONTRADICTIONS)
def test_a_contradiction_is_refused(contradiction):
    mixture = learned(70)
    before = mixture.state()
    with pytest.raises(StateError):
        mixture.restore(changed(*CONTRADICTIONS[contradiction]))
    assert mixture.state() == before


def test_the_sentence_says_in_which_part():
    with pytest.raises(StateError, match='in drifting, '):
        Mixture().restore(changed(('experts', 'drifting', 'A'), None))
    with pytest.raises(StateError, match='in tobs, there are 131 updates of 130'):
        Mixture().restore(changed(('experts', 'tobs', 'updates'), 131))


@pytest.mark.parametrize('method', sorted(set(CALIBRATORS) - {'mixture'}))
def test_another_methods_state_is_refused(method):
    other = create(method)
    for p, y in noise(130):
        other.update(p, y)
    mixture = learned(70)
    before = mixture.state()
    with pytest.raises(StateError, match='mixture'):
        mixture.restore(other.state())
    assert mixture.state() == before
    with pytest.raises(StateError):
        other.restore(before)
