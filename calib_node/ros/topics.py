# SPDX-License-Identifier: Apache-2.0
"""The node's topics: their names as resolved, their QoS, and who else is on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.qos_overriding_options import QoSOverridingOptions
from std_msgs.msg import Float64, Float64MultiArray

from calib_node.ros.messages import Codec

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:
    # Its name in Humble.
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

RAW = 'raw_probabilities'
LABELS = 'labels'
CALIBRATED = 'calibrated_probabilities'
RELIABILITY = '~/reliability'
DIAGNOSTICS = '/diagnostics'
NAMES = (RAW, LABELS, CALIBRATED, 'ece', 'raw_ece', RELIABILITY, DIAGNOSTICS)

OVERRIDABLE = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)

Callback = Callable[..., None]


def type_name(message_type: Any) -> str:
    """Return the name of a message type as the graph gives it."""
    package, _, _ = message_type.__module__.partition('.')
    return f'{package}/msg/{message_type.__name__}'


@dataclass(frozen=True)
class Input:
    """An input topic.

    Attributes
    ----------
    codec : Codec
        How its messages are read.
    stamping : str
        Where their stamps come from: header, publication or arrival.
    callback : callable
        Called with a message as the codec takes it, and its stamp where that is not in it.
    """

    codec: Codec
    stamping: str
    callback: Callback


class Topics:
    """Subscribes to the inputs and publishes the outputs.

    Parameters
    ----------
    node : Node
        Owner of the topics.
    values : mapping
        The node's parameters.
    raw, labels : Input
        The inputs.

    Raises
    ------
    ValueError
        If two of the topics resolve to the same name.
    """

    def __init__(self, node: Node, values: Mapping[str, Any], raw: Input, labels: Input) -> None:
        self._node = node
        self.resolved = {name: node.resolve_topic_name(name) for name in NAMES}
        self._refuse_shared_names()
        self._depth = values['qos.depth']
        self._reliability = ReliabilityPolicy[values['qos.reliability'].upper()]
        self._durability = DurabilityPolicy[values['qos.durability'].upper()]
        self._subscriptions = {
            RAW: self._subscribe(RAW, raw),
            LABELS: self._subscribe(LABELS, labels),
        }
        self.calibrated = self._publish(CALIBRATED, raw.codec.message_type)
        self.ece = self._publish('ece', Float64)
        self.raw_ece = self._publish('raw_ece', Float64)
        self.reliability = self._publish(RELIABILITY, Float64MultiArray)
        self._publishers = {
            CALIBRATED: self.calibrated,
            'ece': self.ece,
            'raw_ece': self.raw_ece,
            RELIABILITY: self.reliability,
        }
        self._types_said: list[str] = []

    def _refuse_shared_names(self) -> None:
        """Refuse feedback, and two of our topics that would be mixed up."""
        for i, (name, resolved) in enumerate(self.resolved.items()):
            for other in list(self.resolved)[:i]:
                if self.resolved[other] == resolved:
                    raise ValueError(
                        f'the topics {other} and {name} are both {resolved}; remap one of them'
                    )

    def _qos(self, reliability: ReliabilityPolicy, durability: DurabilityPolicy) -> QoSProfile:
        # A new one for each topic: rclpy writes a topic's overrides into the profile it is given.
        return QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=self._depth,
            reliability=reliability,
            durability=durability,
        )

    def _subscribe(self, name: str, source: Input) -> Any:
        callback = source.callback
        if source.stamping == 'publication':
            handler: Any = lambda message, info: callback(message, info['source_timestamp'])  # noqa: E731
        elif source.stamping == 'arrival':
            clock = self._node.get_clock()
            handler = lambda message: callback(message, clock.now().nanoseconds)  # noqa: E731
        else:
            handler = callback
        return self._node.create_subscription(
            source.codec.message_type,
            name,
            handler,
            self._qos(self._reliability, self._durability),
            raw=source.codec.serialized,
            event_callbacks=SubscriptionEventCallbacks(
                incompatible_qos=lambda event: self._incompatible(name, 'publisher offers', event),
                use_default_callbacks=False,
            ),
            qos_overriding_options=QoSOverridingOptions(OVERRIDABLE),
        )

    def _publish(self, name: str, message_type: Any) -> Any:
        return self._node.create_publisher(
            message_type,
            name,
            self._qos(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE),
            event_callbacks=PublisherEventCallbacks(
                incompatible_qos=lambda event: self._incompatible(
                    name, 'subscription requests', event
                ),
                use_default_callbacks=False,
            ),
            qos_overriding_options=QoSOverridingOptions(OVERRIDABLE),
        )

    def _incompatible(self, name: str, other: str, event: Any) -> None:
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        self._node.get_logger().warning(
            f'{self._node.resolve_topic_name(name)}: a {other} a {policy} that is incompatible '
            f'with ours, so nothing flows between them (see qos.{policy})'
        )

    def describe(self) -> str:
        """Return each topic with its resolved name."""
        return ', '.join(f'{name} is {resolved}' for name, resolved in self.resolved.items())

    def publishers(self, name: str) -> int:
        """Return how many publishers an input has."""
        return self._node.count_publishers(self.resolved[name])

    def warnings(self) -> list[str]:
        """Compare types and QoS with everyone else's; return a sentence for each mismatch.

        A wrong type has no event, so one that is new is logged here; and an event is not taken
        back when the other one leaves.
        """
        types, qos = [], []
        for name, side, info in self._unmatched():
            endpoint, does = (
                (self._subscriptions[name], 'publishes')
                if side == 'publisher'
                else (self._publishers[name], 'subscribes to')
            )
            wanted = type_name(endpoint.msg_type)
            offered, requested = info.qos_profile, endpoint.qos_profile
            if side == 'subscriber':
                offered, requested = requested, offered
            who = f'{self.resolved[name]}: {info.node_name} {does}'
            if info.topic_type != wanted:
                types.append(f'{who} {info.topic_type}, not {wanted}')
            elif reason := _incompatibility(offered, requested):
                qos.append(f'{who} it with an incompatible QoS: {reason}')
        for sentence in types:
            if sentence not in self._types_said:
                self._node.get_logger().warning(sentence)
        self._types_said = types
        return types + qos

    def _unmatched(self) -> Iterator[tuple[str, str, Any]]:
        """Yield topic, side and description of the others where not all of them are matched.

        Where all are there is no mismatch, and a look at each would cost far more.
        """
        node = self._node
        for name, subscription in self._subscriptions.items():
            # Humble cannot count them.
            matched = getattr(subscription, 'get_publisher_count', lambda: -1)()
            if matched != self.publishers(name):
                for info in node.get_publishers_info_by_topic(self.resolved[name]):
                    yield name, 'publisher', info
        for name, publisher in self._publishers.items():
            topic = self.resolved[name]
            if publisher.get_subscription_count() != node.count_subscribers(topic):
                for info in node.get_subscriptions_info_by_topic(topic):
                    yield name, 'subscriber', info


def _incompatibility(offered: QoSProfile, requested: QoSProfile) -> str:
    if (
        requested.reliability == ReliabilityPolicy.RELIABLE
        and offered.reliability == ReliabilityPolicy.BEST_EFFORT
    ):
        return 'best_effort offered, reliable requested'
    if (
        requested.durability == DurabilityPolicy.TRANSIENT_LOCAL
        and offered.durability == DurabilityPolicy.VOLATILE
    ):
        return 'volatile offered, transient_local requested'
    return ''
