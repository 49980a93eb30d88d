#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of the node's benchmark: a bare rclpy node that relays the raw topic.

It hears the labels without using them. `objects` handles message objects, as a node written in
the ordinary way does; `bytes` passes the serialized bytes on, the least a Python node can do.
"""

from __future__ import annotations

import argparse
import signal
import threading

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions

from calib_node.ros.main import make_executor
from calib_node.ros.messages import find_type


def main() -> None:
    """Relay until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('form', choices=('objects', 'bytes'))
    parser.add_argument('--executor', choices=('events', 'single'), default='events')
    parser.add_argument('--type', default='std_msgs/msg/Float64MultiArray')
    arguments = parser.parse_args()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Node('relay')
    # Reliable, as rclpy's default is and as the node asks its publishers.
    inputs = QoSProfile(depth=1000)
    kind = find_type(arguments.type)
    publisher = node.create_publisher(kind, 'calibrated_probabilities', 1000)
    raw = arguments.form == 'bytes'
    node.create_subscription(kind, 'raw_probabilities', publisher.publish, inputs, raw=raw)
    node.create_subscription(kind, 'labels', lambda _: None, inputs, raw=raw)
    executor = make_executor(arguments.executor, node)
    while not stop.is_set():
        executor.spin_once(timeout_sec=0.2)


if __name__ == '__main__':
    main()
