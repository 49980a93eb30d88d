# SPDX-License-Identifier: Apache-2.0
"""A node whose inputs have message types of their own, and who publishes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_msgs.msg import Float64MultiArray

from calib_node.ros.mismatch import type_name

from .harness import World

# A participant may have a topic with one type only, and the client has the node's own names.
REMAPS = {
    'raw_probabilities': 'their/raw',
    'labels': 'their/labels',
    'calibrated_probabilities': 'their/calibrated',
}


class Typed:
    """A node of a world, publishers for its inputs, and what it answers.

    Parameters
    ----------
    world : World
        Where it runs.
    raw, label : type
        Message types of the inputs.
    parameters : dict
        Others than these types.
    arguments : str
        Further ones of the node's command line.
    """

    def __init__(
        self,
        world: World,
        raw: Any = Float64MultiArray,
        label: Any = Float64MultiArray,
        parameters: dict[str, Any] | None = None,
        *arguments: str,
    ) -> None:
        self.world = world
        self.client = world.client()
        types = {'raw.type': type_name(raw), 'label.type': type_name(label)}
        self.process = world.start({**types, **(parameters or {})}, *arguments, remaps=REMAPS)
        self.heard: list[Any] = []
        node = self.client.node
        node.create_subscription(raw, 'their/calibrated', self.heard.append, 1000)
        self.raw = node.create_publisher(raw, 'their/raw', 1000)
        self.labels = node.create_publisher(label, 'their/labels', 1000)

    def send_until(self, condition: Callable[[], Any], *messages: Any) -> None:
        """Publish a prediction, and a label if one is given, until a condition holds."""
        publishers = (self.raw, self.labels)[: len(messages)]

        def send_and_ask() -> Any:
            for publisher, message in zip(publishers, messages):
                publisher.publish(message() if callable(message) else message)
            return condition()

        self.client.spin_until(send_and_ask, 'what was sent for')

    def answered(self, prediction: Any) -> Any:
        """Publish a prediction until one is answered; return the last answer."""
        self.send_until(lambda: self.heard, prediction)
        return self.heard[-1]

    def figure(self, name: str) -> int:
        """Return a count as the last diagnostics have it; 0 before the first."""
        return int(self.client.figures()[name]) if self.client.statuses else 0

    def learned(self) -> bool:
        """Return whether something was learned."""
        return self.figure('learned') > 0
