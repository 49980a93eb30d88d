# SPDX-License-Identifier: Apache-2.0
"""Records the inputs of a node over the middleware, as `ros2 bag record` would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rosbags.rosbag2 import StoragePlugin, Writer

from calib_node.bags.definitions import RecordedMessages
from calib_node.ros.mismatch import type_name

from .client import Client

INTERFACES = Path(__file__).parents[1] / 'interfaces'


class Recorder:
    """Writes what comes on topics to a recording, with the time of its publication.

    Parameters
    ----------
    path : Path
        Folder of the recording.
    client : Client
        Hears the topics.
    topics : dict of str to type
        Their message types.
    """

    def __init__(
        self, path: Path, client: Client, topics: dict[str, Any], plugin: str = 'MCAP'
    ) -> None:
        messages = RecordedMessages(folder=INTERFACES)
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin[plugin])
        self._writer.open()
        self.counts = dict.fromkeys(topics, 0)
        for topic, kind in topics.items():
            name = type_name(kind)
            connection = self._writer.add_connection(topic, name, typestore=messages.store(name))
            client.node.create_subscription(
                kind, topic, self._taker(topic, connection), 1000, raw=True
            )

    def _taker(self, topic: str, connection: Any) -> Any:
        def take(data: bytes, info: dict[str, int]) -> None:
            self._writer.write(connection, info['source_timestamp'], data)
            self.counts[topic] += 1

        return take

    def close(self) -> None:
        self._writer.close()
