# SPDX-License-Identifier: Apache-2.0
"""Each example starts, calibrates what it is for, and learns from its labels."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from std_msgs.msg import Float64MultiArray

from .harness import OtherProcess, World
from .interfaces import interfaces
from .launched import Launched
from .process import run
from .typed import Typed

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples'
NAMES = sorted(path.stem for path in EXAMPLES.glob('*.yaml'))

Pair = tuple[Any, Any]
"""A prediction and a label for it."""


def stamped(message: Any) -> Any:
    message.header.stamp.sec = 12
    return message


def hypothesis(name: str, score: float) -> Any:
    vision, _ = interfaces()
    return vision.ObjectHypothesis(class_id=name, score=score)


def detections(dimensions: int, *objects: tuple[str, str, float]) -> Any:
    """Return detections with id, class and score; they stand side by side."""
    vision, _ = interfaces()
    array = stamped(getattr(vision, f'Detection{dimensions}DArray')())
    for number, (key, name, score) in enumerate(objects):
        one = getattr(vision, f'Detection{dimensions}D')(id=key)
        one.results = [vision.ObjectHypothesisWithPose(hypothesis=hypothesis(name, score))]
        one.bbox.center.position.x = 100.0 * number
        if dimensions == 2:
            one.bbox.size_x = one.bbox.size_y = 50.0
        array.detections.append(one)
    return array


def classification(*results: tuple[str, float]) -> Any:
    vision, _ = interfaces()
    return stamped(vision.Classification(results=[hypothesis(*result) for result in results]))


def numbers(value: float) -> Float64MultiArray:
    return Float64MultiArray(data=[12.0, 0.0, value])


def traversability() -> Pair:
    return numbers(0.9), numbers(0.0)


def percent() -> Pair:
    return numbers(90.0), numbers(0.0)


def grasp_success() -> Pair:
    result = GoalStatus(status=GoalStatus.STATUS_ABORTED)
    result.goal_info.stamp.sec = 12
    return numbers(0.9), result


def detector_boxes() -> Pair:
    seen = detections(2, ('', 'car', 0.9), ('', 'bus', 0.8))
    return seen, detections(2, ('', 'car', 1.0))


def tracker_ids() -> Pair:
    seen = detections(2, ('7', 'car', 0.9), ('8', 'car', 0.8))
    return seen, detections(2, ('8', 'bus', 1.0))


def class_and_distance() -> Pair:
    seen = detections(3, ('', 'car', 0.9), ('', 'car', 0.8))
    return seen, detections(3, ('', 'car', 1.0))


def classifier_names() -> Pair:
    seen = classification(('grass', 0.6), ('road', 0.3), ('water', 0.1))
    return seen, classification(('road', 1.0))


ONE_NODE: dict[str, Callable[[], Pair]] = {
    'traversability': traversability,
    'percent': percent,
    'grasp_success': grasp_success,
    'detector_boxes': detector_boxes,
    'tracker_ids': tracker_ids,
    'class_and_distance': class_and_distance,
    'classifier_names': classifier_names,
}


def test_each_example_is_tested_and_has_both_files():
    assert {*NAMES} == {*ONE_NODE, 'two_cameras'}
    assert {path.name.removesuffix('.launch.py') for path in EXAMPLES.glob('*.py')} == {*NAMES}


@pytest.mark.parametrize('name', ONE_NODE)
def test_an_example_calibrates_and_learns(world: World, name):
    seen, truth = ONE_NODE[name]()
    file = str(EXAMPLES / f'{name}.yaml')
    talk = Typed(world, type(seen), type(truth), {}, '--params-file', file)
    talk.send_until(talk.learned, seen, truth)
    talk.send_until(lambda: talk.heard and talk.heard[-1] != seen, seen)
    assert talk.client.status.level == b'\x00', talk.client.status.message


def test_two_cameras_are_two_nodes_with_what_is_theirs(world: World):
    file = str(EXAMPLES / 'two_cameras.yaml')
    arguments = ['--nodes', 'front', 'rear', '--ros-args', '--params-file', file]
    command = [sys.executable, '-m', 'calib_node.ros.main', *arguments]
    process = OtherProcess(run(command, world.environment()))
    world.processes.append(process)
    for name, method in (('front', 'ops'), ('rear', 'beta')):
        assert f"method='{method}'" in process.wait_for(f'[{name}]', 'ready:')


PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]
BLOCKS = [
    pytest.param(block, id=f'{page.relative_to(ROOT)} {number}')
    for page in PAGES
    for number, block in enumerate(
        re.findall(r'^```yaml\n(/\*\*:\n.*?)^```', page.read_text(), re.M | re.S)
    )
]


@pytest.mark.parametrize('block', BLOCKS)
def test_the_parameters_that_the_documents_show_start_a_node(world: World, block: str):
    interfaces()
    file = world.folder / 'shown.yaml'
    file.write_text(block)
    process = world.start({}, '--params-file', str(file))
    assert 'is unknown' not in process.output
    assert 'has no effect' not in process.output


@pytest.mark.usefixtures('installed')
@pytest.mark.parametrize('name', NAMES)
def test_the_launch_file_of_an_example_starts_it(world: World, name):
    interfaces()
    Launched(world, EXAMPLES / f'{name}.launch.py').wait_for('ready:')
