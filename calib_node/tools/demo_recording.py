# SPDX-License-Identifier: Apache-2.0
"""The demo's recording: what the classifier and the labeller publish."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

STAMPED_ARRAY = 'std_msgs/msg/Float64MultiArray'


class DemoRecording:
    """Writes a recording of stamped arrays, where rosbags is installed; used in a with statement.

    Parameters
    ----------
    path : Path
        Its folder, which may not be there.
    topics : sequence of str
        What is recorded.

    Attributes
    ----------
    written : bool
        False where rosbags is not installed, and nothing is written.
    """

    def __init__(self, path: Path, topics: tuple[str, ...]) -> None:
        self._path, self._topics = path, topics
        self._connections: dict[str, Any] = {}
        self._writer: Any = None
        self.written = False

    def __enter__(self) -> DemoRecording:
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            return self
        self._writer = Writer(self._path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        store = get_typestore(Stores.ROS2_JAZZY)
        for topic in self._topics:
            self._connections[topic] = self._writer.add_connection(
                topic, STAMPED_ARRAY, typestore=store
            )
        self.written = True
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def __call__(self, topic: str, data: bytes) -> None:
        """Take in a serialized message that was just published."""
        if self._writer is not None:
            self._writer.write(self._connections[topic], time.time_ns(), data)
