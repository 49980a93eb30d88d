# SPDX-License-Identifier: Apache-2.0
"""The launch file starts the node with namespace, parameters and remaps, or says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from .harness import SECOND, World
from .launched import Launched

LAUNCH_FILE = Path(__file__).resolve().parents[2] / 'launch' / 'calib.launch.py'

needs_launch = pytest.mark.usefixtures('installed')


@pytest.mark.parametrize('file', sorted(LAUNCH_FILE.parent.glob('*.py')), ids=lambda f: f.name)
def test_the_launch_file_compiles(file: Path):
    compile(file.read_text(), str(file), 'exec')


@needs_launch
@pytest.mark.parametrize('file', sorted(LAUNCH_FILE.parent.glob('*.py')), ids=lambda f: f.name)
def test_the_launch_file_describes_its_arguments(file: Path):
    launch = pytest.importorskip('launch')
    sources = pytest.importorskip('launch.launch_description_sources')
    description = sources.PythonLaunchDescriptionSource(str(file)).get_launch_description(
        launch.LaunchContext()
    )
    arguments = description.get_launch_arguments()
    assert arguments
    assert all(argument.description for argument in arguments)


@needs_launch
def test_the_demo_ends_by_itself(world: World, tmp_path: Path):
    packages = pytest.importorskip('ament_index_python')
    try:
        packages.get_package_prefix('calib_node')
    except packages.PackageNotFoundError:
        pytest.skip('calib_node is not installed where launch looks: build it by colcon')
    file = LAUNCH_FILE.with_name('demo.launch.py')
    launched = Launched(world, file, {'output': str(tmp_path / 'out'), 'rate': '1000'})
    assert launched.wait() == 0
    assert (tmp_path / 'out' / 'state.yaml').exists()


@needs_launch
def test_an_including_file_sets_namespace_parameters_and_remaps(world: World):
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
    launched = Launched(world, LAUNCH_FILE, arguments)
    client.connect()
    assert client.get('gamma') == [0.25]
    assert client.ask(SECOND, 0.7)
    launched.stop()
    assert world.state('r1/calib_node')['updates'] == 0


@needs_launch
def test_parameters_that_an_including_file_sets_count_where_the_file_says_nothing_else(
    world: World,
):
    of_the_file = {'gamma': 0.25}
    file = world.parameters_file({'/**': {'ros__parameters': of_the_file}})[1]
    launched = Launched(world, LAUNCH_FILE, {'params_file': file}, {'gamma': 0.5, 'ece.bins': 7})
    ready = launched.wait_for('ready:')
    assert 'gamma=0.25,' in ready
    assert 'ece.bins=7,' in ready


@needs_launch
def test_parameters_that_an_including_file_sets_count_without_a_file(world: World):
    launched = Launched(world, LAUNCH_FILE, {}, {'ece.bins': 7, 'match.policy': 'hold'})
    ready = launched.wait_for('ready:')
    assert 'ece.bins=7,' in ready
    assert "match.policy='hold'," in ready


@needs_launch
def test_a_parameters_file_that_is_not_there_ends_the_launch(world: World):
    launched = Launched(world, LAUNCH_FILE, {'params_file': str(world.folder / 'clib.yaml')})
    assert launched.wait() != 0
    assert launched.said('params_file: there is no file', str(world.folder / 'clib.yaml'))
    assert not launched.said('ready:')


@needs_launch
@pytest.mark.parametrize('given', ['', 'true'])
def test_simulated_time_is_followed_where_the_argument_says_so(world: World, given):
    client = world.client()
    Launched(world, LAUNCH_FILE, {'use_sim_time': given}, {'diagnostics.period': 0.02})
    client.spin_until(lambda: client.statuses, 'diagnostics')
    assert client.get('use_sim_time') == [given == 'true']
