#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calib_replay beside a bare rosbags read of the same recording: messages a second, and memory.

    python benchmarks/replay.py [--messages 200000] [--rounds 5]

Recordings of stamped arrays, a label for each prediction fifty predictions late, in both storages.
Both readers run in processes of their own, in turn; processor time of one core, and the largest
resident memory at one and at ten times the length.
"""

from __future__ import annotations

import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from tables import Table
from tqdm import tqdm

STEP = 10_000_000
LATE = 50
BARE = """
import sys
from rosbags.rosbag2 import Reader
with Reader(sys.argv[1]) as reader:
    print(sum(1 for _ in reader.messages(reader.connections)))
"""


def stamped_array(stamp: int, value: float) -> bytes:
    """Return the bytes of a stamped array."""
    return b'\x00\x01\x00\x00' + bytes(8) + struct.pack('<I4x3d', 3, *divmod(stamp, 10**9), value)


def write(path: Path, plugin: str, messages: int) -> None:
    """Write a recording of so many messages."""
    store, chance = get_typestore(Stores.ROS2_JAZZY), random.Random(0)
    with Writer(path, version=9, storage_plugin=StoragePlugin[plugin]) as writer:
        raw, labels = (
            writer.add_connection(topic, 'std_msgs/msg/Float64MultiArray', typestore=store)
            for topic in ('/raw_probabilities', '/labels')
        )
        for number in range(messages // 2):
            stamp = 10**18 + number * STEP
            p = chance.random()
            writer.write(raw, stamp, stamped_array(stamp, p))
            late = max(number - LATE, 0)
            value = float(chance.random() < 0.6)
            writer.write(labels, stamp + 1, stamped_array(10**18 + late * STEP, value))


def measure(command: list[str]) -> tuple[float, float]:
    """Run a command; return its processor seconds and its largest resident memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f'{command} ended with {process.returncode}')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--messages', type=int, default=200_000)
    parser.add_argument('--rounds', type=int, default=5)
    options = parser.parse_args()
    table = Table(
        'Replay of recordings',
        f'{options.messages} messages, medians of {options.rounds} rounds; seconds of processor '
        'time, and messages a second without what the start takes.',
        ['storage', 'rosbags alone', 'calib_replay', 'messages/s', 'MB', 'MB at ten times'],
    )
    with tempfile.TemporaryDirectory() as folder:
        for plugin in ('MCAP', 'SQLITE3'):
            table.rows.append(compare(Path(folder), plugin, options))
    print(table)


def compare(folder: Path, plugin: str, options: argparse.Namespace) -> list[str]:
    """Return the row of a storage."""
    one, ten = folder / plugin, folder / f'{plugin}-ten'
    write(one, plugin, options.messages)
    write(ten, plugin, 10 * options.messages)
    bare = [sys.executable, '-c', BARE]
    ours = [sys.executable, '-m', 'calib_node.tools.replay', '--quiet']
    start = median(measure([*ours, '--help'])[0] for _ in range(3))
    rounds = [
        (measure([*bare, str(one)]), measure([*ours, str(one)]))
        for _ in tqdm(range(options.rounds), desc=plugin, leave=False)
    ]
    alone = median(one[0] for one, _ in rounds)
    seconds, memory = (median(other[k] for _, other in rounds) for k in (0, 1))
    rate = options.messages / (seconds - start)
    long = measure([*ours, str(ten)])[1]
    figures = (f'{alone:.2f} s', f'{seconds:.2f} s', f'{rate:,.0f}', f'{memory:.0f}', f'{long:.0f}')
    return [plugin.lower(), *figures]


if __name__ == '__main__':
    main()
