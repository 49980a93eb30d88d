# SPDX-License-Identifier: Apache-2.0
"""The node's topics: their names as resolved, their QoS, and who else is on them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from std_msgs.msg import Float64, Float64MultiArray

from calib_node.ros.listener import OVERRIDABLE, Input, Listener
from calib_node.ros.mismatch import (
    UNKNOWN_NAME,
    incompatible_policy,
    node_of,
    remedy,
    type_hash,
    type_name,
)
from calib_node.stream.table import Qos

try:
    from rclpy.event_handler import PublisherEventCallbacks
except ImportError:
    # Its name in Humble.
    from rclpy.qos_event import PublisherEventCallbacks

RAW = 'raw_probabilities'
LABELS = 'labels'
CALIBRATED = 'calibrated_probabilities'
RELIABILITY = '~/reliability'
ALARM = '~/alarm'
DIAGNOSTICS = '/diagnostics'
NAMES = (RAW, LABELS, CALIBRATED, 'ece', 'raw_ece', RELIABILITY, ALARM, DIAGNOSTICS)


class Topics:
    """Subscribes to the inputs and publishes the outputs.

    Parameters
    ----------
    node : Node
        Owner of the topics.
    qos : Qos
        The parameters of that section.
    raw, labels : Input
        The inputs.

    Raises
    ------
    ValueError
        If two of the topics resolve to the same name.
    """

    def __init__(self, node: Node, qos: Qos, raw: Input, labels: Input) -> None:
        self._node = node
        self.resolved = {name: node.resolve_topic_name(name) for name in NAMES}
        self._refuse_shared_names()
        self._depth = qos.depth
        self._listeners = {
            RAW: self._listen(RAW, raw, qos),
            LABELS: self._listen(LABELS, labels, qos),
        }
        self.calibrated = self._publish(CALIBRATED, raw.message_type)
        self.ece = self._publish('ece', Float64)
        self.raw_ece = self._publish('raw_ece', Float64)
        self.reliability = self._publish(RELIABILITY, Float64MultiArray)
        self.alarm = self._publish(ALARM, DiagnosticStatus, latched=True)
        self._publishers = {
            CALIBRATED: self.calibrated,
            'ece': self.ece,
            'raw_ece': self.raw_ece,
            RELIABILITY: self.reliability,
            ALARM: self.alarm,
        }
        self._types_said: list[str] = []
        # By input: how many publishers were looked at, and what is wrong with their definitions.
        self._definitions: dict[str, tuple[int, list[str]]] = {}

    def _refuse_shared_names(self) -> None:
        """Refuse feedback, and two of our topics that would be mixed up."""
        for i, (name, resolved) in enumerate(self.resolved.items()):
            for other in list(self.resolved)[:i]:
                if self.resolved[other] == resolved:
                    raise ValueError(
                        f'the topics {other} and {name} are both {resolved}; remap one of them'
                    )

    def _qos(
        self, reliability: ReliabilityPolicy, durability: DurabilityPolicy, depth: int = 0
    ) -> QoSProfile:
        # A new one for each topic: rclpy writes a topic's overrides into the profile it is given.
        return QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=depth or self._depth,
            reliability=reliability,
            durability=durability,
        )

    def _listen(self, name: str, source: Input, qos: Qos) -> Listener:
        automatic = qos.reliability == 'automatic'
        reliability = 'reliable' if automatic else qos.reliability
        profile = self._qos(
            ReliabilityPolicy[reliability.upper()], DurabilityPolicy[qos.durability.upper()]
        )
        return Listener(self._node, name, source, profile, automatic)

    def _publish(self, name: str, message_type: Any, latched: bool = False) -> Any:
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        return self._node.create_publisher(
            message_type,
            name,
            # Of what is latched only the last counts.
            self._qos(ReliabilityPolicy.RELIABLE, durability, int(latched)),
            event_callbacks=PublisherEventCallbacks(
                incompatible_qos=lambda event: self._incompatible(name, event),
                use_default_callbacks=False,
            ),
            qos_overriding_options=QoSOverridingOptions(OVERRIDABLE),
        )

    def _incompatible(self, name: str, event: Any) -> None:
        topic, policy = self.resolved[name], QoSPolicyKind(event.last_policy_kind)
        self._node.get_logger().warning(
            f'{topic}: a subscription requests a {policy.name.lower()} that is incompatible with '
            f'ours, so nothing flows between them'
            + remedy(self._node, topic, 'publisher', policy, self._publishers[name].qos_profile)
        )

    def describe(self) -> str:
        """Return each topic with its resolved name."""
        return ', '.join(f'{name} is {resolved}' for name, resolved in self.resolved.items())

    def publishers(self, name: str) -> int:
        """Return how many publishers an input has."""
        return self._node.count_publishers(self.resolved[name])

    def lost(self, name: str) -> int:
        """Return how many messages of an input the middleware has reported lost."""
        return self._listeners[name].lost

    def warnings(self) -> list[str]:
        """Compare types and QoS with everyone else's; return a sentence for each mismatch.

        A wrong type has no event, so one that is new is logged here; and an event is not taken
        back when the other one leaves. Inputs learn here what their publishers offer by now.
        """
        for name, listener in self._listeners.items():
            listener.look(partial(self._offers_best_effort, name))
        types, qos = self._defined_otherwise(), []
        for name, side, info in self._unmatched():
            if side == 'publisher':
                wanted, does = type_name(self._listeners[name].first.msg_type), 'publishes'
                ours, our_side = self._listeners[name].qos_profile, 'subscription'
                offered, requested = info.qos_profile, ours
            else:
                wanted, does = type_name(self._publishers[name].msg_type), 'subscribes to'
                ours, our_side = self._publishers[name].qos_profile, 'publisher'
                offered, requested = ours, info.qos_profile
            topic = self.resolved[name]
            who = f'{topic}: {node_of(info)} {does}'
            policy = incompatible_policy(offered, requested)
            if info.topic_type != wanted:
                types.append(f'{who} {info.topic_type}, not {wanted}')
            elif policy is not None:
                qos.append(
                    f'{who} it with an incompatible QoS: {_values(policy, offered, requested)}'
                    + remedy(self._node, topic, our_side, policy, ours)
                )
        for sentence in types:
            if sentence not in self._types_said:
                self._node.get_logger().warning(sentence)
        self._types_said = types
        return types + qos

    def _defined_otherwise(self) -> list[str]:
        """Return a sentence for each publisher whose definition of the message type is not ours.

        The middleware goes by the type's name alone, so that its bytes would be misread. A look at
        each costs much, and is taken where their number has changed.
        """
        for name, listener in self._listeners.items():
            number, topic = self.publishers(name), self.resolved[name]
            if number != self._definitions.get(name, (0, []))[0]:
                wanted, ours = type_name(listener.first.msg_type), self._own_hash(topic)
                infos = self._node.get_publishers_info_by_topic(topic)
                if any(info.node_name == UNKNOWN_NAME for info in infos):
                    # Its name comes a moment after it, and is looked for again.
                    number = -1
                found = [
                    f'{topic}: {node_of(info)} publishes {wanted} by another definition than that '
                    f'of here, so that it is misread: install the same version of '
                    f'{wanted.partition("/")[0]} on both sides'
                    for info in infos
                    if info.topic_type == wanted and ours and type_hash(info) not in ('', ours)
                ]
                self._definitions[name] = number, found
        return [sentence for _, found in self._definitions.values() for sentence in found]

    def _own_hash(self, topic: str) -> str:
        infos = self._node.get_subscriptions_info_by_topic(topic)
        me = self._node.get_name(), self._node.get_namespace()
        own = (type_hash(info) for info in infos if (info.node_name, info.node_namespace) == me)
        return next(own, '')

    def _offers_best_effort(self, name: str) -> bool:
        """Return whether a publisher of an input offers no more than best effort."""
        listener = self._listeners[name]
        return any(
            info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
            and info.topic_type == type_name(listener.first.msg_type)
            for info in self._unheard(name)
        )

    def _unheard(self, name: str) -> list[Any]:
        """Return the publishers of an input where not all of them are matched.

        Where all are there is no mismatch, and a look at each would cost far more.
        """
        if self._listeners[name].matched() == self.publishers(name):
            return []
        return self._node.get_publishers_info_by_topic(self.resolved[name])

    def _unmatched(self) -> Iterator[tuple[str, str, Any]]:
        """Yield topic, side and description of the others where not all of them are matched."""
        node = self._node
        for name in self._listeners:
            for info in self._unheard(name):
                yield name, 'publisher', info
        for name, publisher in self._publishers.items():
            topic = self.resolved[name]
            if publisher.get_subscription_count() != node.count_subscribers(topic):
                for info in node.get_subscriptions_info_by_topic(topic):
                    yield name, 'subscriber', info


def _values(policy: QoSPolicyKind, offered: QoSProfile, requested: QoSProfile) -> str:
    name = policy.name.lower()
    values = (getattr(profile, name).name.lower() for profile in (offered, requested))
    return '{} offered, {} requested'.format(*values)
