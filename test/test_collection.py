# SPDX-License-Identifier: Apache-2.0
"""Every file of tests is collected, also beside the plugin that comes with ROS."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LIKE_LAUNCH_TESTING = """
def pytest_pycollect_makemodule(path, parent):
    # Imported to see whether it is a launch test; a skip here ends the collection of the folder.
    path.pyimport()
"""


def collect(folder: Path, plugins: Path, tests: Path) -> tuple[int, str]:
    """Collect tests as on a machine with ROS; return the exit code and what is said."""
    (plugins / 'like_launch_testing.py').write_text(LIKE_LAUNCH_TESTING)
    # The plugin itself comes by its entry point where it is installed.
    plugin = [] if importlib.util.find_spec('launch_testing') else ['-p', 'like_launch_testing']
    command = [sys.executable, '-m', 'pytest', *plugin, '--collect-only', '-q', str(tests)]
    paths = [str(plugins), *filter(None, [os.environ.get('PYTHONPATH')])]
    done = subprocess.run(
        [*command, '-p', 'no:cacheprovider'],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def test_every_file_contributes_tests(tmp_path: Path):
    code, said = collect(ROOT, tmp_path, ROOT / 'test')
    assert code == 0, said
    collected = [line.partition('::')[0] for line in said.splitlines() if '::' in line]
    files = {str(path.relative_to(ROOT)) for path in (ROOT / 'test').rglob('test_*.py')}
    assert files - set(collected) == set()
    assert f'{len(collected)} tests collected' in said


def test_a_skip_at_the_top_of_a_file_would_hide_others(tmp_path: Path):
    tests = tmp_path / 'tests'
    tests.mkdir()
    skip = "import pytest\npytest.importorskip('no_such_module')\ndef test(): pass\n"
    (tests / 'test_a.py').write_text(skip)
    (tests / 'test_b.py').write_text('def test(): pass\n')
    _, said = collect(tmp_path, tmp_path, tests)
    assert 'test_b.py::' not in said
