# SPDX-License-Identifier: Apache-2.0
"""The node of calib_plot."""

from __future__ import annotations

import time

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import Image
from std_msgs.msg import Float64, Float64MultiArray

from calib_node.tools.plot_image import HEIGHT, WIDTH, Picture

PERIOD = 1.0
"""Seconds from image to image."""
OLD_AFTER = 10.0
"""Seconds after which a diagram is said to be old."""


class PlotNode(Node):
    """Publishes images of the reliability diagrams of a calibration node.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """

    def __init__(self) -> None:
        super().__init__('calib_plot')
        self._picture = Picture()
        target = str(self.declare_parameter('node', '/calib_node').value)
        self._target = target if target.startswith('/') else f'/{target}'
        namespace = self._target.rpartition('/')[0]
        self._bins: list[list[tuple[float, float, float]]] = []
        self._heard = 0.0
        self._errors = {'raw_ece': float('nan'), 'ece': float('nan')}
        self._topic = self._resolved('reliability', f'{self._target}/reliability')
        self.create_subscription(Float64MultiArray, self._topic, self._hear, 1)
        for name in self._errors:
            topic = self._resolved(name, f'{namespace}/{name}')
            self.create_subscription(
                Float64, topic, lambda message, name=name: self._note(name, message), 1
            )
        self._images = self.create_publisher(Image, '~/image', 1)
        # Steady, so that it goes on when simulated time stands still.
        self.create_timer(PERIOD, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(
            f'ready: {self._images.topic_name} shows {self._topic} while somebody looks'
        )

    def _resolved(self, name: str, default: str) -> str:
        """Return the topic that a remap gives a name, or the one beside the calibration node."""
        resolved: str = self.resolve_topic_name(name)
        own = f'{self.get_namespace().rstrip("/")}/{name}'
        return default if resolved == own else resolved

    def _hear(self, message: Float64MultiArray) -> None:
        numbers = message.data.tolist()
        if len(numbers) % 6 or not numbers:
            self.get_logger().warning(
                f'{self._topic} holds {len(numbers)} numbers, which are no reliability diagrams',
                once=True,
            )
            return
        half = len(numbers) // 2
        self._bins = [
            [*zip(side[::3], side[1::3], side[2::3])] for side in (numbers[:half], numbers[half:])
        ]
        self._heard = time.monotonic()

    def _note(self, name: str, message: Float64) -> None:
        self._errors[name] = message.data

    def _publish(self) -> None:
        if not self._images.get_subscription_count():
            return
        if self._bins:
            ago = time.monotonic() - self._heard
            old = f' (of {ago:.0f} s ago)' if ago > OLD_AFTER else ''
            raw, now = self._errors['raw_ece'], self._errors['ece']
            errors = '' if raw != raw else f'ECE {now:.3f}, raw {raw:.3f}{old}'
            before, after = self._bins
            pixels = self._picture.diagram(self._target, before, after, errors)
        else:
            pixels = self._picture.message(
                f'nothing on {self._topic} yet\n(it comes once labels have matched)'
            )
        image = Image(height=HEIGHT, width=WIDTH, encoding='rgb8', step=3 * WIDTH)
        image.header.stamp = self.get_clock().now().to_msg()
        image.header.frame_id = self._target
        image.data.frombytes(pixels.tobytes())
        self._images.publish(image)
