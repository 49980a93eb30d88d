# SPDX-License-Identifier: Apache-2.0
"""Messages of many objects over the middleware, and the lists that say what they hold."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import Pose, PoseArray

from calib_node.core.calibrators import create

from .harness import World
from .typed import Typed

PARAMETERS = {
    'raw.value_field': 'poses[].orientation.w',
    'raw.scale': [0, 100],
    'raw.no_opinion': [-1],
    'label.value_field': 'poses[].orientation.w',
    'label.positive': [1],
    'label.negative': ['2'],
    'label.ignore': [],
    'match.objects': 'order',
    'contexts': ['range'],
    'context.range.field': 'poses[].position',
    'context.range.edges': [5.0],
}


def poses(second: int, *values: float) -> PoseArray:
    message = PoseArray()
    message.header.stamp.sec = second
    message.header.frame_id = 'camera'
    for number, value in enumerate(values):
        message.poses.append(Pose())
        message.poses[-1].orientation.w = value
        message.poses[-1].position.x = 10.0 * number
    return message


def test_all_objects_of_a_message_by_lists_and_a_context(world: World):
    talk = Typed(world, PoseArray, PoseArray, PARAMETERS)
    ready = talk.process.said('ready:')
    for words in (
        "label.positive=('1',)",
        'label.ignore=()',
        'raw.scale=(0.0, 100.0)',
        "contexts=('range',)",
        'context.range.edges=(5.0,)',
    ):
        assert words in ready
    assert talk.client.get('label.ignore', 'raw.no_opinion', 'context.range.field') == [
        (), (-1.0,), 'poses[].position'
    ]  # fmt: skip
    (refused,) = talk.client.set_each({'label.ignore': ['3']})
    assert refused.reason.startswith('label.ignore is read once, at the start')

    answer = talk.answered(poses(1, 75.0, -1.0, 25.0))
    assert [p.orientation.w for p in answer.poses] == [75.0, -1.0, 25.0]
    assert answer.header.frame_id == 'camera'
    second = iter(range(2, 10**6))
    sent: list[Any] = []

    def pair() -> PoseArray:
        sent.append(next(second))
        return poses(sent[-1], 75.0, -1.0, 25.0)

    def label() -> PoseArray:
        return poses(sent[-1], 2.0, 1.0, 1.0)

    talk.send_until(lambda: talk.figure('learned') >= 20, pair, label)
    talk.send_until(
        lambda: (
            talk.heard[-1].poses[0].orientation.w < 70.0
            and talk.heard[-1].poses[2].orientation.w > 30.0
        ),
        pair,
    )
    assert talk.heard[-1].poses[1].orientation.w == -1.0
    figures = talk.client.figures()
    assert figures['context range < 5'].partition(' ')[0] != '0'
    assert 'offset -' in figures['context range < 5']
    assert 'offset +' in figures['context range >= 5']


def test_a_message_that_is_all_right_otherwise_is_mapped_to_the_bit(world: World):
    plain = {name: PARAMETERS[name] for name in ('raw.value_field', 'label.value_field')}
    talk = Typed(world, PoseArray, PoseArray, {**plain, 'match.objects': 'order'})
    values = [0.1, 0.25, 1.5, 0.999, 0.0]
    answer = talk.answered(poses(1, *values))
    calibrator = create('ops')
    expected = [p if p > 1.0 else calibrator.predict(p) for p in values]
    assert [p.orientation.w for p in answer.poses] == expected
