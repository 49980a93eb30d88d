# SPDX-License-Identifier: Apache-2.0
"""The launch file starts the node with namespace, parameters and remaps."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .harness import SECOND, World

LAUNCH_FILE = Path(__file__).resolve().parents[2] / 'launch' / 'calib.launch.py'

INCLUDING = """
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

service = LaunchService(noninteractive=True)
service.include_launch_description(LaunchDescription([
    IncludeLaunchDescription(
        PythonLaunchDescriptionSource({launch_file!r}), launch_arguments={arguments!r}.items())
]))
raise SystemExit(service.run())
"""


def test_the_launch_file_compiles():
    compile(LAUNCH_FILE.read_text(), str(LAUNCH_FILE), 'exec')


def test_an_including_file_sets_namespace_parameters_and_remaps(world: World):
    pytest.importorskip('launch', reason='launch is not on PyPI')
    pytest.importorskip('launch_ros', reason='launch_ros is not on PyPI')
    packages = pytest.importorskip('ament_index_python.packages')
    try:
        packages.get_package_prefix('calib_node')
    except packages.PackageNotFoundError:
        pytest.skip('calib_node is not installed in a sourced workspace')
    parameters = {'gamma': 0.25, 'diagnostics.period': 0.02}
    file = world.parameters_file({'/**': {'ros__parameters': parameters}})[1]
    arguments = {
        'namespace': '/r1',
        'params_file': file,
        'raw_topic': 'door/raw',
        'labels_topic': 'door/truth',
        'calibrated_topic': 'door/honest',
    }
    client = world.client(
        namespace='/r1',
        topics={
            'raw_probabilities': 'door/raw',
            'labels': 'door/truth',
            'calibrated_probabilities': 'door/honest',
        },
    )
    script = INCLUDING.format(launch_file=str(LAUNCH_FILE), arguments=arguments)
    launched = subprocess.Popen([sys.executable, '-c', script], env=world.environment())
    try:
        client.connect()
        assert client.get('gamma') == [0.25]
        assert client.ask(SECOND, 0.7)
    finally:
        launched.send_signal(signal.SIGINT)
        launched.wait(15)
    assert world.state('r1/calib_node')['updates'] == 0
