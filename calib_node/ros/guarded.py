# SPDX-License-Identifier: Apache-2.0
"""A node out of whose callbacks nothing that arrives gets as an exception.

What rclpy itself subscribes to and serves is within: a negative time on /clock, a request that is
malformed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from rclpy.node import Node

REPEAT_AFTER = 10.0
"""Seconds before the same trouble is logged again."""


class Throttle:
    """Says whether it is time to say something again."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}

    def due(self, key: str) -> bool:
        """Return whether `key` has not been due for a while."""
        now = time.monotonic()
        if now - self._said.get(key, -REPEAT_AFTER) < REPEAT_AFTER:
            return False
        self._said[key] = now
        return True


class GuardedNode(Node):
    """Logs what gets out of a callback, and goes on.

    A service whose callback fails answers with what its response holds by then.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # rclpy makes endpoints while it makes the node.
        self._throttle = Throttle()
        super().__init__(*arguments, **options)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *rest: Any, **options: Any
    ) -> Any:
        """As in rclpy."""
        guarded = self._guarded(callback, f'what came on {topic}')
        return super().create_subscription(msg_type, topic, guarded, *rest, **options)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[..., Any], **options: Any
    ) -> Any:
        """As in rclpy."""
        guarded = self._guarded(callback, f'a request of {srv_name}')
        return super().create_service(srv_type, srv_name, guarded, **options)

    def create_timer(
        self, timer_period_sec: float, callback: Callable[[], Any], *rest: Any, **options: Any
    ) -> Any:
        """As in rclpy."""
        guarded = self._guarded(callback, f'the work of each {timer_period_sec:g} s')
        return super().create_timer(timer_period_sec, guarded, *rest, **options)

    def _guarded(self, callback: Callable[..., Any], what: str) -> Callable[..., Any]:
        @wraps(callback)
        def guarded(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except Exception as error:
                self.tell_failure(what, error)
                # The response of a service; a message has none, and its info is not looked at.
                return arguments[-1] if arguments else None

        return guarded

    def tell_failure(self, what: str, error: Exception) -> None:
        """Log what could not be dealt with, unless that was said a moment ago."""
        reason = ' '.join(str(error).split()) or type(error).__name__
        if self._throttle.due(f'{what}: {reason}'):
            self.get_logger().error(f'{what} cannot be dealt with and is left aside: {reason}')
