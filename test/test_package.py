# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed, and documents that follow from its tables."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from calib_node.stream.parameter_text import to_markdown

ROOT = Path(__file__).resolve().parents[1]
SHARED_FILES = (
    'share/ament_index/resource_index/packages/calib_node',
    'share/calib_node/package.xml',
    'share/calib_node/config/calib.yaml',
    'share/calib_node/config/sros/policy.xml',
    'share/calib_node/launch/calib.launch.py',
    'lib/calib_node/calib_node',
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
    assert (prefix / 'bin' / 'calib_node').exists()
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


def test_the_readme_follows_the_table_of_parameters():
    assert f'<!-- parameters -->\n\n{to_markdown()}\n' in (ROOT / 'README.md').read_text()


def test_the_project_names_no_place_of_a_machine():
    names = ('*.py', '*.md', '*.rst', '*.yaml', '*.xml', '*.toml', '*.cfg', '*.txt')
    folders = ('benchmarks', 'calib_node', 'config', 'docs', 'examples', 'launch', 'requirements')
    folders += ('scripts', 'test/interfaces')
    files = [*ROOT.glob('*.*'), *(f for d in folders for n in names for f in (ROOT / d).rglob(n))]
    assert len(files) > 40
    for path in files:
        if path.is_file() and path.suffix != '.png' and path.name != '.git':
            assert not re.search(r'/(?:work|root|tmp/exp)/', path.read_text()), path
