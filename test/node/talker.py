# SPDX-License-Identifier: Apache-2.0
"""A host's side of the node's topics, as a process: told by lines of JSON what to publish.

A line ``["labels", [sec, nanosec, value]]`` is published. What comes back is written out, a line
each after the word ``heard``: a calibrated message as the list of its numbers, the diagnostics as
an object.
"""

from __future__ import annotations

import json
import sys
import threading

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray

HEARD = 'heard '


def tell(what: object) -> None:
    sys.stdout.write(f'{HEARD}{json.dumps(what)}\n')
    sys.stdout.flush()


def tell_diagnostics(message: DiagnosticArray) -> None:
    for status in message.status:
        level = int.from_bytes(status.level, 'little')
        tell({'level': level, **{pair.key: pair.value for pair in status.values}})


def main() -> None:
    rclpy.init()
    node = rclpy.create_node('talker')
    publishers = {
        topic: node.create_publisher(Float64MultiArray, topic, 1000)
        for topic in ('raw_probabilities', 'labels')
    }
    node.create_subscription(
        Float64MultiArray, 'calibrated_probabilities', lambda m: tell(list(m.data)), 1000
    )
    node.create_subscription(DiagnosticArray, '/diagnostics', tell_diagnostics, 1000)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    told_all = threading.Event()

    def listen() -> None:
        for line in sys.stdin:
            topic, data = json.loads(line)
            publishers[topic].publish(Float64MultiArray(data=[float(number) for number in data]))
        told_all.set()

    threading.Thread(target=listen).start()
    while not told_all.is_set():
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
