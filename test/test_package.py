# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed, and documents that follow from its tables."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
EXECUTABLES = (
    'calib_node', 'calib_demo', 'calib_plot', 'calib_replay', 'calib_report', 'calib_top',
)  # fmt: skip
SHARED_FILES = (
    'share/ament_index/resource_index/packages/calib_node',
    'share/calib_node/package.xml',
    'share/calib_node/config/calib.yaml',
    'share/calib_node/config/sros/policy.xml',
    'share/calib_node/config/layouts/foxglove.json',
    'share/calib_node/config/layouts/plotjuggler.xml',
    'share/calib_node/launch/calib.launch.py',
    'share/calib_node/launch/demo.launch.py',
    'share/calib_node/launch/replay.launch.py',
    *(f'lib/calib_node/{name}' for name in EXECUTABLES),
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a copy of the source tree that a build may litter."""
    kept = ('calib_node', 'config', 'launch', 'resource', 'test')
    folder = tmp_path / 'src' / 'calib_node'
    folder.mkdir(parents=True)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
        elif path.name in kept:
            shutil.copytree(
                path, folder / path.name, ignore=shutil.ignore_patterns('__pycache__', '*.egg-info')
            )
    return folder


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def missing(prefix: Path) -> list[str]:
    return [name for name in SHARED_FILES if not (prefix / name).exists()]


def test_pip_installs_package_and_share_files(source: Path, tmp_path: Path):
    if not {'bdist_wheel'} & {entry.name for entry in entry_points(group='distutils.commands')}:
        pytest.skip('this setuptools builds no wheels and the package wheel is not installed')
    prefix = tmp_path / 'prefix'
    options = (
        '--quiet',
        '--ignore-installed',
        '--no-deps',
        '--no-build-isolation',
        '--no-warn-script-location',
    )
    run(sys.executable, '-m', 'pip', 'install', *options, '--prefix', str(prefix), '.', cwd=source)
    assert missing(prefix) == []
    assert all((prefix / 'bin' / name).exists() for name in EXECUTABLES)
    (library,) = prefix.glob('lib/python*/site-packages')
    for name in EXECUTABLES[1:]:
        # As `ros2 run` starts it.
        said = subprocess.run(
            [prefix / 'lib' / 'calib_node' / name, '--help'],
            env={**os.environ, 'PYTHONPATH': str(library)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout.startswith(f'usage: {name} ')
    assert (library / 'calib_node' / 'report' / 'page.html').exists()
    assert list(prefix.glob('lib/python*/site-packages/calib_node/tools/data/*.csv'))


@pytest.mark.slow
def test_colcon_builds_and_tests(source: Path, tmp_path: Path):
    beside = Path(sys.executable).with_name('colcon')
    colcon = str(beside) if beside.exists() else shutil.which('colcon')
    if colcon is None:
        pytest.skip('colcon is not installed')
    workspace = source.parents[1]
    run(colcon, 'build', cwd=workspace)
    assert missing(workspace / 'install' / 'calib_node') == []
    run(colcon, 'test', '--pytest-args', 'test/core/test_metrics.py', cwd=workspace)
    result = run(colcon, 'test-result', '--all', cwd=workspace)
    tests, errors, failures = map(int, re.findall(r'(\d+) (?:tests|errors|failures)', result)[-3:])
    assert tests > 5
    assert (errors, failures) == (0, 0)


def test_version_is_the_same_everywhere():
    version = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    assert f"version='{version}'" in (ROOT / 'setup.py').read_text()
    assert version in (ROOT / 'CHANGELOG.rst').read_text()


def test_the_project_names_no_place_of_a_machine():
    names = ('*.py', '*.md', '*.rst', '*.yaml', '*.xml', '*.toml', '*.cfg', '*.txt')
    folders = ('benchmarks', 'calib_node', 'config', 'docs', 'examples', 'launch', 'requirements')
    folders += ('scripts', 'test/interfaces')
    files = [*ROOT.glob('*.*'), *(f for d in folders for n in names for f in (ROOT / d).rglob(n))]
    assert len(files) > 40
    for path in files:
        if path.is_file() and path.suffix != '.png' and path.name != '.git':
            assert not re.search(r'/(?:work|root|tmp/exp)/', path.read_text()), path


def test_the_changelog_is_one_that_bloom_reads():
    changelog = pytest.importorskip('catkin_pkg.changelog', reason='catkin_pkg is not installed')
    found = changelog.get_changelog_from_path(str(ROOT), 'calib_node')
    assert '0.1.0' in [version for version, _, _ in found.foreach_version()]
    assert 'Forthcoming' in (ROOT / 'CHANGELOG.rst').read_text()


def test_the_checks_before_a_commit_have_the_versions_of_the_tests():
    hooks = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())
    revisions = {repo['repo'].rpartition('/')[2]: repo.get('rev') for repo in hooks['repos']}
    pinned = dict(re.findall(r'^(\w+)==(\S+)', (ROOT / 'requirements/test.txt').read_text(), re.M))
    assert revisions['ruff-pre-commit'] == f'v{pinned["ruff"]}'


def test_the_workflow_tests_every_release():
    workflow = yaml.safe_load((ROOT / '.github/workflows/test.yml').read_text())
    releases = workflow['jobs']['ros']['strategy']['matrix']['release']
    assert releases == ['humble', 'jazzy', 'kilted', 'lyrical', 'rolling']


def test_the_tools_ask_for_their_libraries_and_the_node_for_none_of_them():
    packages = pytest.importorskip('catkin_pkg.package', reason='catkin_pkg is not installed')
    needed = {}
    for given in ('', '1'):
        package = packages.parse_package(str(ROOT / 'package.xml'))
        package.evaluate_conditions({'CALIB_NODE_TOOLS': given})
        needed[given] = {d.name for d in package.exec_depends if d.evaluated_condition}
    assert 'rclpy' in needed['']
    assert not needed[''] & {'python3-matplotlib', 'python3-jinja2', 'python3-rosbags-pip'}
    assert needed['1'] - needed[''] >= {'python3-matplotlib', 'python3-jinja2', 'sensor_msgs'}


@pytest.mark.parametrize('name', EXECUTABLES[1:])
def test_each_tool_completes_its_command_line(name: str, tmp_path: Path):
    pytest.importorskip('argcomplete', reason='argcomplete is not installed')
    module = name.removeprefix('calib_')
    source = (ROOT / 'calib_node' / 'tools' / f'{module}.py').read_text()
    assert 'PYTHON_ARGCOMPLETE_OK' in source[:1024]
    line = f'{name} --'
    answer = tmp_path / 'answer'
    answer.touch()
    environment = {
        **os.environ,
        '_ARGCOMPLETE': '1',
        '_ARGCOMPLETE_IFS': '\n',
        '_ARGCOMPLETE_STDOUT_FILENAME': str(answer),
        'COMP_LINE': line,
        'COMP_POINT': str(len(line)),
        'COMP_TYPE': '9',
    }
    command = [sys.executable, '-m', f'calib_node.tools.{module}']
    subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False)
    assert '--help' in answer.read_text()
