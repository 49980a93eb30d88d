# SPDX-License-Identifier: Apache-2.0
"""What a replay writes: a state, a table of matches, and a copy with the calibrated topic."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from report.pages import Page

from calib_node.bags.definitions import RecordedMessages
from calib_node.bags.recording import Recording
from calib_node.core.calibrators import create, create_multiclass

from .bags import (
    LABELS,
    RAW,
    SECOND,
    START,
    Recorded,
    drive,
    matched,
    record,
    replayed,
    stamped_array,
)

Capture = pytest.CaptureFixture[str]
CALIBRATED = '/calibrated_probabilities'
COUNT = 40


def state_of(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text())
    del document['saved_at']
    return document


def values_of(message: bytes) -> list[float]:
    store = RecordedMessages().store('std_msgs/msg/Float64MultiArray')
    return store.deserialize_cdr(message, 'std_msgs/msg/Float64MultiArray').data.tolist()


# State


def test_the_state_is_that_of_the_core(tmp_path: Path, capsys: Capture):
    path, state = record(tmp_path / 'bag', drive(COUNT)), tmp_path / 'state.yaml'
    code, out, errors = replayed(capsys, path, '--state', state, '-p', 'gamma:=0.2')
    assert (code, errors, matched(out)) == (0, [], COUNT - 5)
    calibrator = create('ops', gamma=0.2)
    tickets = {}
    for message in drive(COUNT):
        second, nanosecond, value = values_of(message.data)
        stamp = int(second) * SECOND + int(nanosecond)
        if message.topic == RAW:
            tickets[stamp] = value, calibrator.issue(value)[1]
        else:
            p, ticket = tickets[stamp]
            calibrator.update(p, int(value), ticket)
    document = state_of(state)
    assert {key: document[key] for key in calibrator.state()} == calibrator.state()
    assert (document['node'], document['method']) == ('/calib_node', 'ops')


def test_the_state_has_the_name_of_the_node(tmp_path: Path, capsys: Capture):
    path, state = record(tmp_path / 'bag', drive(COUNT), types=None), tmp_path / 'state.yaml'
    named = ('-r', '__ns:=/front', '-r', '__node:=door', '-r', f'raw_probabilities:={RAW}')
    code, _, _ = replayed(capsys, path, '--state', state, *named, '-r', f'labels:={LABELS}')
    assert (code, state_of(state)['node']) == (0, '/front/door')


def test_one_recording_after_the_other_is_both_at_once(tmp_path: Path, capsys: Capture):
    first, second = [*drive(COUNT)], [*drive(COUNT, START + 3600 * SECOND, seed=2)]
    one, two = record(tmp_path / 'one', first), record(tmp_path / 'two', second, 'SQLITE3')
    both, chained, middle = (tmp_path / f'{n}.yaml' for n in ('both', 'chained', 'middle'))
    assert replayed(capsys, one, two, '--state', both)[0] == 0
    assert replayed(capsys, one, '--state', middle)[0] == 0
    before = middle.read_bytes()
    assert replayed(capsys, two, '--start', middle, '--state', chained)[0] == 0
    assert state_of(both) == state_of(chained)
    assert state_of(both)['updates'] == 2 * (COUNT - 5)
    assert middle.read_bytes() == before


def test_a_state_that_is_there_is_kept(tmp_path: Path, capsys: Capture):
    path, state = record(tmp_path / 'bag', drive(COUNT)), tmp_path / 'state.yaml'
    state.write_text('something dear')
    code, _, errors = replayed(capsys, path, '--state', state)
    assert code == 0
    assert 'is kept as' in errors[0]
    (kept,) = tmp_path.glob('state.yaml.replaced-*')
    assert kept.read_text() == 'something dear'


@pytest.mark.parametrize('content', [None, 'no state', 'format: calib_node/state\nversion: 1\n'])
def test_a_start_that_is_none(tmp_path: Path, capsys: Capture, content: str | None):
    path, start = record(tmp_path / 'bag', drive(COUNT)), tmp_path / 'start.yaml'
    if content is not None:
        start.write_text(content)
    state = tmp_path / 'state.yaml'
    code, _, errors = replayed(capsys, path, '--start', start, '--state', state)
    assert (code, len(errors)) == (1, 1)
    assert f'--start {start}' in errors[0]
    assert not state.exists()


def test_a_loop_and_a_jump_are_as_live(tmp_path: Path, capsys: Capture):
    """What is learned stays, and matching starts anew: a late label of the first time is lost."""
    turn = [*drive(COUNT)]
    later = [Recorded(m.topic, m.time + 100 * SECOND, m.data) for m in turn]
    path = record(tmp_path / 'bag', [*turn, *later])
    code, out, _ = replayed(capsys, path, '--state', tmp_path / 'state.yaml')
    assert code == 0
    assert matched(out) == 2 * (COUNT - 5)
    assert state_of(tmp_path / 'state.yaml')['updates'] == 2 * (COUNT - 5)


# Order


def test_by_stamps_each_label_comes_at_once(tmp_path: Path, capsys: Capture):
    path, table = record(tmp_path / 'bag', drive(COUNT)), tmp_path / 'samples.csv'
    state = tmp_path / 'state.yaml'
    code, out, _ = replayed(capsys, path, '--order', 'stamp', '--samples', table, '--state', state)
    assert (code, matched(out)) == (0, COUNT - 5)
    calibrator = create('ops')
    for row in csv.DictReader(table.open()):
        p, y = float(row['raw']), int(row['label'])
        assert float(row['published']) == calibrator.predict(p)
        calibrator.update(p, y)
    assert state_of(state)['a'] == calibrator.state()['a']


def test_no_publish_times_in_a_database(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(COUNT), 'SQLITE3')
    for given in (('--order', 'publish'), ('-p', 'raw.stamping:=publication')):
        code, _, errors = replayed(capsys, path, *given)
        assert (code, len(errors)) == (1, 1)
        assert 'keeps no publish times' in errors[0]


# Samples


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == '.csv':
        return [*csv.DictReader(path.open())]
    parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
    return parquet.read_table(path).to_pylist()


@pytest.mark.parametrize('suffix', ['csv', 'parquet'])
def test_samples_are_the_matches_to_the_bit(tmp_path: Path, capsys: Capture, suffix: str):
    path, table = record(tmp_path / 'bag', drive(COUNT)), tmp_path / f'samples.{suffix}'
    code, _, _ = replayed(capsys, path, '--samples', table)
    assert code == 0
    rows = rows_of(table)
    assert list(rows[0]) == ['stamp', 'key', 'raw', 'published', 'label', 'delay']
    raw = {m.time - 1000: values_of(m.data)[2] for m in drive(COUNT) if m.topic == RAW}
    labels = [values_of(m.data) for m in drive(COUNT) if m.topic == LABELS]
    assert len(rows) == len(labels)
    for row, (second, nanosecond, label) in zip(rows, labels):
        stamp = int(second) * SECOND + int(nanosecond)
        assert (int(row['stamp']), row['key']) == (stamp, '')
        assert (float(row['raw']), int(row['label'])) == (raw[stamp], label)
        assert float(row['delay']) == pytest.approx(0.500002)
    assert float(rows[0]['published']) == float(rows[0]['raw'])


def test_samples_of_classes(tmp_path: Path, capsys: Capture):
    p = [0.5, 0.25, 0.25]
    messages = [
        Recorded(RAW, START + 1, stamped_array(START, *p)),
        Recorded(LABELS, START + 2, stamped_array(START, 2.0)),
    ]
    path, table = record(tmp_path / 'bag', messages), tmp_path / 'samples.csv'
    code, _, _ = replayed(capsys, path, '--samples', table, '-p', 'classes:=3')
    assert code == 0
    ((row),) = rows_of(table)
    assert [float(row[f'raw.{k}']) for k in range(3)] == p
    published = create_multiclass('ops', 3).predict(p).tolist()
    assert [float(row[f'published.{k}']) for k in range(3)] == published
    assert row['label'] == '2'


@pytest.mark.parametrize('name', ['samples.txt', 'no/folder/samples.csv'])
def test_samples_that_cannot_be_written(tmp_path: Path, capsys: Capture, name: str):
    path = record(tmp_path / 'bag', drive(COUNT))
    code, _, errors = replayed(capsys, path, '--samples', tmp_path / name)
    assert (code, len(errors)) == (1, 1)
    assert f'--samples {tmp_path / name}' in errors[0]


@pytest.mark.parametrize('count', [COUNT, 11_000])
def test_samples_on_a_full_disk(tmp_path: Path, capsys: Capture, count: int):
    path, table = record(tmp_path / 'bag', drive(count)), tmp_path / 'samples.csv'
    table.symlink_to('/dev/full')
    code, _, errors = replayed(capsys, path, '--samples', table)
    assert (code, len(errors)) == (1, 1)
    assert f'--samples {table} cannot be written' in errors[0]
    assert 'No space left' in errors[0]


# The recording with the calibrated topic


@pytest.mark.parametrize('plugin', ['MCAP', 'SQLITE3'])
def test_the_copy_holds_all_and_the_calibrated_topic(tmp_path: Path, capsys: Capture, plugin: str):
    other = Recorded('/odom', START + 5, b'\x00\x01\x00\x00' + bytes(8))
    messages = [other, *drive(COUNT)]
    path = record(tmp_path / 'bag', messages, plugin, types={'/odom': 'std_msgs/msg/Float64'})
    copy, table = tmp_path / 'copy', tmp_path / 'samples.csv'
    code, out, errors = replayed(capsys, path, '--output', copy, '--samples', table)
    assert (code, errors) == (0, [])
    assert str(copy) in out
    with Recording(path) as before, Recording(copy) as after:
        assert set(after.topics) == {*before.topics, CALIBRATED}
        names = [*before.topics]
        assert [*after.messages(names)] == [*before.messages(names)]
        assert all(topic.definition for topic in after.topics.values())
        answers = [*after.messages([CALIBRATED])]
        assert after.problems == []
    predictions = [m for m in messages if m.topic == RAW]
    assert [m.log_time for m in answers] == [m.time for m in predictions]
    published = {row['stamp']: float(row['published']) for row in rows_of(table)}
    for answer, prediction in zip(answers, predictions):
        now, before_it = values_of(answer.data), values_of(prediction.data)
        assert now[:2] == before_it[:2]
        stamp = str(int(now[0]) * SECOND + int(now[1]))
        assert now[2] == published.get(stamp, now[2])
    assert len(answers) == COUNT


def test_a_copy_that_cannot_be(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(COUNT))
    for given, words in (
        (('--output', path), 'exists already'),
        (('--output', tmp_path / 'c', '-r', f'calibrated_probabilities:={RAW}'), 'is in the'),
    ):
        code, _, errors = replayed(capsys, path, *given)
        assert (code, len(errors)) == (1, 1)
        assert words in errors[0]


# A page on it


def test_the_report_has_all_that_is_known(tmp_path: Path, capsys: Capture):
    path, page = record(tmp_path / 'bag', drive(400)), tmp_path / 'page.html'
    code, out, errors = replayed(
        capsys, path, '--report', page, '--method', 'beta', '-p', 'gamma:=0.2'
    )
    assert (code, errors) == (0, [])
    assert f'Report   {page}' in out
    text = Page(page.read_text()).text
    for words in (
        'They rest on 395 matches',
        '1.2% of 400 predictions were never labelled',
        'Method ops, 395 labels learned',
        'Other methods on the same matches',
        'half of them within 0.50 s',
        'gamma: 0.2',
    ):
        assert words in text, words
    assert 'known from here' not in text
    assert replayed(capsys, path, '--report', tmp_path / 'no' / 'page.html')[0] == 1


# Looking only


def test_a_dry_run_writes_nothing_and_says_what_would_match(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(COUNT))
    code, out, errors = replayed(capsys, path, '--dry-run', '--state', tmp_path / 'state.yaml')
    assert (code, errors) == (0, [])
    assert f'would match  {COUNT - 5} of {COUNT - 5} labels' in out
    assert '<- raw_probabilities' in out
    assert '2023-11-14 22:13:20.000 UTC' in out
    assert not (tmp_path / 'state.yaml').exists()


def test_a_dry_run_names_the_parameter_for_what_does_not_match(tmp_path: Path, capsys: Capture):
    """Labels stamped .05 s late."""
    late = [
        m
        if m.topic == RAW
        else Recorded(LABELS, m.time, stamped_array(m.time - 502_000_000 + 47_998_000, 1.0))
        for m in drive(COUNT)
    ]
    path = record(tmp_path / 'bag', late)
    code, out, _ = replayed(capsys, path, '--dry-run')
    assert code == 0
    assert f'would match  0 of {COUNT - 5} labels' in out
    assert 'label.offset' in out or 'match.tolerance' in out
    assert replayed(capsys, path, '-p', 'match.tolerance:=0.06')[0] == 0


def test_a_dry_run_shows_the_topics_where_one_is_not_there(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(COUNT), types={'/score': 'std_msgs/msg/Float32'})
    code, out, errors = replayed(capsys, path, '--dry-run', '-r', 'labels:=/truth')
    assert (code, len(errors)) == (1, 1)
    assert 'no topic /truth' in errors[0]
    assert '/labels' in out
    assert '(of the type of an input that is not there)' in out
