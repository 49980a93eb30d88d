# SPDX-License-Identifier: Apache-2.0
"""calib_plot beside a node: an image while somebody looks, and a word where there is nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from calib_node.tools.plot_image import CALIBRATED, HEIGHT, RAW, WIDTH

from .harness import DEADLINE, SECOND, World

COMMAND = [sys.executable, '-m', 'calib_node.tools.plot']


@contextmanager
def calib_plot(world: World, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=world.environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def looked_at(client: Any, topic: str = '/calib_plot/image') -> list[Any]:
    """Return the list that images are entered in."""
    images = pytest.importorskip('sensor_msgs.msg', reason='sensor_msgs is not installed')
    heard: list[Any] = []
    client.node.create_subscription(images.Image, topic, heard.append, 1)
    return heard


def has(image: Any, colour: str) -> bool:
    """Return whether a colour is in an image."""
    pixels = np.frombuffer(image.data, np.uint8).reshape(HEIGHT, WIDTH, 3)
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return bool((pixels == wanted).all(axis=2).any())


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_diagrams_of_a_node(world: World, number: int):
    _, client = world.connected({'ece.period': 0.05})
    heard = looked_at(client)
    with calib_plot(world) as process:
        client.spin_until(lambda: heard, 'an image')
        first = heard[0]
        assert (first.width, first.height, first.encoding, first.step) == (
            WIDTH, HEIGHT, 'rgb8', 3 * WIDTH,
        )  # fmt: skip
        assert first.header.frame_id == '/calib_node'
        assert not has(first, RAW)
        client.teach(SECOND, 0.9, 1)
        client.teach(2 * SECOND, 0.3, 0)
        client.spin_until(lambda: has(heard[-1], RAW) and has(heard[-1], CALIBRATED), 'a diagram')
        process.send_signal(number)
        assert process.wait(DEADLINE) == 0


def test_another_node_by_name_and_by_remaps(world: World):
    client = world.client(namespace='/front')
    world.start({'ece.period': 0.05}, namespace='/front')
    client.connect()
    client.teach(SECOND, 0.9, 1)
    heard = looked_at(client, '/one/image')
    with calib_plot(world, '--ros-args', '-r', '__node:=one', '-p', 'node:=/front/calib_node'):
        client.spin_until(lambda: heard and has(heard[-1], RAW), 'a diagram')
    heard = looked_at(client, '/two/image')
    remap = 'reliability:=/front/calib_node/reliability'
    with calib_plot(world, '--ros-args', '-r', '__node:=two', '-r', remap):
        client.spin_until(lambda: heard and has(heard[-1], RAW), 'a diagram')


def test_nothing_is_drawn_while_nobody_looks(world: World):
    """The node's own diagram is published while somebody hears it, as calib_plot does."""
    client = world.client()
    with calib_plot(world) as process:
        client.spin_until(
            lambda: client.node.count_publishers('/calib_plot/image'), 'the topic of images'
        )
        heard = looked_at(client)
        client.spin_until(lambda: heard, 'an image once somebody looks')
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=DEADLINE)
    assert 'ready: /calib_plot/image shows /calib_node/reliability' in said


def test_arguments_that_ros_refuses(world: World):
    with calib_plot(world, '--ros-args', '-r', 'no remap') as process:
        said, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert '\ncalib_plot: failed to initialize' in said
    assert 'Traceback' not in said
