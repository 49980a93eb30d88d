# SPDX-License-Identifier: Apache-2.0
"""Messages of many objects without ROS, and what a stream learns of them."""

from __future__ import annotations

from typing import Any

from calib_node.stream.stream import Stream

from .messages import MS, SECOND, header, heard, make, sent

ARRAY = 'vision_msgs/Detection2DArray'
TRACKS = 'my_msgs/Tracks'
START = 1000 * SECOND


def at(number: int) -> int:
    return START + number * 100 * MS


def detection(
    box: tuple[float, float, float, float], key: str = '', **scores: float
) -> dict[str, Any]:
    x, y, width, height = box
    return {
        'id': key,
        'bbox': {
            'center': {'position': {'x': x, 'y': y}},
            'size_x': width,
            'size_y': height,
        },
        'results': [
            {'hypothesis': {'class_id': name, 'score': score}} for name, score in scores.items()
        ],
    }


def detections(stamp: int, *objects: dict[str, Any]) -> bytes:
    return sent(ARRAY, header=header(stamp, 'camera'), detections=list(objects))


def scores(message: bytes) -> list[float]:
    return [r.hypothesis.score for d in heard(ARRAY, message).detections for r in d.results]


def tracks(stamp: int, *objects: dict[str, Any], ids: Any = None) -> bytes:
    sec, nanosec = divmod(stamp, SECOND)
    ids = ids if ids is not None else range(len(objects))
    return sent(TRACKS, stamp={'sec': sec, 'nanosec': nanosec}, tracks=list(objects), ids=list(ids))


def of_tracks(**given: Any) -> Stream:
    return make(
        **{
            'raw__type': TRACKS,
            'raw__stamp_field': 'stamp',
            'raw__value_field': 'tracks[].existence',
            'label__type': TRACKS,
            'label__stamp_field': 'stamp',
            'label__value_field': 'tracks[].seen',
            'match__objects': 'order',
            **given,
        }
    )


def seen(stream: Stream) -> list[tuple[str, float, int]]:
    """Return the list that each match is entered in: the key, what was raw, and the label."""
    found: list[tuple[str, float, int]] = []
    stream.pipeline.on_match.append(lambda m: found.append((m.key, m.raw, m.label)))
    return found


LEFT, RIGHT, FAR = (10.0, 10.0, 4.0, 4.0), (30.0, 10.0, 4.0, 4.0), (90.0, 90.0, 4.0, 4.0)
