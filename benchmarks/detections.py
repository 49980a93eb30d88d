#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many objects a message: the node against a plain relay, in processor time, from one run.

Each round starts the node, the relay on message objects and the relay on bytes in turn, and sends
each the same messages of detections, with the ground truth of one of them each second, which the
node finds by the boxes. Medians over the rounds are reported; `changed` is the share of answers
whose first score is not what was sent, so that a node which learns nothing is seen.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import time
from statistics import median
from typing import Any

from dds import SECOND, START, Peer, node_command, processor_seconds, ros
from node import PEER, RELAY, Figures
from rclpy.serialization import serialize_message

from calib_node.ros.messages import find_type
from calib_node.tools.progress import Progress

TYPE = 'vision_msgs/msg/Detection2DArray'
NAMES = ('car', 'pedestrian', 'bicycle')
VARIETY = 20
"""Different messages, which are sent again and again with other stamps."""
LABEL_DELAY = 5
"""Messages between a prediction and its ground truth."""
STAMP = struct.Struct('<iI')
STAMP_AT = 4


def detections(generator: random.Random, objects: int, results: int) -> Any:
    """Return a message of detections, each with its results by falling score."""
    message = find_type(TYPE)()
    for _ in range(objects):
        detection = _detection(generator.uniform(0.0, 1920.0), generator.uniform(0.0, 1080.0))
        scores = sorted((generator.random() for _ in range(results)), reverse=True)
        for name, score in zip(NAMES, scores):
            detection.results.append(_result(name, score))
        message.detections.append(detection)
    return message


def truth(generator: random.Random, predicted: Any) -> Any:
    """Return the ground truth of a message: half of its objects, each of one class."""
    message = find_type(TYPE)()
    for detection in predicted.detections[::2]:
        centre = detection.bbox.center.position
        found = _detection(centre.x + 1.0, centre.y - 1.0)
        found.results.append(_result(generator.choice(NAMES), 1.0))
        message.detections.append(found)
    return message


def _detection(x: float, y: float) -> Any:
    detection = find_type('vision_msgs/msg/Detection2D')()
    detection.header.frame_id = 'camera'
    detection.bbox.center.position.x, detection.bbox.center.position.y = x, y
    detection.bbox.size_x, detection.bbox.size_y = 40.0, 80.0
    return detection


def _result(name: str, score: float) -> Any:
    result = find_type('vision_msgs/msg/ObjectHypothesisWithPose')()
    result.hypothesis.class_id, result.hypothesis.score = name, score
    return result


def with_stamp(data: bytes, stamp: int) -> bytes:
    """Return a serialized message with another stamp."""
    changed = bytearray(data)
    STAMP.pack_into(changed, STAMP_AT, *divmod(stamp, SECOND))
    return bytes(changed)


class Load:
    """Publishes detections and ground truth, and counts the answers.

    Parameters
    ----------
    objects, results : int
        Detections in a message, and results of each.
    """

    def __init__(self, objects: int, results: int) -> None:
        generator = random.Random(objects)
        messages = [detections(generator, objects, results) for _ in range(VARIETY)]
        self._predictions = [serialize_message(message) for message in messages]
        self._truths = [serialize_message(truth(generator, message)) for message in messages]
        self._peer = Peer(find_type(TYPE), self._answered)
        self.waiting: dict[int, tuple[float, bytes]] = {}
        self.latencies: list[float] = []
        self.changed = 0
        self.size = len(self._predictions[0])
        score = struct.pack('<d', messages[0].detections[0].results[0].hypothesis.score)
        first = self._predictions[0].index(score)
        # Padding may change on the way; the first score lies at the same place in each.
        self._score = slice(first, first + len(score))

    def _answered(self, data: bytes) -> None:
        seconds, nanoseconds = STAMP.unpack_from(data, STAMP_AT)
        sent, raw = self.waiting.pop(seconds * SECOND + nanoseconds, (None, b''))
        if sent is not None:
            self.latencies.append(time.perf_counter() - sent)
            self.changed += data[self._score] != raw[self._score]

    def run(self, rate: float, seconds: float, first: int) -> None:
        """Send messages at a rate, and once a second the ground truth of an earlier one."""
        interval, each = int(SECOND / rate), round(rate)
        start = time.perf_counter()
        for i in range(int(rate * seconds)):
            while (wait := start + i / rate - time.perf_counter()) > 0.0:
                self._peer.spin(wait)
            stamp = first + i * interval
            prediction = with_stamp(self._predictions[i % VARIETY], stamp)
            self.waiting[stamp] = time.perf_counter(), prediction
            self._peer.send_prediction(prediction)
            labelled = i - LABEL_DELAY
            if labelled >= 0 and labelled % each == 0:
                data = with_stamp(self._truths[labelled % VARIETY], first + labelled * interval)
                self._peer.send_label(data)
        deadline = time.perf_counter() + 3.0
        while self.waiting and time.perf_counter() < deadline:
            self._peer.spin(0.05)

    def measure(self, command: list[str], rate: float, seconds: float) -> Figures:
        """Start a process, load it, stop it; return its figures."""
        with self._peer.under_test(command) as process:
            self.run(rate, 2.0, START)
            self.latencies.clear()
            self.waiting.clear()
            self.changed = 0
            before = processor_seconds(process.pid)
            self.run(rate, seconds, START + 4 * SECOND)
            used = processor_seconds(process.pid) - before
        latencies = sorted(self.latencies) or [float('nan')]
        return {
            'processor s': used,
            'p50 ms': 1e3 * latencies[len(latencies) // 2],
            'p99 ms': 1e3 * latencies[int(0.99 * len(latencies))],
            'lost': float(len(self.waiting)),
            'changed': self.changed / len(latencies),
        }


def report(results: dict[str, list[Figures]]) -> None:
    """Print medians, and the processor time as a ratio to that of the relay on objects."""
    medians = {
        name: {key: median(run[key] for run in runs) for key in runs[0]}
        for name, runs in results.items()
    }
    peer = medians[PEER]['processor s']
    print(f'{"":18}{"processor s":>18}{"p50 ms":>10}{"p99 ms":>10}{"lost":>8}{"changed":>10}')
    for name, figures in medians.items():
        used = f'{figures["processor s"]:.2f} ({figures["processor s"] / peer:.2f})'
        print(
            f'{name:18}{used:>18}{figures["p50 ms"]:10.1f}{figures["p99 ms"]:10.1f}'
            f'{figures["lost"]:8.0f}{figures["changed"]:10.2f}'
        )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--objects', type=int, default=150)
    parser.add_argument('--results', type=int, choices=(1, 2, 3), default=3)
    parser.add_argument('--rate', type=float, default=10.0)
    parser.add_argument('--seconds', type=float, default=8.0)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--executor', choices=('events', 'single'), default='events')
    arguments = parser.parse_args()
    relay = [sys.executable, RELAY, '--executor', arguments.executor, '--type', TYPE]
    commands = {
        'node': node_command(executor=arguments.executor, preset='vision_msgs/Detection2DArray'),
        PEER: [*relay, 'objects'],
        'relay on bytes': [*relay, 'bytes'],
    }
    results: dict[str, list[Figures]] = {name: [] for name in commands}
    with ros(), Progress(arguments.rounds * len(commands), 'runs') as progress:
        load = Load(arguments.objects, arguments.results)
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                results[name].append(load.measure(command, arguments.rate, arguments.seconds))
                progress.advance(name)
    print(
        f'{arguments.objects} objects with {arguments.results} results, {load.size / 1e3:.0f} kB, '
        f'{arguments.rate:g} messages/s and ground truth each second for {arguments.seconds:g} s, '
        f'median of {arguments.rounds} rounds (ratio to the {PEER})'
    )
    report(results)


if __name__ == '__main__':
    main()
