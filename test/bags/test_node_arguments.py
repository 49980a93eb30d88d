# SPDX-License-Identifier: Apache-2.0
"""Parameters, remaps and names are those of a node with the same arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from calib_node.bags.node_arguments import node_arguments
from calib_node.bags.problems import RecordingError

FILE = """
/**:
  ros__parameters:
    gamma: 0.2
    match: {tolerance: 0.02}
/front/door:
  ros__parameters: {gamma: 0.3}
/**/door:
  ros__parameters: {rho: 7.0}
other:
  ros__parameters: {gamma: 9.0}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / 'parameters.yaml'
    path.write_text(FILE)
    return str(path)


def test_files_and_arguments(file: str, tmp_path: Path):
    remaps = ['__ns:=/front', '__node:=door']
    later = tmp_path / 'later.yaml'
    later.write_text('door:\n  ros__parameters: {rho: 1.0}\n/**: {ros__parameters: {clip: 0.1}}')
    node = node_arguments([file, str(later)], ['door:radius:=5.0', 'window:radius:=1.0'], remaps)
    assert node.node == '/front/door'
    assert node.parameters == {
        'gamma': 0.3, 'match.tolerance': 0.02, 'rho': 7.0, 'clip': 0.1, 'radius': 5.0,
    }  # fmt: skip
    assert node_arguments([file], ['gamma:=0.4'], []).parameters['gamma'] == 0.4


def test_topics():
    rules = ['labels:=truth', '~/ece:=/ece', 'other:raw:=/no', 'door:raw:=/yes', '/a:=b']
    node = node_arguments([], [], ['__ns:=front', '__name:=door', *rules])
    assert node.topic('labels') == '/front/truth'
    assert node.topic('~/ece') == '/ece'
    assert node.topic('raw') == '/yes'
    assert node.topic('/a') == '/front/b'
    assert node.topic('calibrated') == '/front/calibrated'
    assert node_arguments([], [], []).topic('~/x') == '/calib_node/x'


@pytest.mark.parametrize(
    ('parameters', 'remaps', 'words'),
    [
        (['gamma=0.2'], [], 'name:=value'),
        (['gamma:={'], [], 'not YAML'),
        ([], ['labels=/x'], 'from:=to'),
        ([], ['labels:='], 'from:=to'),
    ],
)
def test_arguments_that_are_none(parameters: list[str], remaps: list[str], words: str):
    with pytest.raises(RecordingError, match=words):
        node_arguments([], parameters, remaps)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (None, 'cannot be read'),
        ('{', 'cannot be read'),
        ('gamma: 0.2', 'has no parameters'),
        ('door: {ros__parameters: {gamma: 0.2}}', 'no section for /calib_node, only for /door'),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: str | None, words: str):
    path = tmp_path / 'parameters.yaml'
    if content is not None:
        path.write_text(content)
    with pytest.raises(RecordingError, match=words):
        node_arguments([str(path)], [], [])
