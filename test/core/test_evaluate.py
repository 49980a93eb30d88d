# SPDX-License-Identifier: Apache-2.0
"""Forecasts over a stream, each made before its label is learned."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from calib_node.core.calibrators import create, create_multiclass
from calib_node.core.evaluate import forecasts, progressive

SAMPLES = [(0.9, 0), (0.8, 0), (0.7, 0), (0.6, 1), (0.9, 0)]


class Diary:
    """A calibrator that forecasts how many labels it has learned, and notes what it is given."""

    def __init__(self):
        self.learned = []

    def issue(self, p):
        return len(self.learned), f'ticket of {p}'

    def update(self, p, y, ticket):
        self.learned.append((p, y, ticket))


@pytest.mark.parametrize(
    ('delay', 'known'), [(0, [0, 1, 2, 3, 4]), (2, [0, 0, 0, 1, 2]), (9, [0] * 5)]
)
def test_a_label_is_learned_so_many_predictions_later_with_its_ticket(delay, known):
    diary = Diary()
    assert forecasts(diary, SAMPLES, delay) == known
    learned = SAMPLES[: max(0, 5 - delay)]
    assert diary.learned == [(p, y, f'ticket of {p}') for p, y in learned]


def test_each_sample_is_yielded_with_its_forecast_and_label():
    expected = [(p, number, y) for number, (p, y) in enumerate(SAMPLES)]
    assert list(progressive(Diary(), SAMPLES)) == expected


@pytest.mark.parametrize('delay', [0, 3])
def test_an_endless_stream_is_taken_sample_by_sample(delay):
    diary, taken = Diary(), []
    endless = ((taken.append(number) or number, 0) for number in itertools.count())
    run = progressive(diary, endless, delay)
    for number, _ in zip(range(20), run):
        assert len(taken) == number + 1
        assert len(diary.learned) == max(0, number + 1 - delay)


@pytest.mark.parametrize('delay', [0, 3])
def test_it_is_what_issuing_and_updating_by_hand_gives(delay):
    generator = np.random.default_rng(0)
    rows = generator.dirichlet([0.5] * 3, 60)
    labels = generator.integers(3, size=60).tolist()
    together, by_hand = (create_multiclass('ops', 3) for _ in range(2))
    expected = []
    for number, row in enumerate(rows):
        expected.append(by_hand.predict(row))
        if number >= delay:
            by_hand.update(rows[number - delay], labels[number - delay])
    assert np.array_equal(forecasts(together, zip(rows, labels), delay), expected)
    assert together.state() == by_hand.state()


@pytest.mark.parametrize('delay', [-1, 0.5, '1', None, True])
def test_a_delay_that_is_no_number_of_predictions_is_refused_at_once(delay):
    with pytest.raises(ValueError, match='delay must be a whole number >= 0, not'):
        progressive(create('ops'), SAMPLES, delay)


def test_a_sample_that_is_refused_ends_the_run_with_its_sentence():
    calibrator = create('ops')
    with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
        forecasts(calibrator, [(0.8, 1), (1.2, 0)])
    assert calibrator.updates == 1
