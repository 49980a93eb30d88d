# SPDX-License-Identifier: Apache-2.0
"""The executable: starts the node, spins it, and stops it so that nothing learned is lost."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Sequence

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from calib_node.ros.guarded import GuardedNode
from calib_node.ros.node import CalibrationNode

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PAUSE = 0.01
"""Seconds of rest after a failure of the executor, which may be there to stay."""


def refuse_other_arguments(arguments: Sequence[str]) -> None:
    """Raise a ValueError if a command line has arguments that are not for ROS.

    Parameters
    ----------
    arguments : sequence of str
        The command line, the program's name first.
    """
    others = remove_ros_args(list(arguments))[1:]
    if others:
        raise ValueError(
            f'the arguments {" ".join(others)} are not taken: put --ros-args first, as in '
            'calib_node --ros-args --params-file FILE -p NAME:=VALUE -r FROM:=TO'
        )


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


def spin(executor: Executor, node: GuardedNode, stop: threading.Event) -> None:
    """Spin until the event is set or rclpy is shut down, whatever arrives meanwhile."""
    while rclpy.ok() and not stop.is_set():
        try:
            # A wait without end ignores signals in the events executor.
            executor.spin_once(timeout_sec=0.2)
        except Exception as error:
            if rclpy.ok():
                node.tell_failure('what arrived', error)
                stop.wait(PAUSE)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT, SIGTERM or SIGHUP; return the exit code.

    Parameters
    ----------
    args : list of str, optional
        The command line, the program's name first; that of the process by default.
    """
    # rclpy's own handlers raise in the middle of a callback, which tears an update in half.
    stop = threading.Event()
    for number in STOP_SIGNALS:
        # nohup has a closed terminal ignored.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: stop.set())
    arguments = sys.argv if args is None else args
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        refuse_other_arguments(arguments)
        node = CalibrationNode(arguments)
    except Exception as reason:
        # A bad remap, an unreadable parameter file: rclpy has a type of its own for each.
        get_logger('calib_node').fatal('cannot start: ' + ' '.join(str(reason).split()))
        rclpy.try_shutdown()
        return 1
    if node.executor_name != node.settings.executor:
        node.get_logger().info('executor=single is used, which stamps of publication need')
    executor = make_executor(node.executor_name, node)
    # What is loaded by now stays; the collector need not look at it again and again.
    gc.freeze()
    try:
        spin(executor, node, stop)
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
