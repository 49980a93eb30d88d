# SPDX-License-Identifier: Apache-2.0
"""Maps that are fitted again and again to the last samples."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import yaml
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
@settings(max_examples=30)
@given(streams, streams, small)
def test_restored_it_goes_on_to_the_last_bit(method, before, after, parameters):
    calibrator = learned(method, before, **parameters)
    text = yaml.safe_dump(calibrator.state())
    other = create(method, **parameters)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    assert answers(other) == answers(calibrator)
    for p, y in after:
        calibrator.update(p, y)
        other.update(p, y)
        assert answers(other) == answers(calibrator)
    assert other.state() == calibrator.state()


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
def test_a_model_that_is_always_sure_and_always_wrong(method):
    calibrator = learned(method, [(1.0, 0)] * 100_000, refit_every=500)
    assert 0.0 < calibrator.predict(1.0) < (0.51 if method == 'windowed_temperature' else 0.001)


@every_method
def test_a_model_that_is_always_right_is_not_taken_as_certain(method):
    calibrator = learned(method, [(0.9, 1), (0.1, 0)] * 500)
    assert calibrator.predict(0.9) == pytest.approx(0.998, abs=0.0011)
    assert calibrator.predict(0.1) == pytest.approx(0.002, abs=0.0011)


def test_without_smoothing_isotonic_is_certain():
    assert learned('isotonic', [(0.9, 1), (0.1, 0)] * 50, smooth=False).predict(0.9) == 1.0


@every_method
def test_labels_are_learned_in_the_order_in_which_they_come(method):
    late = create(method, refit_every=2)
    (_, first), (_, second) = late.issue(0.8), late.issue(0.3)
    late.update(0.3, 1, second)
    late.update(0.8, 0, first)
    assert late.state() == learned(method, [(0.3, 1), (0.8, 0)], refit_every=2).state()


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
def test_refused_change_changes_nothing(method):
    calibrator = learned(method, stream(60))
    before, q = calibrator.state(), answers(calibrator)
    for bad in ({'window': 5}, {'refit_every': 0}, {'window': 20, 'refit_every': 1.5}):
        with pytest.raises(ValueError, match='must be a whole number'):
            calibrator.configure(**bad)
    with pytest.raises(ValueError, match=f'{method} has no parameter'):
        calibrator.configure(window=20, gamma=1.0)
    assert (calibrator.state(), answers(calibrator)) == (before, q)


@every_method
@pytest.mark.parametrize('p', [-1e-9, 1.0 + 1e-9, math.nan, math.inf])
@pytest.mark.parametrize('fitted_yet', [False, True])
def test_probability_outside_is_refused(method, p, fitted_yet):
    calibrator = learned(method, stream(60 if fitted_yet else 10))
    before = calibrator.state()
    with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
        calibrator.issue(p)
    with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
        calibrator.update(p, 1)
    assert calibrator.state() == before


@every_method
@pytest.mark.parametrize('y', [2, -1, 0.5, math.nan, None, '1'])
def test_label_that_is_neither_0_nor_1_is_refused(method, y):
    calibrator = learned(method, stream(49))
    before = calibrator.state()
    with pytest.raises(ValueError, match='a label must be 0 or 1'):
        calibrator.update(0.4, y)
    assert calibrator.state() == before


@every_method
def test_reset_is_a_new_start(method):
    calibrator = learned(method, stream(60), window=20)
    calibrator.reset()
    assert calibrator.state() == create(method, window=20).state()
    assert answers(calibrator) == GRID


def log_loss(q, y):
    q = np.clip(q, 0.001, 0.999)
    return float(-np.mean(np.where(np.array(y) == 1, np.log(q), np.log(1 - q))))


@pytest.mark.parametrize(
    ('name', 'expected'),
    [('phishing', (0.3607, 0.3603, 0.3646)), ('sine_drift', (0.3276, 0.3054, 0.3420))],
)
def test_log_loss_on_a_stream(name, expected, shared_data):
    table = np.loadtxt(shared_data(f'stream_{name}.csv'), delimiter=',', skiprows=1)
    p, y = table[:, 0].tolist(), table[:, 1].astype(int).tolist()
    for method, value in zip(METHODS, expected):
        calibrator, forecasts = create(method), []
        for x, label in zip(p, y):
            forecasts.append(calibrator.predict(x))
            calibrator.update(x, label)
        assert log_loss(forecasts, y) == pytest.approx(value, abs=6e-5)
