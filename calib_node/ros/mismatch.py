# SPDX-License-Identifier: Apache-2.0
"""Why two endpoints of a topic do not hear each other, and what would help."""

from __future__ import annotations

from typing import Any

from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy

_OFFER_MORE = {QoSPolicyKind.RELIABILITY: 'reliable', QoSPolicyKind.DURABILITY: 'transient_local'}
_REQUEST_LESS = {QoSPolicyKind.RELIABILITY: 'automatic', QoSPolicyKind.DURABILITY: 'volatile'}
_OVERRIDE_LESS = {QoSPolicyKind.RELIABILITY: 'best_effort', QoSPolicyKind.DURABILITY: 'volatile'}

UNKNOWN_NAME = '_NODE_NAME_UNKNOWN_'
"""What the middleware calls a node whose name it has not heard, or that has none."""


def node_of(info: Any) -> str:
    """Return the name of the node that an endpoint is of, in words."""
    return 'a node of unknown name' if info.node_name == UNKNOWN_NAME else str(info.node_name)


def type_name(message_type: Any) -> str:
    """Return the name of a message type as the graph gives it."""
    package, _, _ = message_type.__module__.partition('.')
    return f'{package}/msg/{message_type.__name__}'


def type_hash(info: Any) -> str:
    """Return the hash of the definition by which an endpoint sends; empty where none is told."""
    # Humble has none.
    found = getattr(info, 'topic_type_hash', None)
    return str(found) if found is not None and found.version > 0 else ''


def incompatible_policy(offered: QoSProfile, requested: QoSProfile) -> QoSPolicyKind | None:
    """Return the policy by which a subscription does not hear a publisher, if there is one."""
    if (
        requested.reliability == ReliabilityPolicy.RELIABLE
        and offered.reliability == ReliabilityPolicy.BEST_EFFORT
    ):
        return QoSPolicyKind.RELIABILITY
    if (
        requested.durability == DurabilityPolicy.TRANSIENT_LOCAL
        and offered.durability == DurabilityPolicy.VOLATILE
    ):
        return QoSPolicyKind.DURABILITY
    return None


def override_name(topic: str, side: str, policy: QoSPolicyKind) -> str:
    """Return the parameter that overrides a policy of ours, as publisher or subscription."""
    return f'qos_overrides.{topic}.{side}.{policy.name.lower()}'


def remedy(node: Any, topic: str, side: str, policy: QoSPolicyKind, ours: QoSProfile) -> str:
    """Return what to set so that the other endpoint fits, or an empty text if nothing helps.

    Parameters
    ----------
    node : Node
        Ours.
    topic : str
        The topic as resolved.
    side : str
        What we are on it, publisher or subscription.
    policy : QoSPolicyKind
        The policy that is incompatible.
    ours : QoSProfile
        What we offer or request.
    """
    if policy not in _OFFER_MORE:
        return ''
    if side == 'publisher':
        return f'; set {override_name(topic, side, policy)} to {_OFFER_MORE[policy]}'
    if ours.durability == DurabilityPolicy.TRANSIENT_LOCAL:
        # With best effort it would hear nothing either.
        policy = QoSPolicyKind.DURABILITY
    override = override_name(topic, side, policy)
    if is_overridden(node, override):
        return f'; set {override} to {_OVERRIDE_LESS[policy]}'
    return f'; set qos.{policy.name.lower()} to {_REQUEST_LESS[policy]}'


def is_overridden(node: Any, name: str) -> bool:
    """Return whether an override was given, and not only declared with what holds anyway."""
    return name in node._parameter_overrides
