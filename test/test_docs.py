# SPDX-License-Identifier: Apache-2.0
"""The documents: links lead somewhere, commands are real, and the tutorial runs as it stands."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from node.harness import take_domain
from node.process import OtherProcess, run

from calib_node.tools import demo, plot, reference, replay, report, top
from calib_node.tools.command_line import OF_ROS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]
PARSERS = {
    'calib_replay': replay.make_parser, 'calib_report': report.make_parser,
    'calib_top': top.make_parser, 'calib_plot': plot.make_parser,
    'scripts/demo': lambda: demo.make_parser(2100),
}  # fmt: skip
ids = [str(page.relative_to(ROOT)) for page in PAGES]


def commands(page: Path) -> list[str]:
    """Return the commands of a page: its indented lines, continued ones joined."""
    text = re.sub(r'```.*?```', '', page.read_text(), flags=re.S).replace('\\\n', ' ')
    return [' '.join(line.split()) for line in re.findall(r'^    (\S.*)$', text, re.M)]


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r'\]\(([^)\s]+)\)', page.read_text()):
        if not re.match(r'https?:', target):
            path, _, anchor = target.partition('#')
            assert (page.parent / path).exists(), target
            assert not anchor, f'{target}: a heading may change'


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_commands_are_those_of_the_tools(page: Path):
    for command in commands(page):
        words = shlex.split(command, comments=True)
        if words and words[0] in PARSERS:
            given = [word for word in words[1:] if word not in OF_ROS]
            if words[0] == 'calib_plot':
                continue
            options, unknown = PARSERS[words[0]]().parse_known_args(given)
            assert not unknown, command
            assert options


def test_every_page_is_in_the_index():
    index = (ROOT / 'docs' / 'README.md').read_text()
    for page in (ROOT / 'docs').rglob('*.md'):
        if page.name != 'README.md':
            assert f']({page.relative_to(ROOT / "docs")})' in index


@pytest.mark.parametrize('name', [*reference.PAGES])
def test_the_reference_follows_from_the_tables(name: str):
    """``python -m calib_node.tools.reference docs/reference`` writes it."""
    assert (ROOT / 'docs' / 'reference' / name).read_text() == reference.PAGES[name]()


def test_the_readme_is_short():
    assert 60 <= len((ROOT / 'README.md').read_text().splitlines()) <= 150


@pytest.mark.slow
def test_the_tutorial_runs_as_it_stands(tmp_path: Path):
    """From an empty folder, each command in turn."""
    domain, mark = take_domain()
    environment = {
        **os.environ,
        'PATH': os.pathsep.join([str(Path(sys.executable).parent), os.environ['PATH']]),
        'PWD': str(tmp_path),
        'ROS_DOMAIN_ID': str(domain),
        'ROS_HOME': str(tmp_path / 'ros'),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }
    said: dict[str, str] = {}
    steps = commands(ROOT / 'docs' / 'tutorial.md')
    node: OtherProcess | None = None
    with mark:
        try:
            for command in steps:
                if command.startswith('source '):
                    continue
                line = re.sub(r'^scripts/', f'{ROOT}/scripts/', command)
                if command.startswith('calib_node '):
                    words = [os.path.expandvars(w) for w in shlex.split(line)]
                    words = [
                        word.replace(os.environ.get('PWD', '\0'), str(tmp_path)) for word in words
                    ]
                    node = OtherProcess(run(words, environment))
                    node.wait_for('going on from 2100 updates')
                    node.wait_for('ready:')
                    continue
                done = subprocess.run(
                    ['bash', '-c', line], cwd=tmp_path, env=environment,
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
                assert done.returncode == 0, f'{command}\n{done.stdout}{done.stderr}'
                said[command.split()[0] + str(len(said))] = done.stdout
        finally:
            if node is not None:
                node.stop(signal.SIGINT)
    shown, dry, table, state, of_top = said.values()
    assert 'Report   demo_output/report.html' in shown
    assert 'would match  2,100 of 2,100 labels' in dry
    assert re.search(r'^mixture \*', table, re.M), 'the tutorial says that the mixture is best'
    assert (tmp_path / 'what_if.html').exists()
    assert 'State    door.yaml' in state
    assert of_top.startswith('/calib_node ')
    kept = yaml.safe_load((tmp_path / 'door.yaml').read_text())
    assert (kept['method'], kept['updates']) == ('mixture', 2100)
