# SPDX-License-Identifier: Apache-2.0
"""A probability a class, through the codecs and through the node."""

from __future__ import annotations

import math
import signal
import struct
from array import array as typed_array
from contextlib import suppress
from itertools import count
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseWithCovarianceStamped
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from std_msgs.msg import Float32MultiArray, Int32

from calib_node.core.calibrators import create_multiclass
from calib_node.core.matching import StampMatcher
from calib_node.core.pipeline import MulticlassPipeline
from calib_node.core.refusal import Refused
from calib_node.core.samples import Label, Prediction
from calib_node.ros.fields import make_codec
from calib_node.ros.messages import StampedProbabilities
from calib_node.stream.table import TABLE

from .harness import SECOND, Client, World, array, decoded

CODEC = StampedProbabilities()
NAN, INF = math.nan, math.inf
DEFAULTS = {spec.name: spec.default for spec in TABLE}
HYPOTHESIS = settings(derandomize=True, deadline=None, database=None, max_examples=200)


def codec(classes: int = 3, side: str = 'raw', **given: Any) -> Any:
    values = {name if name in DEFAULTS else f'{side}.{name}': v for name, v in given.items()}
    return make_codec({**DEFAULTS, 'classes': classes, **values}, side)


def core(method: str, classes: int, **parameters: float) -> MulticlassPipeline:
    """Return the core that a node with these parameters runs."""
    return MulticlassPipeline(create_multiclass(method, classes, **parameters), StampMatcher())


def samples(classes: int, number: int, seed: int) -> list[tuple[list[float], int]]:
    """Return overconfident probabilities and their labels."""
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(classes, 0.4), number)
    truth = [int(generator.choice(classes, p=0.5 * p + 0.5 / classes)) for p in rows]
    return list(zip(rows.tolist(), truth))


def stamped(stamp: int, values: Any = ()) -> list[float]:
    return [*divmod(stamp, SECOND), *values]


def bits(numbers: Any) -> list[bytes]:
    return [struct.pack('<d', number) for number in numbers]


# Stamped arrays


def reason(data: bytes) -> str:
    """Return why bytes are refused."""
    with pytest.raises(Refused) as refusal:
        CODEC.decode(data)
    return refusal.value.reason


@HYPOTHESIS
@given(
    st.integers(0, 2**33 - 1),
    st.integers(0, SECOND - 1),
    st.lists(st.floats(), min_size=1, max_size=20),
)
@example(0, 0, [0.5, 0.5])
@example(5, 7, [NAN, INF, -0.0])
def test_bytes_and_object_read_the_same(sec, nanosec, values):
    plain = serialize_message(array([sec, nanosec, *values]))
    with_dimension = serialize_message(array([sec, nanosec, *values], sizes=[len(values) + 2]))
    for data, kind in ((plain, bytes), (with_dimension, object)):
        stamp, read, carrier = CODEC.decode(data)
        assert isinstance(carrier, kind)
        assert stamp == sec * SECOND + nanosec
        assert read.dtype == np.float64
        assert bits(read) == bits(values)


@HYPOTHESIS
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20), st.data())
def test_only_the_values_are_replaced(values, data):
    drawn = st.lists(st.floats(0.0, 1.0), min_size=len(values), max_size=len(values))
    calibrated = np.array(data.draw(drawn))
    plain = serialize_message(array([5, 7, *values]))
    with_dimension = serialize_message(array([5, 7, *values], sizes=[len(values) + 2]))
    for message in (plain, with_dimension):
        out = CODEC.encode(CODEC.decode(message)[2], calibrated)
        out = decoded(out) if isinstance(out, bytes) else out
        assert bits(out.data) == bits([5, 7, *calibrated])
        assert out.layout == decoded(message).layout


@HYPOTHESIS
@given(st.integers(0, 59), st.integers(0, 255))
@example(12, 4)
def test_any_changed_byte_is_read_or_refused(position, byte):
    data = bytearray(serialize_message(array([5, 7, 0.5, 0.25, 0.25])))
    data[position] = byte
    with suppress(Refused):
        stamp, values, _ = CODEC.decode(bytes(data))
        assert 0 <= stamp < 2**33 * SECOND
        assert values is None or values.dtype == np.float64


def test_padding_is_ignored():
    data = bytearray(serialize_message(array([5, 7, 0.5, 0.5])))
    data[16:20] = b'\xde\xad\xbe\xef'
    stamp, values, carrier = CODEC.decode(bytes(data))
    assert (stamp, values.tolist()) == (5 * SECOND + 7, [0.5, 0.5])
    assert isinstance(carrier, bytes)


def test_truncated_bytes_are_undecodable():
    whole = serialize_message(array([5, 7, 0.5, 0.5]))
    for length in range(len(whole)):
        assert reason(whole[:length]) == 'undecodable', length


def test_no_value_is_none():
    assert CODEC.decode(serialize_message(array([5, 7])))[:2] == (5 * SECOND + 7, None)


@pytest.mark.parametrize(
    ('data', 'layout', 'expected'),
    [
        ([], {}, 'too_short'),
        ([1], {}, 'too_short'),
        ([1, 2, 0.5, 0.5], {'offset': 1}, 'layout'),
        ([1, 2, 0.5, 0.5], {'sizes': [2]}, 'layout'),
        ([1, 2, 0.5, 0.5], {'sizes': [2, 2]}, 'layout'),
        ([1.5, 2, 0.5, 0.5], {}, 'bad_stamp'),
        ([1, 1e9, 0.5, 0.5], {}, 'bad_stamp'),
        ([NAN, 2, 0.5, 0.5], {}, 'bad_stamp'),
        ([1, INF, 0.5, 0.5], {'sizes': [4]}, 'bad_stamp'),
    ],
)
def test_what_is_not_a_stamped_array_is_refused(data, layout, expected):
    assert reason(serialize_message(array(data, **layout))) == expected


@pytest.mark.parametrize(('side', 'hint'), [('raw', True), ('label', False)])
def test_several_values_where_one_is_expected_name_the_parameter(side, hint):
    data = serialize_message(array([5, 7, 0.5, 0.25, 0.25]))
    with pytest.raises(Refused, match='3 instead of 1') as refusal:
        codec(classes=1, side=side).decode(data)
    assert refusal.value.reason == 'wrong_length'
    assert ('set the parameter classes' in str(refusal.value)) is hint


def test_a_label_is_one_value_however_many_classes_there_are():
    reader = codec(classes=10, side='label')
    assert reader.decode(serialize_message(array([5, 7, 9])))[:2] == (5 * SECOND + 7, 9.0)
    with pytest.raises(Refused, match='3 instead of 1'):
        reader.decode(serialize_message(array([5, 7, 0, 0, 1])))


# Arrays by their field paths

PROBABILITIES = np.array([0.7, 0.2, 0.1])


def test_an_array_of_single_precision_is_read_and_stays_one():
    reader = codec(type='std_msgs/msg/Float32MultiArray', value_field='data', stamping='arrival')
    message = Float32MultiArray(data=[0.5, 0.3, 0.2])
    message.layout.data_offset = 4
    stamp, values, carrier = reader.decode(message)
    assert stamp == 0
    assert values.dtype == np.float64
    assert values.tolist() == message.data.tolist()
    sent = reader.encode(carrier, PROBABILITIES)
    assert (sent.data.typecode, sent.layout.data_offset) == ('f', 4)
    assert sent.data.tolist() == PROBABILITIES.astype(np.float32).tolist()
    # What came in is learned and scored later, and must not change by what went out.
    assert values.tolist() == typed_array('f', [0.5, 0.3, 0.2]).tolist()


def test_an_array_of_double_precision_is_written_bit_for_bit():
    reader = codec(type='std_msgs/msg/Float64MultiArray', value_field='data', stamping='arrival')
    _, values, carrier = reader.decode(array(PROBABILITIES))
    assert values.tolist() == PROBABILITIES.tolist()
    thirds = np.full(3, 1.0 / 3.0)
    sent = reader.encode(carrier, thirds)
    assert sent.data.typecode == 'd'
    assert bits(sent.data) == bits(thirds)
    assert values.tolist() == PROBABILITIES.tolist()


def test_an_array_of_fixed_size_keeps_its_type_and_the_header_gives_the_stamp():
    path = {'type': 'geometry_msgs/msg/PoseWithCovarianceStamped', 'value_field': 'pose.covariance'}
    reader = codec(classes=36, **path)
    message = PoseWithCovarianceStamped()
    message.header.stamp.sec, message.header.frame_id = 5, 'map'
    message.pose.covariance[0] = 1.0
    stamp, values, carrier = reader.decode(message)
    assert (stamp, values.tolist()) == (5 * SECOND, [1.0] + [0.0] * 35)
    sent = reader.encode(carrier, np.full(36, 1.0 / 36.0))
    assert isinstance(sent.pose.covariance, np.ndarray)
    assert sent.pose.covariance.tolist() == [1.0 / 36.0] * 36
    assert sent.header.frame_id == 'map'
    assert values[0] == 1.0
    with pytest.raises(ValueError, match=r"'pose.covariance' holds 36 numbers, not 3"):
        codec(classes=3, **path)


def test_an_empty_array_is_no_opinion():
    reader = codec(type='std_msgs/msg/Float32MultiArray', value_field='data', stamping='arrival')
    assert reader.decode(Float32MultiArray())[:2] == (0, None)


def test_an_array_of_anything_else_is_refused_when_it_comes():
    path = {'type': 'geometry_msgs/msg/PoseArray', 'value_field': 'poses[0].position.x'}
    reader = codec(**path)
    message = reader.message_type(poses=[PoseWithCovarianceStamped().pose.pose])
    with pytest.raises(Refused, match='no array of floats') as refusal:
        reader.decode(message)
    assert refusal.value.reason == 'not_a_number'


@pytest.mark.parametrize(
    ('classes', 'settings', 'words'),
    [
        (
            3,
            {'type': 'std_msgs/msg/Int32MultiArray', 'value_field': 'data'},
            'does not hold an array of floating point numbers, which classes of 3 needs',
        ),
        (3, {'type': 'std_msgs/msg/Float64'}, 'does not hold an array'),
        (3, {'type': 'std_msgs/msg/String', 'value_field': 'data'}, 'does not hold an array'),
        (
            1,
            {'type': 'std_msgs/msg/Float32MultiArray', 'value_field': 'data'},
            'for a probability a class set the parameter classes to their number',
        ),
    ],
)
def test_what_cannot_be_configured_says_what_to_set(classes, settings, words):
    with pytest.raises(ValueError, match=words):
        codec(classes, stamping='arrival', **settings)


# The node


def run_rounds(client: Client, pipeline: MulticlassPipeline, start: int, rounds: int) -> None:
    """Feed node and core alike, labels late and in another order; compare every output."""
    batch = 40
    matched = client.figure('matched')
    for number in range(rounds):
        client.calibrated.clear()
        fed = samples(pipeline.classes, batch, seed=start + number)
        stamps = [(start + number * batch + i) * SECOND // 20 for i in range(batch)]
        for stamp, (p, _) in zip(stamps, fed):
            client.send_raw(stamped(stamp, p))
        client.spin_until(lambda: len(client.calibrated) == batch, 'every output')
        for message, stamp, (p, _) in zip(client.calibrated, stamps, fed):
            answer = pipeline.predict(Prediction(stamp, np.array(p)))
            assert bits(message.data) == bits(stamped(stamp, answer.probability))
        order = np.random.default_rng(number).permutation(batch)
        for i in order.tolist():
            client.label(stamps[i], fed[i][1])
            pipeline.label(Label(stamps[i], float(fed[i][1])))
        matched += batch
        client.wait_for_figure('matched', matched)


@pytest.mark.parametrize(('method', 'classes'), [('ops', 3), ('temperature', 10), ('tops', 4)])
def test_outputs_and_state_are_the_cores_over_a_restart(world: World, method, classes):
    parameters = {'method': method, 'classes': classes}
    pipeline = core(method, classes)
    node, client = world.connected(parameters)
    run_rounds(client, pipeline, 1_000_000, rounds=3)
    node.stop(signal.SIGTERM)
    saved = world.state()
    state = pipeline.calibrator.state()
    assert (saved['method'], saved['classes'], saved['updates']) == (method, classes, 120)
    assert {key: saved[key] for key in state} == state

    second = world.start(parameters)
    second.wait_for('going on from 120 updates')
    client.connect()
    run_rounds(client, pipeline, 2_000_000, rounds=2)
    second.stop(signal.SIGINT)
    assert world.state()['updates'] == pipeline.calibrator.updates == 200


def test_a_thousand_classes_pass(world: World):
    pipeline = core('ops', 1000)
    _, client = world.connected({'classes': 1000})
    run_rounds(client, pipeline, 1_000_000, rounds=2)
    assert client.figures()['classes'] == '1000'
    assert client.figure('updates') == 80


def test_the_calibrators_parameters_are_taken_and_change_live(world: World):
    pipeline = core('ops', 3, gamma=0.02)
    _, client = world.connected({'classes': 3, 'gamma': 0.02})
    # The default of clip depends on the number of classes.
    assert client.get('gamma', 'clip', 'classes') == [0.02, 0.01 / 3, 3]
    run_rounds(client, pipeline, 1_000_000, rounds=1)
    client.set('clip', 0.05)
    pipeline.calibrator.configure(clip=0.05)
    run_rounds(client, pipeline, 2_000_000, rounds=1)
    (result,) = client.set_each({'classes': 4})
    assert not result.successful


@pytest.fixture(scope='module')
def shared_node(shared: World):
    """Node of three classes and its client for the whole module, and stamps that go up."""
    node, client = shared.connected({'classes': 3, 'ece.min_samples': 1_000_000})
    return node, client, count(1000 * SECOND, SECOND)


BAD_PREDICTIONS = {
    'two values': ([0.5, 0.5], 'wrong_length'),
    'four values': ([0.25] * 4, 'wrong_length'),
    'one value': ([0.9], 'wrong_length'),
    'NaN': ([NAN, 0.5, 0.5], 'not_finite'),
    'inf': ([0.5, 0.5, INF], 'not_finite'),
    'negative': ([0.5, 0.7, -0.2], 'out_of_range'),
    'above one': ([1.5, 0.0, 0.0], 'out_of_range'),
    'low sum': ([0.5, 0.4, 0.05], 'bad_sum'),
    'high sum': ([0.5, 0.5, 0.5], 'bad_sum'),
}


def answered(client: Client, stamp: int, p: list[float]) -> list[float]:
    """Publish a prediction and return what comes back for it."""
    heard = len(client.calibrated)
    client.send_raw(stamped(stamp, p))
    client.spin_until(lambda: len(client.calibrated) > heard, 'calibrated probabilities')
    assert list(client.calibrated[heard].data[:2]) == stamped(stamp)
    return list(client.calibrated[heard].data[2:])


def test_bad_predictions_are_counted_by_reason_and_leave_no_trace(shared_node):
    _, client, stamps = shared_node
    for name, (p, why) in BAD_PREDICTIONS.items():
        client.next_status()
        before = client.figures()
        heard = len(client.calibrated)
        stamp = next(stamps)
        client.send_raw(stamped(stamp, p))
        client.wait_for_figure(f'refused: {why}', int(before[f'refused: {why}']) + 1)
        assert int(client.figures()['refused']) == int(before['refused']) + 1, name
        client.label(stamp, 1)
        # The next good one is answered and learned: the node goes on.
        stamp = next(stamps)
        answered(client, stamp, [0.7, 0.2, 0.1])
        client.label(stamp, 1)
        client.wait_for_figure('updates', int(before['updates']) + 1)
        assert len(client.calibrated) == heard + 1, name


def test_refusals_say_what_was_expected(shared_node):
    node, client, stamps = shared_node
    for why, p, words in [
        ('wrong_length', [0.5, 0.5], 'the number of values is wrong (2 instead of 3, one a class)'),
        ('bad_sum', [0.5, 0.4, 0.05], 'the probabilities of the classes do not sum to 1'),
    ]:
        before = client.figure(f'refused: {why}')
        client.send_raw(stamped(next(stamps), p))
        client.wait_for_figure(f'refused: {why}', before + 1)
        node.wait_for('a prediction is refused', words)
    before = client.figure('refused: bad_label')
    client.label(next(stamps), 3)
    client.wait_for_figure('refused: bad_label', before + 1)
    node.wait_for('a label is refused', 'one of 3 classes, 0 to 2')


@pytest.mark.parametrize(
    ('value', 'why'), [(3, 'bad_label'), (-1, 'bad_label'), (0.5, 'bad_label'), (NAN, 'not_finite')]
)
def test_bad_labels_are_counted_by_reason_and_their_prediction_waits(shared_node, value, why):
    _, client, stamps = shared_node
    stamp = next(stamps)
    answered(client, stamp, [0.7, 0.2, 0.1])
    client.next_status()
    before = client.figures()
    client.label(stamp, value)
    client.wait_for_figure(f'refused: {why}', int(before[f'refused: {why}']) + 1)
    assert client.figures()['updates'] == before['updates']
    client.label(stamp, 2)
    client.wait_for_figure('updates', int(before['updates']) + 1)


def test_no_opinion_passes_unchanged_and_is_never_learned(shared_node):
    _, client, stamps = shared_node
    updates = client.figure('updates')
    stamp = next(stamps)
    assert answered(client, stamp, []) == []
    matched = client.figure('matched')
    client.label(stamp, 1)
    client.wait_for_figure('matched', matched + 1)
    assert client.figure('updates') == updates


def test_a_softmax_of_single_precision_is_taken_and_the_answer_sums_to_one(shared_node):
    _, client, stamps = shared_node
    p = np.array([0.1, 0.7, 0.2], np.float32).tolist()
    assert sum(p) != 1.0
    assert sum(answered(client, next(stamps), p)) == pytest.approx(1.0, abs=1e-12)


def test_bytes_and_objects_give_the_same(shared_node):
    _, client, stamps = shared_node
    p = [0.7, 0.2, 0.1]
    plain = answered(client, next(stamps), p)
    stamp = next(stamps)
    heard = len(client.calibrated)
    client.send_raw(stamped(stamp, p), sizes=[5])
    client.spin_until(lambda: len(client.calibrated) > heard, 'calibrated probabilities')
    message = client.calibrated[heard]
    assert bits(message.data) == bits(stamped(stamp, plain))
    assert [dim.size for dim in message.layout.dim] == [5]


def test_on_invalid_pass_republishes_unchanged(shared_node):
    _, client, stamps = shared_node
    client.set('on_invalid', 'pass')
    for name, (p, _) in BAD_PREDICTIONS.items():
        stamp = next(stamps)
        assert bits(answered(client, stamp, p)) == bits(p), name
    client.set('on_invalid', 'drop')


def test_figures_say_what_they_are_of(shared_node):
    _, client, stamps = shared_node
    client.trigger('reset')
    client.set('ece.period', 0.02)
    pipeline = core('ops', 3)
    for number, (p, y) in enumerate(samples(3, 20, seed=1), 1):
        stamp = next(stamps)
        pipeline.predict(Prediction(stamp, np.array(p)))
        answered(client, stamp, p)
        pipeline.label(Label(stamp, float(y)))
        client.label(stamp, y)
        client.wait_for_figure('updates', number)
    client.wait_for_figure('samples in window', 20)
    figures = client.figures()
    assert len(figures) == len(client.status.values)
    assert figures['classes'] == '3'
    for prefix, scores in (('raw ', pipeline.raw), ('', pipeline.calibrated)):
        assert figures[f'{prefix}ECE (top class)'] == f'{scores.ece():.6f}'
        assert figures[f'{prefix}Brier score (sum over classes)'] == f'{scores.brier():.6f}'
        name = f'{prefix}log-loss (true class, clip 0.001)'
        assert figures[name] == f'{scores.log_loss():.6f}'
    client.wait_for_last(client.ece, pipeline.calibrated.ece())
    client.wait_for_last(client.raw_ece, pipeline.raw.ece())
    table = pipeline.raw.table() + pipeline.calibrated.table()
    expected = [float(number) for row in table for number in row]
    client.spin_until(lambda: bits(client.reliability[-1].data) == bits(expected), 'diagrams')


def test_a_binary_node_that_hears_several_values_names_the_parameter(world: World):
    node, client = world.connected()
    assert client.figures()['classes'] == '1'
    client.send_raw(stamped(SECOND, [0.5, 0.3, 0.2]))
    client.wait_for_figure('refused: wrong_length', 1)
    node.wait_for('3 instead of 1', 'set the parameter classes')


def test_names_of_classes_do_not_go_with_several(world: World):
    sentence = world.refused({'classes': 3, 'positive_class': 'ground'})
    assert 'positive_class' in sentence
    assert 'classes is 3' in sentence


@pytest.mark.parametrize('classes', [0, 1001, -1, 2.5])
def test_a_number_of_classes_that_cannot_be_ends_the_start(world: World, classes):
    sentence = world.refused({'classes': classes})
    assert f'classes must be a whole number >= 1 and <= 1000, not {classes}' in sentence


@pytest.mark.parametrize(('before', 'after'), [(3, 4), (3, 1), (1, 3)])
def test_a_state_file_of_another_number_of_classes_is_set_aside(world: World, before, after):
    uniform = [1.0 / before] * before
    node, client = world.connected({'classes': before})
    client.send_raw(stamped(SECOND, uniform))
    client.label(SECOND, 0)
    client.wait_for_figure('updates', 1)
    node.stop()
    second, client = world.connected({'classes': after})
    second.wait_for(f'it was saved with classes {before}, not with {after}')
    assert client.figure('updates') == 0
    client.wait_for_status(DiagnosticStatus.ERROR, f'classes {before}, not with {after}')
    (aside,) = world.state_path().parent.glob('*.corrupt-*')
    assert 'updates: 1' in aside.read_text()
    second.stop()
    assert world.state().get('classes', 1) == after


def test_an_array_in_a_message_by_its_path_over_dds(world: World):
    client = world.client()
    world.start(
        {
            'classes': 3,
            'raw.type': 'std_msgs/msg/Float32MultiArray',
            'raw.value_field': 'data',
            'raw.stamping': 'arrival',
            'label.type': 'std_msgs/msg/Int32',
            'label.stamping': 'arrival',
            'match.tolerance': 0.5,
        },
        remaps={
            'raw_probabilities': 'scores',
            'labels': 'truth',
            'calibrated_probabilities': 'out',
        },
    )
    heard: list[Float32MultiArray] = []
    client.node.create_subscription(Float32MultiArray, 'out', heard.append, 10)
    scores = client.node.create_publisher(Float32MultiArray, 'scores', 10)
    truths = client.node.create_publisher(Int32, 'truth', 10)
    p = typed_array('f', [0.7, 0.2, 0.1])

    def send() -> None:
        scores.publish(Float32MultiArray(data=p))
        truths.publish(Int32(data=2))

    client.spin_until(lambda: send() or heard, 'calibrated scores')
    expected = create_multiclass('ops', 3).predict(np.array(p, np.float64))
    assert heard[0].data.typecode == 'f'
    assert heard[0].data.tolist() == expected.astype(np.float32).tolist()
    # They go on until a prediction is past a label by the tolerance.
    client.spin_until(
        lambda: send() or (client.statuses and client.figures()['learned'] != '0'),
        'a label learned',
    )
