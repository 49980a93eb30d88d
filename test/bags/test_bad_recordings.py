# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with a recording: one sentence, and nothing lost of what is whole."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from calib_node.bags.definitions import RecordedMessages

from .bags import (
    ARRAY,
    LABELS,
    RAW,
    START,
    Channel,
    Recorded,
    compressed,
    drive,
    matched,
    record,
    record_mcap,
    replayed,
    stamped_array,
)

Capture = pytest.CaptureFixture[str]
COUNT = 40
WHOLE = [*drive(COUNT)]


def the_sentence(errors: list[str], *words: str) -> str:
    """Return the one sentence that was said, which holds all words."""
    (sentence,) = errors
    assert sentence.startswith('calib_replay: ')
    assert len(sentence) < 700
    for word in words:
        assert word in sentence, sentence
    return sentence


def edited(path: Path, **changes: object) -> None:
    """Change what the metadata of a recording say."""
    file = path / 'metadata.yaml'
    metadata = yaml.safe_load(file.read_text())
    metadata['rosbag2_bagfile_information'].update(changes)
    file.write_text(yaml.safe_dump(metadata))


# Damage


@pytest.mark.parametrize('share', [0.3, 0.6, 0.95])
def test_a_truncated_mcap_is_read_up_to_the_damage(tmp_path: Path, capsys: Capture, share: float):
    path = record_mcap(tmp_path / 'cut.mcap', WHOLE)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    code, out, errors = replayed(capsys, path)
    sentence = the_sentence(errors, str(path), 'is damaged or unfinished', 'mcap recover')
    read = int(re.search(r'(\d+) whole messages were read', sentence)[1])
    assert f'{read} messages' in out
    assert code == (0 if matched(out) else 1)
    assert 0.5 * share < read / len(WHOLE) <= 1.0


def test_an_unfinished_mcap_is_read_whole(tmp_path: Path, capsys: Capture):
    """As of a recorder that was killed: no footer, and the last chunk may be missing."""
    path = record_mcap(tmp_path / 'unfinished.mcap', WHOLE)
    data = path.read_bytes()
    path.write_bytes(data[:-50])
    code, out, errors = replayed(capsys, path)
    the_sentence(errors, str(path), 'whole messages were read')
    assert (code, matched(out)) == (0, COUNT - 5)


def test_a_truncated_mcap_in_a_split_recording(tmp_path: Path, capsys: Capture):
    """What the other files hold is not lost."""
    folder = tmp_path / 'bag'
    half = len(WHOLE) // 2
    record_mcap(folder / 'bag_0.mcap', WHOLE[:half])
    record_mcap(folder / 'bag_1.mcap', WHOLE[half:])
    data = (folder / 'bag_0.mcap').read_bytes()
    (folder / 'bag_0.mcap').write_bytes(data[: len(data) // 2])
    code, out, errors = replayed(capsys, folder)
    assert code == 0
    assert [e for e in errors if 'bag_0.mcap is damaged' in e]
    assert [e for e in errors if 'has no metadata.yaml' in e]
    assert len(errors) == 2
    assert matched(out) > COUNT // 3


@pytest.mark.parametrize('mode', ['FILE', 'MESSAGE'])
@pytest.mark.parametrize('plugin', ['MCAP', 'SQLITE3'])
def test_a_truncated_compressed_recording(tmp_path: Path, capsys: Capture, plugin: str, mode: str):
    path = compressed(tmp_path / 'bag', drive(2000), plugin, mode)
    (file,) = (p for p in path.iterdir() if p.name != 'metadata.yaml')
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    _, _, errors = replayed(capsys, path)
    assert errors
    assert all(sentence.startswith('calib_replay: ') for sentence in errors)
    assert any(str(file) in sentence for sentence in errors)
    assert not [sentence for sentence in errors if 'Traceback' in sentence]


def test_garbage(tmp_path: Path, capsys: Capture):
    for name in ('garbage.mcap', 'garbage.db3', 'empty.mcap', 'empty.db3'):
        path = tmp_path / name
        path.write_bytes(b'' if name.startswith('empty') else bytes(range(256)) * 20)
        code, _, errors = replayed(capsys, path)
        assert code == 1
        the_sentence(errors, str(path))


def test_a_database_whose_pages_are_damaged(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(2000), 'SQLITE3')
    file = path / 'bag.db3'
    data = bytearray(file.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 8192] = bytes([7]) * 8192
    file.write_bytes(data)
    _, _, errors = replayed(capsys, path)
    assert errors
    assert any(str(file) in sentence or str(path) in sentence for sentence in errors)


# Metadata


def test_no_metadata(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', WHOLE)
    (path / 'metadata.yaml').unlink()
    code, out, errors = replayed(capsys, path)
    the_sentence(errors, str(path), 'has no metadata.yaml', 'ros2 bag reindex')
    assert (code, matched(out)) == (0, COUNT - 5)


@pytest.mark.parametrize('text', ['', '- 1', '{', 'rosbag2_bagfile_information: {version: 5}'])
def test_damaged_metadata(tmp_path: Path, capsys: Capture, text: str):
    path = record(tmp_path / 'bag', WHOLE)
    (path / 'metadata.yaml').write_text(text)
    code, out, errors = replayed(capsys, path)
    the_sentence(errors, 'metadata.yaml cannot be read', 'ros2 bag reindex')
    assert (code, matched(out)) == (0, COUNT - 5)


@pytest.mark.parametrize('said', [7, 700])
def test_a_count_that_differs_from_the_metadata(tmp_path: Path, capsys: Capture, said: int):
    path = record(tmp_path / 'bag', WHOLE)
    text = (path / 'metadata.yaml').read_text()
    (path / 'metadata.yaml').write_text(text.replace('message_count: 40', f'message_count: {said}'))
    code, out, errors = replayed(capsys, path)
    sentence = the_sentence(errors, f'{RAW} has {said} messages, and 40 were found')
    assert ('cut short' in sentence) == (said > 40)
    assert (code, matched(out)) == (0, COUNT - 5)


def test_a_type_and_qos_that_differ_from_the_metadata(tmp_path: Path, capsys: Capture):
    """What the files hold counts."""
    path = record(tmp_path / 'bag', WHOLE)
    text = (path / 'metadata.yaml').read_text()
    (path / 'metadata.yaml').write_text(text.replace(ARRAY, 'std_msgs/msg/Other'))
    code, out, errors = replayed(capsys, path)
    assert (code, matched(out), errors) == (0, COUNT - 5, [])


def test_a_file_that_is_missing(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', WHOLE)
    edited(path, relative_file_paths=['bag.mcap', 'bag_1.mcap'])
    code, out, errors = replayed(capsys, path)
    the_sentence(errors, str(path), 'lacks bag_1.mcap')
    assert (code, matched(out)) == (0, COUNT - 5)


def test_a_version_to_come(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', WHOLE)
    edited(path, version=99)
    code, _, errors = replayed(capsys, path)
    assert code == 1
    the_sentence(errors, 'is of version 99', 'ros2 bag convert')


def test_no_recording_at_all(tmp_path: Path, capsys: Capture):
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'notes.txt').write_text('no recording')
    for name, words in (
        ('nowhere', 'there is no recording'),
        ('folder', 'holds no recording'),
        ('notes.txt', 'is no recording'),
    ):
        code, _, errors = replayed(capsys, tmp_path / name)
        assert code == 1
        the_sentence(errors, str(tmp_path / name), words)


# Types


def test_old_names_of_types(tmp_path: Path, capsys: Capture):
    old = Channel('std_msgs/Float64MultiArray')
    path = record_mcap(tmp_path / 'old.mcap', WHOLE, {RAW: old, LABELS: old})
    code, out, errors = replayed(capsys, path)
    assert (code, matched(out), errors) == (0, COUNT - 5, [])


def test_another_type_than_that_of_the_parameters(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', WHOLE, types={'/score': 'std_msgs/msg/Float32'})
    code, _, errors = replayed(capsys, path, '-r', 'raw_probabilities:=/score')
    assert code == 1
    the_sentence(errors, str(path), '/score is std_msgs/msg/Float32', 'set raw.type')


def test_a_definition_that_is_missing(tmp_path: Path, capsys: Capture):
    """Neither in the recording nor in ROS; a folder of .msg files helps."""
    kind = Channel('my_msgs/msg/Score', definition='')
    messages = [Recorded('/score', START, stamped_array(START, 0.5)), *WHOLE]
    path = record_mcap(tmp_path / 'one.mcap', messages, {'/score': kind})
    named = ('-r', 'raw_probabilities:=/score', '-p', 'raw.type:=my_msgs/msg/Score')
    named += ('-p', 'raw.value_field:=score', '-p', 'raw.stamping:=arrival')
    code, _, errors = replayed(capsys, path, *named)
    assert code == 1
    the_sentence(errors, 'my_msgs/msg/Score', '--definitions')
    folder = tmp_path / 'definitions' / 'my_msgs' / 'msg'
    folder.mkdir(parents=True)
    (folder / 'Score.msg').write_text('float64 score\n')
    code, out, errors = replayed(capsys, path, *named, '--definitions', tmp_path / 'definitions')
    assert errors[0].startswith('calib_replay: a prediction is refused')
    assert ' predictions' in out


@pytest.mark.parametrize('problem', ['absent', 'empty', 'damaged'])
def test_definitions_that_are_none(tmp_path: Path, capsys: Capture, problem: str):
    path, folder = record(tmp_path / 'bag', WHOLE), tmp_path / 'definitions'
    if problem != 'absent':
        (folder / 'my_msgs').mkdir(parents=True)
    if problem == 'damaged':
        (folder / 'my_msgs' / 'Score.msg').write_text('float64 [ score\n')
    code, _, errors = replayed(capsys, path, '--definitions', folder)
    assert code == 1
    the_sentence(errors, '--definitions', str(folder))


def test_a_definition_that_has_changed(tmp_path: Path, capsys: Capture):
    text, _ = RecordedMessages().store(ARRAY).generate_msgdef(ARRAY, ros_version=2)
    other = Channel(definition=text.replace('float64[] data', 'float32[] data'))
    one = record_mcap(tmp_path / 'one.mcap', WHOLE)
    two = record_mcap(tmp_path / 'two.mcap', WHOLE, {RAW: other, LABELS: other})
    code, _, errors = replayed(capsys, one, two)
    assert code == 1
    the_sentence(errors, str(two), ARRAY, str(one), '--start')


def test_a_definition_that_cannot_be_read(tmp_path: Path, capsys: Capture):
    path = record_mcap(tmp_path / 'one.mcap', WHOLE, {RAW: Channel(definition='float64 [ x')})
    code, _, errors = replayed(capsys, path)
    assert code == 1
    the_sentence(errors, str(path), RAW, ARRAY, '--definitions')


# Encodings


def test_a_protobuf_channel_beside_ours(tmp_path: Path, capsys: Capture):
    path = record_mcap(
        tmp_path / 'foxglove.mcap',
        [Recorded('/camera', START, b'\x0a\x01a'), *WHOLE],
        {'/camera': Channel('foxglove.Image', 'protobuf', 'not a message definition')},
    )
    code, out, errors = replayed(capsys, path)
    assert (code, matched(out), errors) == (0, COUNT - 5, [])


def test_our_channel_in_protobuf(tmp_path: Path, capsys: Capture):
    path = record_mcap(tmp_path / 'one.mcap', WHOLE, {RAW: Channel(encoding='protobuf')})
    code, _, errors = replayed(capsys, path)
    assert code == 1
    the_sentence(errors, str(path), RAW, "'protobuf'", 'cdr')


# Contents


@pytest.mark.parametrize('plugin', ['MCAP', 'SQLITE3'])
def test_an_empty_recording(tmp_path: Path, capsys: Capture, plugin: str):
    path = record(tmp_path / 'bag', [], plugin)
    code, out, errors = replayed(capsys, path)
    assert code == 1
    assert len(errors) == 2
    for sentence, topic in zip(errors, (RAW, LABELS)):
        the_sentence([sentence], f'no message on {topic}', str(path))
    assert matched(out) == 0


def test_stamps_of_zero(tmp_path: Path, capsys: Capture):
    messages = [Recorded(m.topic, m.time, stamped_array(0, 0.5)) for m in WHOLE]
    path = record(tmp_path / 'bag', messages)
    code, out, errors = replayed(capsys, path)
    assert code == 1
    assert matched(out) == 0
    assert 'stamp' in out
    assert any('stamp' in sentence for sentence in errors)


def test_labels_in_another_recording(tmp_path: Path, capsys: Capture):
    one = record(tmp_path / 'predictions', [m for m in WHOLE if m.topic == RAW])
    two = record(tmp_path / 'labels', [m for m in WHOLE if m.topic == LABELS])
    code, _, errors = replayed(capsys, one)
    assert code == 1
    the_sentence(errors, LABELS, str(one), '--together')
    code, out, _ = replayed(capsys, one, two, '--together')
    assert (code, matched(out)) == (0, COUNT - 5)


def test_topics_of_another_name(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', WHOLE)
    code, _, errors = replayed(capsys, path, '-r', 'raw_probabilities:=/raw_probability')
    assert code == 1
    the_sentence(errors, '/raw_probability', str(path), RAW, '-r raw_probabilities:=TOPIC')


def test_nothing_of_a_recording_is_changed(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', WHOLE, 'SQLITE3')
    copy = tmp_path / 'copy'
    shutil.copytree(path, copy)
    replayed(capsys, path, '--state', tmp_path / 'state.yaml', '--output', tmp_path / 'out')
    for file in copy.iterdir():
        assert (path / file.name).read_bytes() == file.read_bytes()
    assert sorted(p.name for p in path.iterdir()) == sorted(p.name for p in copy.iterdir())
