# SPDX-License-Identifier: Apache-2.0
"""Maps that are fitted again and again to the last samples."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import create
from calib_node.core.calibrators.fits import fit_binary_temperature, fit_isotonic, fit_platt

METHODS = ['windowed_platt', 'isotonic', 'windowed_temperature']
FITS = {
    'windowed_platt': fit_platt,
    'isotonic': fit_isotonic,
    'windowed_temperature': lambda p, y: fit_binary_temperature(p, y, smooth=True),
}
PARAMETERS = {
    'windowed_platt': {'clip': 0.05},
    'isotonic': {'smooth': False, 'interpolate': True},
    'windowed_temperature': {'clip': 0.05},
}
GRID = [0.0, 0.005, 0.02, 0.3, 0.5, 0.77, 0.96, 0.999, 1.0]

probabilities = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.3, 0.7, 1.0])
streams = st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=60)
small = st.fixed_dictionaries(
    {'window': st.integers(10, 20), 'refit_every': st.integers(1, 30)},
)
every_method = pytest.mark.parametrize('method', METHODS)


def stream(n, seed=0):
    generator = random.Random(seed)
    pairs = []
    for _ in range(n):
        p = generator.random()
        pairs.append((p, int(generator.random() < p * p)))
    return pairs


def learned(method, pairs, **parameters):
    calibrator = create(method, **parameters)
    for p, y in pairs:
        calibrator.update(p, y)
    return calibrator


def answers(calibrator):
    return [calibrator.predict(p) for p in GRID]


def fitted(method, pairs):
    made = FITS[method](*zip(*pairs))
    return [made.predict(p) for p in GRID]


@every_method
def test_defaults(method):
    parameters = create(method).parameters()
    assert (parameters['window'], parameters['refit_every']) == (1000, 50)
    assert parameters.get('clip', 0.01) == 0.01
    if method == 'isotonic':
        assert (parameters['smooth'], parameters['interpolate']) == (True, False)


@every_method
def test_until_the_first_fit_it_is_the_identity(method):
    calibrator = learned(method, stream(49))
    assert answers(calibrator) == GRID
    calibrator.update(0.4, 1)
    assert answers(calibrator) == fitted(method, [*stream(49), (0.4, 1)])


@every_method
@settings(max_examples=30)
@given(streams, small)
def test_it_is_the_fit_to_the_window_at_the_last_refit(method, pairs, parameters):
    calibrator = create(method, **parameters)
    window, every = parameters['window'], parameters['refit_every']
    for count, (p, y) in enumerate(pairs, 1):
        calibrator.update(p, y)
        last = count - count % every
        seen = pairs[max(0, last - window) : last]
        assert answers(calibrator) == (fitted(method, seen) if seen else GRID)
    assert calibrator.updates == len(pairs)


@every_method
def test_memory_is_bounded(method):
    calibrator = learned(method, stream(1000), window=50, refit_every=20)
    assert max(len(calibrator.state()[key]) for key in 'py') <= 70


@every_method
@pytest.mark.parametrize('label', [0, 1])
def test_window_of_one_class(method, label):
    calibrator = learned(method, [(p, label) for p, _ in stream(1000)])
    low, high = calibrator.predict(0.1), calibrator.predict(0.9)
    assert 0.0 < low <= high < 1.0
    if method != 'windowed_temperature':
        assert abs(low - label) < 0.01
        assert abs(high - label) < 0.01


@every_method
def test_a_model_that_is_always_right_is_not_taken_as_certain(method):
    calibrator = learned(method, [(0.9, 1), (0.1, 0)] * 500)
    assert calibrator.predict(0.9) == pytest.approx(0.998, abs=0.0011)
    assert calibrator.predict(0.1) == pytest.approx(0.002, abs=0.0011)


def test_without_smoothing_isotonic_is_certain():
    assert learned('isotonic', [(0.9, 1), (0.1, 0)] * 50, smooth=False).predict(0.9) == 1.0


@every_method
def test_shorter_window_keeps_the_newest_and_acts_at_once(method):
    pairs = stream(130)
    calibrator = learned(method, pairs, window=100)
    calibrator.configure(window=30)
    assert answers(calibrator) == fitted(method, pairs[-30:])
    for pair in stream(50, seed=1):
        calibrator.update(*pair)
    assert answers(calibrator) == fitted(method, stream(50, seed=1)[-30:])


@every_method
def test_longer_window_fills_up(method):
    pairs = stream(200)
    calibrator = learned(method, pairs[:100], window=20)
    calibrator.configure(window=200)
    assert answers(calibrator) == fitted(method, pairs[80:100])
    for pair in pairs[100:]:
        calibrator.update(*pair)
    assert answers(calibrator) == fitted(method, pairs[80:])


@every_method
def test_smaller_refit_every_acts_at_once(method):
    pairs = stream(30)
    calibrator = learned(method, pairs)
    calibrator.configure(refit_every=31)
    assert answers(calibrator) == GRID
    calibrator.configure(refit_every=30)
    assert answers(calibrator) == fitted(method, pairs)
    calibrator.configure(refit_every=50)
    calibrator.update(0.1, 1)
    assert answers(calibrator) == fitted(method, pairs)


@every_method
def test_parameters_of_the_map_act_at_once(method):
    pairs = stream(120)
    calibrator = learned(method, pairs)
    before = answers(calibrator)
    assert before == fitted(method, pairs[:100])
    calibrator.configure(**{name: calibrator.parameters()[name] for name in PARAMETERS[method]})
    assert answers(calibrator) == before
    calibrator.configure(**PARAMETERS[method])
    assert answers(calibrator) == answers(
        learned(method, pairs, **PARAMETERS[method], refit_every=120)
    )
    early = learned(method, pairs[:10])
    early.configure(**PARAMETERS[method])
    assert answers(early) == GRID


@every_method
def test_own_parameters_win(method):
    pairs = stream(70)
    state = learned(method, pairs, window=20, refit_every=30).state()
    calibrator = create(method, window=15, refit_every=30)
    calibrator.restore(state)
    # The newest of what is there, fitted at once.
    assert answers(calibrator) == answers(learned(method, pairs[-15:], window=15, refit_every=15))
    assert calibrator.parameters()['window'] == 15
    assert calibrator.updates == 70

    overdue = create(method, window=20, refit_every=10)
    overdue.restore(state)
    assert answers(overdue) == answers(learned(method, pairs[-20:], window=20, refit_every=20))

    patient = create(method, window=20, refit_every=40)
    patient.restore(state)
    assert answers(patient) == answers(learned(method, pairs, window=20, refit_every=30))
