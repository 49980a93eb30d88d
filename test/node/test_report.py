# SPDX-License-Identifier: Apache-2.0
"""calib_report on a node that runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from report.pages import Page

from calib_node.tools import report_node

from .harness import SECOND, World


def calib_report(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-m', 'calib_node.tools.report', *arguments]
    return subprocess.run(
        command, env=world.environment(), capture_output=True, text=True, check=False
    )


def test_from_a_node(world: World, tmp_path: Path):
    _, client = world.connected({'gamma': 0.2, 'ece.period': 0.05})
    for number in range(40):
        client.teach((1000 + number) * SECOND, 0.9, float(number % 3 > 0))
    assert client.trigger('save_state').success
    page = tmp_path / 'page.html'
    done = calib_report(world, '--node', 'calib_node', '--output', str(page))
    assert done.returncode == 0, done.stderr
    text = Page(page.read_text()).text
    assert 'This is of the last 40 matches' in text
    assert 'Method ops, 40 labels learned' in text
    assert 'predictions were never labelled' in text
    assert 'gamma: 0.2' in text
    assert 'Not known from here' not in text


def test_from_a_node_that_has_learned_nothing(world: World, tmp_path: Path):
    world.connected()
    page = tmp_path / 'page.html'
    done = calib_report(world, '--node', '/calib_node', '--output', str(page))
    assert done.returncode == 0, done.stderr
    assert 'no matches here to judge by' in Page(page.read_text()).text


def test_a_node_that_is_not_there(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from calib_node.tools.report import main

    monkeypatch.setattr(report_node, 'HEARD_WITHIN', 0.5)
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    assert main(['--node', '/nobody']) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith('calib_report: no diagnostics of /nobody came')
