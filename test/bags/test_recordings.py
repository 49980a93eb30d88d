# SPDX-License-Identifier: Apache-2.0
"""Recordings of every kind that ROS writes are read whole, in order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from calib_node.bags.files import recordings_in
from calib_node.bags.problems import RecordingError
from calib_node.bags.recording import Recording

from .bags import LABELS, RAW, START, Recorded, compressed, drive, record, record_mcap

PLUGINS = ('MCAP', 'SQLITE3')
WHOLE = [tuple(message) for message in drive()]
ROOT = Path(__file__).resolve().parents[2]


def content(path: Path, order: str = 'log') -> tuple[list[tuple[str, int, bytes]], list[str]]:
    """Return what a recording holds, and what is said of it."""
    with Recording(path, order) as recording:
        found = [(m.topic, m.log_time, m.data) for m in recording.messages([RAW, LABELS])]
        return found, recording.problems


@pytest.mark.parametrize('plugin', PLUGINS)
def test_a_folder_and_its_file(tmp_path: Path, plugin: str):
    path = record(tmp_path / 'bag', drive(), plugin)
    (file,) = (p for p in path.iterdir() if p.name != 'metadata.yaml')
    for one in (path, file, path / 'metadata.yaml'):
        assert content(one) == (WHOLE, [])


@pytest.mark.parametrize('plugin', PLUGINS)
@pytest.mark.parametrize('mode', ['FILE', 'MESSAGE'])
def test_compressed_by_file_and_by_message(tmp_path: Path, plugin: str, mode: str):
    path = compressed(tmp_path / 'bag', drive(), plugin, mode)
    assert content(path) == (WHOLE, [])
    (file,) = (p for p in path.iterdir() if p.name != 'metadata.yaml')
    assert content(file) == (WHOLE, [])


def test_compressed_by_chunk(tmp_path: Path):
    assert content(record_mcap(tmp_path / 'one.mcap', drive())) == (WHOLE, [])


@pytest.mark.parametrize('plugin', PLUGINS)
@pytest.mark.parametrize('described', [True, False])
def test_split_into_files_in_their_order(tmp_path: Path, plugin: str, described: bool):
    folder, size, names = tmp_path / 'bag', 3, []
    folder.mkdir()
    for number in range(0, len(WHOLE), size):
        part = record(
            tmp_path / f'part{number}', map(Recorded._make, WHOLE[number:][:size]), plugin
        )
        (file,) = (p for p in part.iterdir() if p.name != 'metadata.yaml')
        # Beyond ten their names do not sort as texts.
        names.append(f'bag_{number // size}{file.suffix}')
        shutil.move(file, folder / names[-1])
    assert len(names) > 10
    if described:
        metadata = yaml.safe_load((part / 'metadata.yaml').read_text())
        information = metadata['rosbag2_bagfile_information']
        information['relative_file_paths'] = names
        counts = {t: sum(m[0] == t for m in WHOLE) for t in (RAW, LABELS)}
        for entry in information['topics_with_message_count']:
            entry['message_count'] = counts[entry['topic_metadata']['name']]
        (folder / 'metadata.yaml').write_text(yaml.safe_dump(metadata))
    found, problems = content(folder)
    assert found == WHOLE
    if described:
        assert problems == []
    else:
        assert [p for p in problems if 'has no metadata.yaml' in p and 'reindex' in p] == problems


def test_order_of_publication(tmp_path: Path):
    """The second was published first, and recorded last."""
    path = tmp_path / 'one.mcap'
    messages = [Recorded(RAW, START + log, bytes([log])) for log in (30, 40, 50)]
    record_mcap(path, messages, published={START + 50: START + 20})
    assert [m[1] - START for m in content(path)[0]] == [30, 40, 50]
    assert [m[1] - START for m in content(path, 'publish')[0]] == [50, 30, 40]


def test_a_folder_of_recordings_in_the_order_of_their_names(tmp_path: Path):
    names = ['drive_2', 'drive_10', 'old/drive_1']
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        record(tmp_path / name, drive(3))
    (tmp_path / 'notes').mkdir()
    found = recordings_in(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in found] == names
    assert recordings_in(tmp_path / 'drive_2') == [tmp_path / 'drive_2']
    with pytest.raises(RecordingError, match='holds no recording'):
        recordings_in(tmp_path / 'notes')


@pytest.mark.parametrize('name', ['AAA', '/AAA'])
def test_a_topic_without_its_slash(tmp_path: Path, name: str):
    path = record(tmp_path / 'bag', [], types={name: 'std_msgs/msg/Bool'})
    with Recording(path) as recording:
        assert '/AAA' in recording.topics


@pytest.mark.parametrize(
    ('name', 'count'),
    [
        ('06_every_common_type_mcap', 188),
        ('08_costmap_file_zstd_mcap_v9', 693),
        ('09_split5_mcap_v4', 6074),
        ('10_split4_message_zstd_db3_v4', 1127),
        ('16_v7_mcap_test_msgs', 7),
    ],
)
def test_recordings_of_others(name: str, count: int):
    path = ROOT.parent / 'shared' / 'data' / 'bags' / name
    if not path.is_dir():
        pytest.skip(f'the recording ../shared/data/bags/{name} is not here')
    with Recording(path) as recording:
        assert sum(topic.count for topic in recording.topics.values()) == count
        times = [message.log_time for message in recording.messages([*recording.topics])]
        assert len(times) == count
        assert times == sorted(times)
        assert recording.problems == []
