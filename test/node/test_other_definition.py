# SPDX-License-Identifier: Apache-2.0
"""A publisher whose package defines the message otherwise than the one that is installed here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from .harness import EXECUTORS, OtherProcess, World
from .interfaces import interfaces
from .process import run
from .typed import Typed

BUILD = Path(__file__).parents[1] / 'interfaces'
DEFINITION = 'std_msgs/Header header\nstring which\nuint8 score\n'
MAKE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import build
build.HERE = Path(sys.argv[2])
build.main(sys.argv[3], 'calib_test_shapes')
"""
PUBLISH = """
import rclpy
from calib_test_shapes.msg import Scores
rclpy.init()
node = rclpy.create_node('of_another_version')
publisher = node.create_publisher(Scores, 'their/raw', 10)
message = Scores(which='another', score=75)
message.header.stamp.sec = 12
node.create_timer(0.05, lambda: publisher.publish(message))
print('publishes', flush=True)
try:
    rclpy.spin(node)
except BaseException:
    pass
"""


@pytest.fixture(scope='module')
def other_version(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what a process must have in its environment to find the package defined otherwise."""
    interfaces()
    pytest.importorskip('rosidl_adapter', reason='what builds messages is not installed')
    folder = tmp_path_factory.mktemp('other_version')
    source = folder / 'calib_test_shapes'
    (source / 'msg').mkdir(parents=True)
    (source / 'package.xml').write_text((BUILD / source.name / 'package.xml').read_text())
    (source / 'msg/Scores.msg').write_text(DEFINITION)
    to = folder / 'prefix'
    (to / 'lib').mkdir(parents=True)
    prefixes = os.environ.get('AMENT_PREFIX_PATH') or sys.prefix
    done = subprocess.run(
        [sys.executable, '-c', MAKE, str(BUILD), str(folder), str(to)],
        env={**os.environ, 'AMENT_PREFIX_PATH': prefixes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (modules,) = to.glob('lib/python*/site-packages')
    before = {name: os.environ.get(name, '') for name in ('PYTHONPATH', 'LD_LIBRARY_PATH')}
    places = {'PYTHONPATH': str(modules), 'LD_LIBRARY_PATH': str(to / 'lib')}
    return {n: os.pathsep.join(filter(None, (p, before[n]))) for n, p in places.items()}


@pytest.mark.parametrize('executor', EXECUTORS)
def test_it_is_named_and_what_it_publishes_ends_nothing(
    world: World, executor: str, other_version: dict[str, str]
):
    _, shapes = interfaces()
    given = {'raw.value_field': 'score', 'raw.scale': [0.0, 100.0], 'executor': executor}
    talk = Typed(world, shapes.Scores, parameters=given)
    good = shapes.Scores(score=50)
    good.header.stamp.sec = 1
    talk.answered(good)
    assert 'definition' not in talk.client.next_status().message
    command = [sys.executable, '-c', PUBLISH]
    other = OtherProcess(run(command, {**world.environment(), **other_version}))
    world.processes.append(other)
    other.wait_for('publishes')
    sentence = (
        '/their/raw: of_another_version publishes calib_test_shapes/msg/Scores by another '
        'definition than that of here, so that it is misread: install the same version of '
        'calib_test_shapes on both sides'
    )
    talk.client.wait_for_status(DiagnosticStatus.WARN, sentence)
    talk.process.wait_for('[WARN]', sentence)
    other.stop()
    heard = len(talk.heard)
    talk.send_until(lambda: len(talk.heard) > heard, good)
    assert talk.heard[-1] == good
    talk.client.spin_until(
        lambda: 'definition' not in talk.client.status.message, 'end of the warning'
    )
