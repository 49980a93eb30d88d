# SPDX-License-Identifier: Apache-2.0
"""The executable: starts the node, spins it, and stops it so that nothing learned is lost."""

from __future__ import annotations

import gc
import signal
import sys
import threading

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from calib_node.ros.node import CalibrationNode

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def make_executor(name: str, node: Node) -> Executor:
    """Return the executor called `name`, or the single-threaded one, with the node in it."""
    executor: Executor = SingleThreadedExecutor()
    if name == 'events':
        try:
            from rclpy.experimental.events_executor import EventsExecutor
        except ImportError:
            node.get_logger().info('this rclpy has no events executor; executor=single is used')
        else:
            executor = EventsExecutor()
    executor.add_node(node)
    return executor


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; return the exit code."""
    # rclpy's own handlers raise in the middle of a callback, which tears an update in half.
    stop = threading.Event()
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: stop.set())
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = CalibrationNode(sys.argv if args is None else args)
    except Exception as reason:
        # A bad remap, an unreadable parameter file: rclpy has a type of its own for each.
        get_logger('calib_node').fatal('cannot start: ' + ' '.join(str(reason).split()))
        rclpy.try_shutdown()
        return 1
    executor = make_executor(node.executor_name, node)
    # What is loaded by now stays; the collector need not look at it again and again.
    gc.freeze()
    try:
        # A wait without end ignores signals in the events executor.
        while rclpy.ok() and not stop.is_set():
            executor.spin_once(timeout_sec=0.2)
    finally:
        # Another signal must not end the process while it saves, nor when Python has put the
        # default handlers back at its own end.
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        node.close()
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
