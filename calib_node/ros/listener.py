# SPDX-License-Identifier: Apache-2.0
"""An input topic: reliable as far as its publishers are, and nothing lost on the way there."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from calib_node.ros.copies import BEST_EFFORT, RELIABLE, Copies, content_of
from calib_node.ros.mismatch import is_overridden, override_name, remedy

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:
    # Its name in Humble.
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

OVERRIDABLE = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)
LINGER = 2.0
"""Seconds that the second subscription stays once it is not needed, and that copies may be late."""

Callback = Callable[..., None]


@dataclass(frozen=True)
class Input:
    """An input topic.

    Attributes
    ----------
    message_type : type
        Message class.
    serialized : bool
        Whether the callback takes bytes.
    stamping : str
        Where their stamps come from: header, publication or arrival.
    callback : callable
        Called with a message, and its stamp where that is not in it.
    """

    message_type: Any
    serialized: bool
    stamping: str
    callback: Callback


class Listener:
    """Hears an input topic.

    With the reliability `automatic` it asks for reliable, so that publishers who offer it lose no
    burst. Once a publisher offers only best effort there is a second subscription, for as long as
    one is needed, and what comes over both is let through once.

    Parameters
    ----------
    node : Node
        Owner of the subscriptions.
    name : str
        The topic, not yet resolved.
    source : Input
        What is done with its messages.
    qos : QoSProfile
        What to ask for; overrides are written into it.
    automatic : bool
        Whether to fall back to best effort where a publisher offers no more.

    Attributes
    ----------
    first : Subscription
        The one that is always there.
    lost : int
        How many messages the middleware has reported lost. With publishers of both kinds, copies
        that were lost count too, as nobody can tell them.

    Raises
    ------
    ValueError
        If best effort is asked for together with transient_local.
    """

    def __init__(
        self, node: Node, name: str, source: Input, qos: QoSProfile, automatic: bool
    ) -> None:
        self._node, self._name, self._source = node, name, source
        self.topic = node.resolve_topic_name(name)
        self._handler = self._make_handler()
        self.lost = 0
        self._copies = Copies(0)
        self._second: Any = None
        self._unneeded_since = 0.0
        self._merging = False
        self.first = self._subscribe(self._handler, qos, QoSOverridingOptions(OVERRIDABLE))
        self._refuse_contradiction()
        self._automatic = (
            automatic
            and qos.reliability == ReliabilityPolicy.RELIABLE
            and qos.durability == DurabilityPolicy.VOLATILE
            and not is_overridden(
                node, override_name(self.topic, 'subscription', QoSPolicyKind.RELIABILITY)
            )
        )

    @property
    def qos_profile(self) -> QoSProfile:
        """What a publisher must offer to be heard."""
        return (self._second or self.first).qos_profile

    def matched(self) -> int:
        """Return how many publishers are heard, or -1 where rclpy cannot count them."""
        return _matched(self._second or self.first)

    def _make_handler(self) -> Callback:
        callback, stamping = self._source.callback, self._source.stamping
        if stamping == 'publication':
            return lambda message, info: callback(message, info['source_timestamp'])
        if stamping == 'arrival':
            clock = self._node.get_clock()
            return lambda message: callback(message, clock.now().nanoseconds)
        return callback

    def _subscribe(self, handler: Callback, qos: QoSProfile, overriding: Any = None) -> Any:
        def subscribe(**more: Callback) -> Any:
            return self._node.create_subscription(
                self._source.message_type,
                self._name,
                handler,
                qos,
                raw=self._source.serialized,
                event_callbacks=SubscriptionEventCallbacks(
                    incompatible_qos=self._incompatible, use_default_callbacks=False, **more
                ),
                qos_overriding_options=overriding,
            )

        try:
            return subscribe(message_lost=self._count_lost)
        except UnsupportedEventTypeError:
            return subscribe()

    def _count_lost(self, event: Any) -> None:
        self.lost += event.total_count_change

    def _refuse_contradiction(self) -> None:
        qos = self.first.qos_profile
        if (
            qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
            and qos.reliability == ReliabilityPolicy.BEST_EFFORT
        ):
            override = override_name(self.topic, 'subscription', QoSPolicyKind.RELIABILITY)
            given = is_overridden(self._node, override)
            setting = f'{override} to reliable' if given else 'qos.reliability to automatic'
            raise ValueError(
                f'{self.topic} is to be heard transient_local with best_effort, and so would hear '
                f'nothing of what was published before; set {setting}'
            )

    def _incompatible(self, event: Any) -> None:
        policy = QoSPolicyKind(event.last_policy_kind)
        if self._automatic and policy == QoSPolicyKind.RELIABILITY:
            self._listen_twice()
            return
        self._node.get_logger().warning(
            f'{self.topic}: a publisher offers a {policy.name.lower()} that is incompatible with '
            f'ours, so nothing flows between them'
            + remedy(self._node, self.topic, 'subscription', policy, self.qos_profile)
        )

    # Two subscriptions

    def look(self, best_effort: Callable[[], bool]) -> None:
        """Begin to hear best-effort publishers, or cease to.

        Parameters
        ----------
        best_effort : callable
            Whether one of the publishers offers only best effort, as the graph knows it; asked
            only where the counts do not tell.
        """
        if not self._automatic:
            return
        now = time.monotonic()
        if self._second is None:
            if self._merging and now - self._unneeded_since > LINGER:
                self.first.callback = self._handler
                self._merging = False
            if best_effort():
                self._listen_twice()
        elif _matched(self._second) != _matched(self.first) or best_effort():
            self._unneeded_since = now
        elif now - self._unneeded_since > LINGER:
            self._node.destroy_subscription(self._second)
            self._second = None
            self._unneeded_since = now

    def _listen_twice(self) -> None:
        self._unneeded_since = time.monotonic()
        if self._second is not None:
            return
        qos = copy(self.first.qos_profile)
        qos.reliability = ReliabilityPolicy.BEST_EFFORT
        if not self._merging:
            self._copies = Copies(4 * qos.depth)
        # Before the second one is there, so that all that may have a copy is known.
        self.first.callback = self._once(RELIABLE)
        self._merging = True
        self._second = self._subscribe(self._once(BEST_EFFORT), qos)

    def _once(self, side: int) -> Callback:
        """Return a handler of one of the two subscriptions."""
        handle, copies = self._handler, self._copies
        if self._source.stamping == 'publication':

            def with_info(message: Any, info: Any) -> None:
                if copies.is_new(info['source_timestamp'], side):
                    handle(message, info)

            return with_info
        if side == RELIABLE:

            def reliable(message: Any) -> None:
                if copies.is_new(content_of(message), RELIABLE):
                    handle(message)

            return reliable
        first = self.first

        def best_effort(message: Any) -> None:
            # As long as all publishers offer best effort alone there are no copies.
            if not (copies or _matched(first)) or copies.is_new(content_of(message), BEST_EFFORT):
                handle(message)

        return best_effort


def _matched(subscription: Any) -> int:
    # Humble cannot count them.
    count: int = getattr(subscription, 'get_publisher_count', lambda: -1)()
    return count
