# SPDX-License-Identifier: Apache-2.0
"""The core needs no ROS, imports point downward only, and files stay small."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import calib_node

PACKAGE = Path(calib_node.__file__).parent
FILES = sorted(PACKAGE.rglob('*.py'))

# A module may import what is below it, and its own neighbours in the same package.
LEVELS = {
    'calib_node.core.refusal': 0,
    'calib_node.core.ranges': 1,
    'calib_node.core.recent': 1,
    'calib_node.core.counts': 1,
    'calib_node.core.samples': 1,
    'calib_node.core.numerics': 2,
    'calib_node.core.metrics': 3,
    'calib_node.core.matching': 3,
    'calib_node.core.state': 3,
    'calib_node.core.trust': 4,
    'calib_node.core.calibrators': 4,
    'calib_node.core.outcomes': 5,
    'calib_node.core.evaluate': 5,
    'calib_node.core.pipeline': 6,
    'calib_node.core.frame_pipeline': 7,
    'calib_node.stream': 8,
    'calib_node.bags': 10,
    'calib_node.integrations': 10,
    'calib_node.report': 10,
    'calib_node.ros': 10,
    'calib_node.tools': 11,
}

IMPORT_ALL_OF_CORE = """
import pkgutil, sys
import calib_node.core
for module in pkgutil.walk_packages(calib_node.core.__path__, 'calib_node.core.'):
    __import__(module.name)
print(*sys.modules)
"""


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of everything a file imports, at its top or within functions."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f'{path} imports by a relative name'
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


def group_of(module: str) -> str | None:
    return next((g for g in LEVELS if module == g or module.startswith(f'{g}.')), None)


def relative(paths: list[Path]) -> list:
    return [pytest.param(path, id=str(path.relative_to(PACKAGE))) for path in paths]


def core_files() -> list[Path]:
    return [path for path in FILES if path.is_relative_to(PACKAGE / 'core')]


def test_importing_all_of_core_imports_nothing_above_it(run_python):
    with run_python(IMPORT_ALL_OF_CORE) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    loaded = output.split()
    assert 'calib_node.core.pipeline' in loaded
    tops = {name.split('.')[0] for name in loaded}
    assert not tops & {'rclpy', 'std_msgs', 'std_srvs', 'rcl_interfaces', 'diagnostic_msgs'}
    assert all(
        name == 'calib_node' or name.startswith('calib_node.core')
        for name in loaded
        if name.split('.')[0] == 'calib_node'
    )


@pytest.mark.parametrize('path', relative([f for f in FILES if f.parent != PACKAGE]))
def test_imports_point_downward(path):
    own = group_of(name_of(path))
    if name_of(path) == 'calib_node.core':
        return
    assert own is not None, f'{name_of(path)} has no level'
    for module in imports(path):
        if module.startswith('calib_node.'):
            other = group_of(module)
            assert other is not None, f'{module} has no level'
            assert other == own or LEVELS[other] < LEVELS[own], f'it imports {module}'


@pytest.mark.parametrize('path', relative(core_files()))
def test_core_imports_the_standard_library_numpy_and_yaml_alone(path):
    allowed = {'calib_node', 'numpy', 'yaml', *sys.stdlib_module_names}
    assert {module.split('.')[0] for module in imports(path)} <= allowed


@pytest.mark.parametrize(
    'path',
    relative([f for f in core_files() if f.parent.name != 'state']),
)
def test_core_reads_no_clock_and_no_file_but_for_the_state_file(path):
    """What is learned depends on the messages and their order alone."""
    outside = {'datetime', 'time', 'os', 'pathlib', 'shutil', 'io', 'tempfile', 'random', 'secrets'}
    assert not {module.split('.')[0] for module in imports(path)} & outside
    calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    assert not [call for call in calls if isinstance(call, ast.Name) and call.id == 'open']


@pytest.mark.parametrize(
    'path', relative([f for f in FILES if f.is_relative_to(PACKAGE / 'stream')])
)
def test_stream_knows_no_node_and_no_clock(path):
    allowed = {'calib_node', 'numpy', *sys.stdlib_module_names} - {'datetime', 'time', 'os'}
    assert {module.split('.')[0] for module in imports(path)} <= allowed


@pytest.mark.parametrize('path', relative(FILES))
def test_file_is_of_a_size_to_read(path):
    assert len(path.read_text(encoding='utf-8').splitlines()) <= 300
