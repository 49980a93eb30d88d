# SPDX-License-Identifier: Apache-2.0
"""What came last on an input."""

from __future__ import annotations

import numpy as np
import pytest
from pipelines import MS, make, one_and_many, predict, sure

from calib_node.core.pipeline import RECENT_LABELS, RECENT_PREDICTIONS
from calib_node.core.recent import Recent
from calib_node.core.refusal import Refused
from calib_node.core.samples import Label


def filled() -> Recent:
    recent = Recent(5)
    recent.items.extend([0.1, 0.2, None])
    recent.refuse(Refused('out_of_range', 80.0))
    recent.items.append(0.5)
    recent.refuse(Refused('not_finite', 'nan'))
    return recent


def test_the_last_messages_are_kept_in_order_refused_ones_by_their_reason():
    assert list(filled().items) == [0.2, None, 'out_of_range', 0.5, 'not_finite']
    assert filled().last(3) == ['not_finite', 0.5, 'out_of_range']
    assert filled().last(100) == ['not_finite', 0.5, 'out_of_range', None, 0.2]


@pytest.mark.parametrize(
    ('count', 'refused'),
    [
        (1, {'not_finite': 1}),
        (2, {'not_finite': 1}),
        (3, {'not_finite': 1, 'out_of_range': 1}),
        (100, {'not_finite': 1, 'out_of_range': 1}),
    ],
)
def test_refused_ones_are_counted_by_reason_among_the_last(count, refused):
    assert filled().refused(count) == refused


def test_values_are_those_that_were_taken():
    assert filled().values() == [0.2, 0.5]


def test_the_last_refusal_is_told_in_its_sentence_until_the_next():
    recent = Recent(1)
    assert recent.last_refusal == ''
    recent.refuse(Refused('out_of_range', 80.0))
    recent.items.append(0.5)
    assert recent.last_refusal == 'the probability is outside [0, 1] (80.0)'
    assert recent.refused(100) == {}


def test_an_array_and_a_zero_are_values_and_nothing_is_none():
    recent = Recent(4)
    assert (recent.last(3), recent.values(), recent.refused(3)) == ([], [], {})
    p = np.array([0.5, 0.5])
    recent.items.extend([0, 0.0, p, None])
    assert recent.values() == [0, 0.0, p]
    assert recent.refused(4) == {}


@one_and_many
def test_a_pipeline_keeps_the_last_of_both_inputs(classes):
    pipeline = make(classes)
    p = sure(classes)
    predict(pipeline, MS, p * (1.0 + 1e-7))
    predict(pipeline, 2 * MS, None)
    with pytest.raises(Refused):
        predict(pipeline, 3 * MS, p * np.nan)
    pipeline.refuse_prediction(Refused('layout'))
    first, *rest = pipeline.recent_predictions.items
    assert first == pytest.approx(p)
    assert rest == [None, 'not_finite', 'layout']
    pipeline.label(Label(MS, 1.0))
    pipeline.label(Label(2 * MS, None))
    for stamp, value in ((3 * MS, -1.0), (0, 1.0)):
        with pytest.raises(Refused):
            pipeline.label(Label(stamp, value))
    pipeline.refuse_label(Refused('too_short'))
    assert list(pipeline.recent_labels.items) == [1, None, 'bad_label', 'zero_stamp', 'too_short']
    assert type(pipeline.recent_labels.items[0]) is int
    for number in range(500):
        predict(pipeline, (10 + number) * MS, p)
        pipeline.label(Label((10 + number) * MS, 0.0))
    assert len(pipeline.recent_predictions.items) == RECENT_PREDICTIONS == 200
    assert len(pipeline.recent_labels.items) == RECENT_LABELS == 300
