# SPDX-License-Identifier: Apache-2.0
"""What the node makes of a message, from the bytes that come to those that go out."""

from __future__ import annotations

import math
import struct
from itertools import count
from typing import Any

import pytest

from calib_node.core.metrics import RollingReliability
from calib_node.core.metrics.rolling_scores import RollingScores
from calib_node.core.samples import Match
from calib_node.ros.messages import reliability_message

from .harness import SECOND, World, array, pipeline

NAN, INF = math.nan, math.inf


def bits(numbers: Any) -> list[bytes]:
    return [struct.pack('<d', number) for number in numbers]


def big_endian(*data: float) -> bytes:
    """Return a stamped array as a big-endian machine sends it."""
    return struct.pack(f'>HH3I4x{len(data)}d', 0, 0, 0, 0, len(data), *data)


def test_reliability_message_holds_both_diagrams_with_a_layout_to_index_by():
    scores = RollingScores(RollingReliability, bins=2, window=10)
    for p, q, y in [(0.9, 0.7, 1), (0.8, 0.6, 0), (0.7, 0.4, 1)]:
        scores(Match(stamp=1, key='', context=(), raw=p, published=q, label=y))
    message = reliability_message(scores)
    dimensions = [(dim.label, dim.size, dim.stride) for dim in message.layout.dim]
    assert dimensions == [
        ('raw,calibrated', 2, 12),
        ('bin', 2, 6),
        ('count,mean_probability,frequency', 3, 3),
    ]
    expected = [0, NAN, NAN, 3, 0.8, 2 / 3, 1, 0.4, 1, 2, 0.65, 0.5]
    assert list(message.data) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_both_paths_publish_and_learn_the_same(shared_node):
    client, stamps = shared_node
    calibrator = pipeline().calibrator
    client.trigger('reset')
    sends = [
        lambda data: client.send_raw(data),
        lambda data: client.send_raw(data, sizes=[3]),
        lambda data: client.raw_publisher.publish(big_endian(*data)),
    ]
    for i, send in enumerate(sends * 2):
        stamp = next(stamps)
        p = 0.1 + 0.15 * i
        heard = len(client.calibrated)
        send([float(part) for part in divmod(stamp, SECOND)] + [p])
        client.spin_until(lambda n=heard: len(client.calibrated) > n, 'calibrated probability')
        message = client.calibrated[heard]
        assert list(message.data) == [*divmod(stamp, SECOND), calibrator.predict(p)]
        assert [dim.size for dim in message.layout.dim] == ([3] if i % 3 == 1 else [])
        client.label(stamp, i % 2)
        calibrator.update(p, i % 2)
        client.wait_for_figure('updates', calibrator.updates)
    assert client.figures()['a'] == repr(calibrator.a)
    assert client.figures()['b'] == repr(calibrator.b)


@pytest.fixture(scope='module')
def shared_node(shared: World):
    """Client of one node for the whole module, and stamps that go up."""
    _, client = shared.connected()
    # With many bad labels among few nothing would be learned.
    for number in range(100):
        client.predict(999 * SECOND + number, 0.5)
        client.label(999 * SECOND + number, number % 2)
    client.wait_for_figure('updates', 100)
    client.spin_until(lambda: len(client.calibrated) == 100, 'every answer')
    return client, count(1000 * SECOND, SECOND)


BAD_PREDICTIONS = {
    'NaN': ([0.0, NAN], {}, 'not_finite'),
    'inf': ([0.0, INF], {}, 'not_finite'),
    '-inf': ([0.0, -INF], {}, 'not_finite'),
    'negative': ([0.0, -0.1], {}, 'out_of_range'),
    'above one': ([0.0, 1.5], {}, 'out_of_range'),
    'two values': ([0.0, 0.5, 0.5], {}, 'wrong_length'),
    'no nanoseconds': ([], {}, 'too_short'),
    'fraction of a nanosecond': ([0.5, 0.5], {}, 'bad_stamp'),
    'offset': ([0.0, 0.5], {'offset': 2}, 'layout'),
    'two dimensions': ([0.0, 0.5], {'sizes': [1, 3]}, 'layout'),
}
BAD_LABELS = {
    'two': ([0.0, 2.0], {}, 'bad_label'),
    'a half': ([0.0, 0.5], {}, 'bad_label'),
    'NaN': ([0.0, NAN], {}, 'not_finite'),
    'two values': ([0.0, 1.0, 0.0], {}, 'wrong_length'),
    'no nanoseconds': ([], {}, 'too_short'),
    'wrong size': ([0.0, 1.0], {'sizes': [2]}, 'layout'),
}


def test_bad_predictions_are_counted_by_reason_and_leave_no_trace(shared_node):
    client, stamps = shared_node
    client.teach(next(stamps), 0.3, 1)
    for name, (rest, layout, why) in BAD_PREDICTIONS.items():
        client.next_status()
        before = client.figures()
        heard = len(client.calibrated)
        stamp = next(stamps)
        client.send_raw([stamp // SECOND, *rest], **layout)
        client.wait_for_figure(f'refused: {why}', int(before[f'refused: {why}']) + 1)
        after = client.figures()
        assert int(after['refused']) == int(before['refused']) + 1, name
        client.label(stamp, 1)
        client.wait_for_figure('labels', int(before['labels']) + 1)
        # The next good one is answered and learned: the node goes on.
        client.teach(next(stamps), 0.5, 1)
        assert len(client.calibrated) == heard + 1, name
        assert client.figure('updates') == int(before['updates']) + 1, name


def test_bad_labels_are_counted_by_reason_and_leave_no_trace(shared_node):
    client, stamps = shared_node
    for name, (rest, layout, why) in BAD_LABELS.items():
        stamp = next(stamps)
        client.ask(stamp, 0.3)
        client.next_status()
        before = client.figures()
        client.send_label([stamp // SECOND, *rest], **layout)
        client.wait_for_figure(f'refused: {why}', int(before[f'refused: {why}']) + 1)
        after = client.figures()
        assert int(after['refused']) == int(before['refused']) + 1, name
        assert after['updates'] == before['updates'], name
        # The prediction still waits for its good label.
        client.label(stamp, 0)
        client.wait_for_figure('updates', int(before['updates']) + 1)


def test_label_without_a_stamp_is_refused(shared_node):
    client, _ = shared_node
    before = client.figure('refused: zero_stamp')
    client.send_label([0, 0, 1])
    client.wait_for_figure('refused: zero_stamp', before + 1)


def test_label_without_a_value_is_ignored_and_counted(shared_node):
    client, stamps = shared_node
    stamp = next(stamps)
    client.ask(stamp, 0.3)
    before = client.figure('empty labels')
    client.send_label(divmod(stamp, SECOND))
    client.wait_for_figure('empty labels', before + 1)
    matched = int(client.figures()['matched'])
    client.label(stamp, 1)
    client.wait_for_figure('matched', matched + 1)


def test_prediction_without_a_stamp_is_calibrated_but_never_learned(shared_node):
    client, stamps = shared_node
    client.teach(next(stamps), 0.9, 0)
    client.next_status()
    before = client.figures()
    a, b = float(before['a']), float(before['b'])
    assert client.ask(0, 0.8) == 1 / (1 + math.exp(-(a * math.log(0.8 / (1 - 0.8)) + b)))
    client.wait_for_figure('unstamped predictions', int(before['unstamped predictions']) + 1)
    assert client.figures()['pending predictions'] == before['pending predictions']


def test_no_opinion_passes_unchanged_and_is_never_learned(shared_node):
    client, stamps = shared_node
    updates = client.figure('updates')
    stamp = next(stamps)
    heard = len(client.calibrated)
    client.send_raw(divmod(stamp, SECOND))
    client.spin_until(lambda: len(client.calibrated) > heard, 'no opinion')
    assert list(client.calibrated[heard].data) == list(divmod(stamp, SECOND))
    matched = client.figure('matched')
    client.label(stamp, 1)
    client.wait_for_figure('matched', matched + 1)
    assert client.figure('updates') == updates


@pytest.mark.parametrize(('p', 'taken'), [(-1e-7, 0.0), (1.0 + 1e-7, 1.0)])
def test_a_slight_overshoot_is_clamped(shared_node, p, taken):
    client, stamps = shared_node
    client.trigger('reset')
    assert client.ask(next(stamps), p) == pipeline().calibrator.predict(taken)


def test_on_invalid_pass_republishes_unchanged_and_learns_nothing(shared_node):
    client, stamps = shared_node
    client.set('on_invalid', 'pass')
    updates = client.figure('updates')
    for name, (rest, layout, _) in BAD_PREDICTIONS.items():
        stamp = next(stamps)
        heard = len(client.calibrated)
        message = array([stamp // SECOND, *rest], **layout)
        client.raw_publisher.publish(message)
        client.spin_until(lambda n=heard: len(client.calibrated) > n, name)
        back = client.calibrated[heard]
        assert back.layout == message.layout, name
        assert bits(back.data) == bits(message.data), name
        client.label(stamp, 1)
    assert client.figure('updates') == updates
    client.set('on_invalid', 'drop')


def test_one_reason_is_logged_once_in_a_burst(world: World):
    node, client = world.connected()
    for i in range(50):
        client.predict((i + 1) * SECOND, 1.5)
        client.label((i + 1) * SECOND, 2)
    client.wait_for_figure('refused', 100)
    client.trigger('save_state')
    for what in ('a prediction', 'a label'):
        node.wait_for(f'{what} is refused:')
    said = [line for line in node.lines if 'is refused:' in line]
    assert len(said) == 2
    assert 'the probability is outside [0, 1] (1.5)' in said[0]
    assert 'the label is neither 0 nor 1 (2.0)' in said[1]
