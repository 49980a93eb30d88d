# SPDX-License-Identifier: Apache-2.0
"""Whatever arrives where rclpy itself listens, the process goes on and says so."""

from __future__ import annotations

import pytest
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rosgraph_msgs.msg import Clock

from .harness import EXECUTORS, SECOND, World, pipeline

NO_TYPE = Parameter(name='gamma', value=ParameterValue(type=42, double_value=0.5))
SOUND = Parameter(name='rho', value=ParameterValue(type=3, double_value=5.0))
NEVER = Parameter(name='rho', value=ParameterValue(type=3, double_value=7.0))


@pytest.mark.parametrize('executor', EXECUTORS)
def test_a_request_with_a_value_of_no_type_is_refused_by_name(world: World, executor):
    node, client = world.connected({'executor': executor})
    answers = client.call(
        SetParameters,
        f'{client.full_name}/set_parameters',
        SetParameters.Request(parameters=[NO_TYPE, SOUND]),
    )
    malformed, sound = answers.results
    assert not malformed.successful
    assert 'gamma has a value of type 42' in malformed.reason
    assert sound.successful
    answer = client.call(
        SetParametersAtomically,
        f'{client.full_name}/set_parameters_atomically',
        SetParametersAtomically.Request(parameters=[NEVER, NO_TYPE]),
    )
    assert not answer.result.successful
    assert 'gamma has a value of type 42' in answer.result.reason
    assert client.get('gamma', 'rho') == [0.1, 5.0]
    assert client.ask(SECOND, 0.9) == pipeline(rho=5.0).calibrator.predict(0.9)
    node.stop()


@pytest.mark.parametrize('executor', EXECUTORS)
def test_a_negative_time_on_the_clock_is_left_aside(world: World, executor):
    node, client = world.connected({'executor': executor, 'use_sim_time': True})
    clock = world.stranger().create_publisher(Clock, '/clock', 10)
    negative, sound = Clock(), Clock()
    negative.clock.sec = -5
    sound.clock.sec = 7

    def said() -> bool:
        clock.publish(negative)
        return bool(node.said('ERROR', 'what came on /clock', 'must not be negative'))

    client.spin_until(said, 'sentence')

    def taken() -> bool:
        clock.publish(sound)
        return client.statuses[-1][0].header.stamp.sec == 7

    client.spin_until(taken, 'time')
    assert client.teach(SECOND, 0.9, 0) == pipeline().calibrator.predict(0.9)
    node.stop()
    assert world.state()['updates'] == 1
