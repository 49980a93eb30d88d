# SPDX-License-Identifier: Apache-2.0
"""A recording as it would have been with the calibrated topic in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calib_node.bags.playback import Playback, Played
from calib_node.bags.problems import RecordingError, one_line
from calib_node.bags.storage import Topic


class Copy:
    """Writes what is replayed, and the calibrated messages beside it; used in a with statement.

    Types are embedded, QoS profiles are kept, and each calibrated message has the time of its
    prediction, so that `ros2 bag play` plays it in the same moment.

    Parameters
    ----------
    path : Path
        Folder of the new recording.
    playback : Playback
        What is replayed, other topics too.
    calibrated : str
        The topic of the calibrated messages.

    Attributes
    ----------
    problems : list of str
        A sentence for each topic that could not be copied.

    Raises
    ------
    RecordingError
        If there is something at the path, or the topic is one of the recording.
    """

    def __init__(self, path: Path, playback: Playback, calibrated: str) -> None:
        from rosbags.rosbag2 import StoragePlugin, Writer

        self.problems: list[str] = []
        self._path, self._playback = path, playback
        topics: dict[str, Topic] = {}
        for recording in playback.recordings:
            for name, topic in recording.topics.items():
                topics.setdefault(name, topic)
        if calibrated in topics:
            raise RecordingError(
                f'the topic {calibrated} is in the recording already: name another one by '
                '-r calibrated_probabilities:=TOPIC'
            )
        if path.exists():
            raise RecordingError(f'{path} exists already: name another folder by --output')
        names = {file.path.name for r in playback.recordings for file in r.files}
        mcap = any('.mcap' in name for name in names)
        plugin = StoragePlugin.MCAP if mcap else StoragePlugin.SQLITE3
        self._writer = Writer(path, version=9, storage_plugin=plugin)
        try:
            self._writer.open()
        except OSError as error:
            raise RecordingError(f'{path} cannot be written: {one_line(error)}') from None
        self._connections = {
            name: connection
            for name, topic in topics.items()
            if (connection := self._connect(topic, name)) is not None
        }
        self._calibrated = self._connect(topics[playback.source.raw], calibrated)

    def _connect(self, topic: Topic, name: str) -> Any:
        messages = self._playback.messages
        try:
            if topic.encoding != 'cdr':
                raise ValueError(f'it is serialized as {topic.encoding!r}')
            messages.embed(topic.type_name, topic.definition, topic.is_idl, str(self._path))
            store = messages.store(topic.type_name)
            text, _ = store.generate_msgdef(topic.type_name, ros_version=2)
            return self._writer.add_connection(
                name,
                topic.type_name,
                msgdef=text,
                rihs01=topic.digest or store.hash_rihs01(topic.type_name),
                offered_qos_profiles=topic.qos,
            )
        except Exception as error:
            self.problems.append(f'{name} is not in {self._path}: {one_line(error)}')
            return None

    def __enter__(self) -> Copy:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._writer.close()
        except OSError as problem:
            raise RecordingError(f'{self._path} cannot be written: {one_line(problem)}') from None

    def __call__(self, played: Played, answer: bytes | None) -> None:
        """Take in a message, and the calibrated one of a prediction."""
        connection = self._connections.get(played.topic)
        try:
            if connection is not None:
                self._writer.write(connection, played.time, played.data)
            if answer is not None and self._calibrated is not None:
                self._writer.write(self._calibrated, played.time, answer)
        except Exception as error:
            raise RecordingError(f'{self._path} cannot be written: {one_line(error)}') from None
