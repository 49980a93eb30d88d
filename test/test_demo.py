# SPDX-License-Identifier: Apache-2.0
"""The demo as a process, with the node's own executable, over DDS."""

from __future__ import annotations

import csv
import fcntl
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from node.harness import take_domain
from report.pages import Page

from calib_node.tools import node_process
from calib_node.tools.node_process import NodeError, NodeProcess, find_executable
from calib_node.tools.recording import load_recording

RATE = 400.0
SAMPLES = 400

Start = Callable[..., 'subprocess.Popen[str]']


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the demo in a ROS domain of its own; it is killed if the test leaves it running."""
    domain, mark = take_domain()
    environment = {
        **os.environ,
        'ROS_DOMAIN_ID': str(domain),
        'ROS_HOME': str(tmp_path / 'ros'),
        'PYTHONIOENCODING': 'utf-8',
    }
    running = []

    def start_demo(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, '-m', 'calib_node.tools.demo', '--output', 'out', *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding='utf-8',
        )
        running.append(process)
        return process

    with mark:
        yield start_demo
        for process in running:
            if process.poll() is None:
                # Orderly, so that it stops the node.
                process.terminate()
                process.communicate(timeout=60)
            process.stdout.close()


def read_until(process: subprocess.Popen[str], word: str) -> str:
    """Return what the demo says up to the line with the word."""
    said = ''
    for line in process.stdout:
        said += line
        if word in line:
            return said
    raise AssertionError(f'ended before it said {word!r}:\n{said}')


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.slow
def test_whole_demo(start: Start, tmp_path: Path):
    demo = start('--rate', f'{RATE:g}', '--samples', str(SAMPLES))
    said, _ = demo.communicate(timeout=60)
    assert demo.returncode == 0, said
    half = SAMPLES // 2
    assert said.count(f'{half} published, {half} came back, {half} labels matched') == 2
    assert f'over all {SAMPLES} predictions that came back' in said
    for name in ('accuracy', 'log-loss', 'Brier score', 'ECE'):
        assert f'\n{name} ' in said
    assert '\n0.93-1.00 ' in said
    assert 'Not as it should be' not in said

    # The restart carried on: the same numbers before and after, and all labels learned at last.
    learned = [line for line in said.splitlines() if line.endswith(f'{half} updates')]
    assert len(learned) == 2
    assert learned[0] == learned[1]
    assert 'the same to the last bit' in said
    state = yaml.safe_load((tmp_path / 'out' / 'state.yaml').read_text())
    assert state['updates'] == SAMPLES
    assert not (tmp_path / 'ros').exists()

    with (tmp_path / 'out' / 'samples.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    recording = load_recording()[:SAMPLES]
    assert [float(row['raw']) for row in rows] == [answer.probability for answer in recording]
    assert [int(row['label']) for row in rows] == [answer.label for answer in recording]
    assert all(0.0 < float(row['calibrated']) < 1.0 for row in rows)
    stamps = [int(row['stamp_ns']) for row in rows]
    gaps = [(b - a) / 1e9 for a, b in pairwise(stamps)]
    assert min(gaps) > 0.0
    assert 0.5 / RATE < statistics.median(gaps) < 2.0 / RATE

    output = tmp_path / 'out'
    assert 'Report   out/report.html' in said
    page = Page((output / 'report.html').read_text()).text
    assert f'They rest on {SAMPLES} matches' in page
    assert f'0.0% of {SAMPLES} predictions were never labelled' in page

    # What it recorded is replayed to the same number of labels.
    replayed = tmp_path / 'replayed.yaml'
    command = [sys.executable, '-m', 'calib_node.tools.replay', str(output / 'recording')]
    command += ['-r', '__ns:=/calib_demo', '--method', 'beta', '--state', str(replayed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f'{SAMPLES} matched' in done.stdout
    assert '* lowest log-loss: ' in done.stdout
    assert yaml.safe_load(replayed.read_text())['updates'] == SAMPLES


def test_ctrl_c_stops_the_demo_and_the_node(start: Start, tmp_path: Path):
    demo = start()
    said = read_until(demo, 'First half')
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=60)
    said += rest
    assert demo.returncode == 130, said
    assert 'Traceback' not in said
    assert 'saved to' in (tmp_path / 'out' / 'node.log').read_text()
    assert not is_locked(tmp_path / 'out' / 'state.yaml.lock')


def test_demo_says_so_when_the_node_dies(start: Start):
    demo = start()
    said = read_until(demo, 'First half')
    children = Path(f'/proc/{demo.pid}/task/{demo.pid}/children')
    if not children.exists():
        pytest.skip('this kernel does not list the children of a process')
    (node,) = children.read_text().split()
    os.kill(int(node), signal.SIGKILL)
    rest, _ = demo.communicate(timeout=60)
    said += rest
    assert demo.returncode == 1, said
    assert 'The node ended by itself (signal SIGKILL). The last that it said:' in said
    assert 'ready: raw_probabilities is /calib_demo/raw_probabilities' in said
    assert 'Traceback' not in said


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n{text}\n')
    path.chmod(0o755)
    return path


def test_executable_is_found_by_python_then_prefix_then_path(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'bin' / 'python'))
    environment = {
        'AMENT_PREFIX_PATH': f'{tmp_path / "empty"}:{tmp_path / "prefix"}',
        'PATH': str(tmp_path / 'path'),
    }
    with pytest.raises(NodeError, match='calib_node is not installed'):
        find_executable(environment)
    for place in ('path', 'prefix/lib/calib_node', 'bin'):
        executable = script(tmp_path / place / 'calib_node', 'true')
        assert find_executable(environment) == executable


def test_process_that_ends_is_reported_with_its_last_words(tmp_path: Path):
    log = tmp_path / 'node.log'
    log.write_text('of an earlier process\n')
    process = NodeProcess([str(script(tmp_path / 'node', 'echo broken >&2; exit 3'))], log)
    process._process.wait(5)
    with pytest.raises(NodeError) as error:
        process.check()
    assert str(error.value) == (
        'The node ended by itself (exit code 3). The last that it said:\n    broken'
    )


def test_process_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(node_process, 'STOP_WITHIN', 0.2)
    command = ['sh', '-c', "trap '' INT; echo ready; while :; do sleep 0.05; done"]
    log = tmp_path / 'node.log'
    process = NodeProcess(command, log)
    while not log.read_text():
        process.check()
    assert process.stop().startswith('killed')
    with pytest.raises(NodeError, match='SIGKILL'):
        process.check()
