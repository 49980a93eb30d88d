# SPDX-License-Identifier: Apache-2.0
"""Objects that are told by their ids, each by itself."""

from __future__ import annotations

from frames import MS, SECOND, frame, observed, pipeline_of, told, whole
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.refusal import Refused
from calib_node.core.samples import LabelFrame


def labels(stamp: int, told_of: dict[str, float], **columns: object) -> LabelFrame:
    return LabelFrame(stamp, list(told_of.values()), keys=list(told_of), **columns)


def test_labels_of_a_message_come_one_by_one_and_in_any_order():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(SECOND, [0.9, 0.8, 0.7], keys=['a', 'b', 'c']))
    whole(pipeline, labels(SECOND, {'c': 1.0}))
    whole(pipeline, labels(SECOND, {'b': 0.0, 'a': 1.0}))
    assert told(matches) == [(SECOND, 0.7, 1), (SECOND, 0.9, 1), (SECOND, 0.8, 0)]
    assert [match.key for match in matches] == ['c', 'a', 'b']
    whole(pipeline, labels(SECOND, {'c': 1.0}))
    counts = pipeline.matcher.counts
    assert (counts.matched, counts.duplicate) == (3, 1)
    assert pipeline.matcher.pending_predictions == 0


def test_a_label_finds_the_nearest_message_that_holds_its_id():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(SECOND, [0.9], keys=['a']))
    pipeline.predict_frame(frame(SECOND + 4 * MS, [0.8], keys=['b']))
    whole(pipeline, labels(SECOND + 5 * MS, {'a': 1.0}))
    assert matches == []
    pipeline.predict_frame(frame(SECOND + 20 * MS, [0.7], keys=['c']))
    assert told(matches) == [(SECOND, 0.9, 1)]


def test_one_that_has_its_label_gives_none_to_its_neighbour():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    for number in (0, 1):
        pipeline.predict_frame(frame(SECOND + number * 8 * MS, [0.9], keys=['a']))
    pipeline.predict_frame(frame(2 * SECOND, [0.9], keys=['a']))
    whole(pipeline, labels(SECOND, {'a': 1.0}))
    whole(pipeline, labels(SECOND + MS, {'a': 0.0}))
    assert len(matches) == 1
    assert pipeline.matcher.counts.duplicate == 1


def test_labels_come_before_their_messages():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    whole(pipeline, labels(SECOND, {'a': 1.0, 'b': 0.0}))
    assert pipeline.matcher.pending_labels == 2
    pipeline.predict_frame(frame(SECOND, [0.9, 0.8], keys=['b', 'a']))
    assert told(matches) == [(SECOND, 0.9, 0), (SECOND, 0.8, 1)]
    assert pipeline.matcher.pending_labels == 0


def test_an_id_twice_in_a_message_is_no_ones():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(SECOND, [0.9, 0.8, 0.7], keys=['a', 'a', 'b']))
    whole(pipeline, labels(SECOND, {'a': 1.0, 'b': 1.0}))
    assert told(matches) == [(SECOND, 0.7, 1)]
    assert pipeline.counts.ambiguous == 1


def test_an_id_twice_in_a_message_of_labels_contradicts_itself():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(SECOND, [0.9], keys=['a']))
    whole(pipeline, LabelFrame(SECOND, [1.0, 0.0], keys=['a', 'a']))
    assert told(matches) == [(SECOND, 0.9, 1)]
    assert pipeline.counts.ambiguous == 1


def test_results_of_an_object_are_told_by_their_class():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    names = ['car', 'bus', 'car']
    pipeline.predict_frame(frame(SECOND, [0.9, 0.1, 0.6], keys=['a', 'a', 'b'], names=names))
    whole(pipeline, labels(SECOND, {'a': 1.0}, names=['bus'], by_name=True))
    assert told(matches) == [(SECOND, 0.9, 0), (SECOND, 0.1, 1)]
    whole(pipeline, labels(SECOND, {'b': 0.0}, names=['car']))
    assert told(matches)[2:] == [(SECOND, 0.6, 0)]


def test_ids_that_come_back_after_a_day_are_others():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    day = 86_400 * SECOND
    for stamp in (SECOND, SECOND + day, 2 * SECOND + day):
        pipeline.predict_frame(frame(stamp, [0.9], keys=['a']))
    whole(pipeline, labels(SECOND, {'a': 1.0}))
    whole(pipeline, labels(SECOND + day, {'a': 0.0}))
    pipeline.flush()
    assert told(matches) == [(SECOND + day, 0.9, 0)]
    assert (pipeline.matcher.counts.expired, pipeline.matcher.counts.unmatched) == (2, 1)


def test_a_label_later_than_the_horizon_says_what_it_needed():
    pipeline = pipeline_of('id')
    for number in range(1, 100):
        pipeline.predict_frame(frame(number * SECOND, [0.9], keys=['a']))
    whole(pipeline, labels(5 * SECOND, {'a': 1.0}))
    pipeline.flush()
    assert pipeline.matcher.gone is not None
    assert pipeline.matcher.gone.late >= 94 * SECOND


def test_time_steps_back():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(100 * SECOND, [0.9], keys=['a']))
    pipeline.predict_frame(frame(SECOND, [0.8], keys=['a']))
    whole(pipeline, labels(SECOND, {'a': 1.0}))
    assert told(matches) == [(SECOND, 0.8, 1)]
    assert (pipeline.matcher.counts.jumps_back, pipeline.matcher.counts.expired) == (1, 1)
    assert pipeline.matcher.jumps_within(2) == [99 * SECOND]


def test_a_message_that_is_refused_keeps_its_place():
    pipeline = pipeline_of('id')
    matches = observed(pipeline)
    pipeline.predict_frame(frame(100 * MS, [0.9], keys=['a']))
    pipeline.refuse_prediction(Refused('wrong_length', stamp=106 * MS))
    whole(pipeline, labels(106 * MS, {'a': 0.0}))
    pipeline.flush()
    assert matches == []
    assert (pipeline.counts.without_value, pipeline.matcher.counts.matched) == (1, 0)


STEPS = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(0, 300),
        st.lists(st.sampled_from('abcd'), max_size=4),
    ),
    max_size=40,
)


@given(steps=STEPS)
def test_every_object_and_every_label_is_counted_once(steps):
    pipeline = pipeline_of('id', capacity=20)
    matcher, counts = pipeline.matcher, pipeline.matcher.counts
    predicted = labelled = 0
    for is_label, at, keys in steps:
        stamp = SECOND + at * 10 * MS
        if is_label:
            keys = list(dict.fromkeys(keys))
            whole(pipeline, LabelFrame(stamp, [1.0] * len(keys), keys=keys))
            labelled += len(keys)
        else:
            pipeline.predict_frame(frame(stamp, [0.7] * len(keys), keys=keys))
            predicted += len(keys)
        assert counts.matched + counts.expired + matcher.pending_predictions == predicted
    pipeline.flush()
    assert counts.matched + counts.expired == predicted
    taken = pipeline.counts.learned + pipeline.counts.ambiguous
    assert taken + counts.unmatched + counts.duplicate == labelled
    assert matcher.pending_labels == matcher.pending_predictions == 0
