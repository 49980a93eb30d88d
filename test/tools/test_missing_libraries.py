# SPDX-License-Identifier: Apache-2.0
"""A tool whose library is missing names it with the line that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bags.bags import drive, record

RUN = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from calib_node.tools.{tool} import main
sys.exit(main({arguments!r}))
"""
OPTIONAL = ('rosbags', 'mcap', 'jinja2', 'matplotlib', 'rich', 'distributed', 'pyarrow', 'tqdm')


def run(tool: str, missing: tuple[str, ...], *arguments: object) -> tuple[int, str, list[str]]:
    """Run a tool in a process where libraries are missing."""
    script = RUN.format(missing=missing, tool=tool, arguments=[*map(str, arguments)])
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize(
    ('tool', 'missing', 'arguments', 'line'),
    [
        ('replay', 'rosbags', ['BAG'], 'pip install calib_node[replay]'),
        ('replay', 'mcap', ['BAG', '--order', 'publish'], 'pip install calib_node[replay]'),
        ('replay', 'jinja2', ['BAG', '--report', 'OUT/r.html'], 'pip install calib_node[report]'),
        ('replay', 'pyarrow', ['BAG', '--samples', 'OUT/s.parquet'], '[parquet]'),
        ('replay', 'distributed', ['BAG', '--workers', '2'], 'pip install calib_node[cluster]'),
        ('report', 'jinja2', ['--samples', 'OUT/s.csv'], 'pip install calib_node[report]'),
        ('report', 'matplotlib', ['--samples', 'OUT/s.csv'], 'pip install calib_node[report]'),
        ('top', 'rich', [], 'pip install calib_node[top]'),
    ],
)
def test_the_line_that_installs_it(
    tmp_path: Path, tool: str, missing: str, arguments: list[str], line: str
):
    path = record(tmp_path / 'bag', drive(40))
    (tmp_path / 's.csv').write_text('stamp,key,raw,published,label\n1,,0.5,0.5,1\n')
    given = [a.replace('BAG', str(path)).replace('OUT', str(tmp_path)) for a in arguments]
    code, _, errors = run(tool, (missing,), *given)
    assert code == 1, errors
    (sentence,) = errors
    assert line in sentence
    assert missing in sentence or missing == 'distributed'


def test_a_replay_needs_rosbags_alone(tmp_path: Path):
    path = record(tmp_path / 'bag', drive(40))
    others = tuple(name for name in OPTIONAL if name != 'rosbags')
    code, out, errors = run('replay', others, path, '--state', tmp_path / 'state.yaml')
    assert (code, errors) == (0, [])
    assert '35 matched' in out


def test_the_node_and_help_need_none():
    for tool in ('replay', 'report', 'top', 'plot'):
        script = RUN.format(missing=OPTIONAL, tool=tool, arguments=['--help'])
        done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ''), tool
