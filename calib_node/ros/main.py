# SPDX-License-Identifier: Apache-2.0
"""The executable: starts the nodes, spins them, and stops them so that nothing learned is lost.

There is one node, calib_node, or one of each name after ``--nodes``.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from contextlib import ExitStack

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from calib_node.ros.fleet import executor_name, node_names, start_nodes
from calib_node.ros.guarded import GuardedNode
from calib_node.ros.node import NAME

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 20
"""Seconds that the middleware has to end, once all is saved."""
PAUSE = 0.01
"""Seconds of rest after a failure of the executor, which may be there to stay."""


def make_executor(name: str, *nodes: Node) -> Executor:
    """Return the executor called `name`, or the single-threaded one, with the nodes in it."""
    executor: Executor = SingleThreadedExecutor()
    if name == 'events':
        try:
            from rclpy.experimental.events_executor import EventsExecutor
        except ImportError:
            nodes[0].get_logger().info('this rclpy has no events executor; executor=single is used')
        else:
            executor = EventsExecutor()
    for node in nodes:
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


def ignore_signals() -> None:
    """Let no other signal end the process while it saves.

    Nor when Python has put the default handlers back at its own end.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def bound_the_end() -> None:
    """Let the process be ended by SIGALRM if the middleware does not let go of it.

    Fast DDS has been seen to hang as a participant leaves, when nothing is left to lose.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(PATIENCE)


def main(args: list[str] | None = None) -> int:
    """Run the nodes until SIGINT, SIGTERM or SIGHUP; return the exit code.

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
        nodes = start_nodes(node_names(arguments), arguments)
    except Exception as reason:
        # A bad remap, an unreadable parameter file: rclpy has a type of its own for each.
        get_logger(NAME).fatal('cannot start: ' + ' '.join(str(reason).split()))
        rclpy.try_shutdown()
        return 1
    executor = make_executor(executor_name(nodes), *nodes)
    # What is loaded by now stays; the collector need not look at it again and again.
    gc.freeze()
    # From the last to the first, whatever one of them raises: each node saves before any ends.
    with ExitStack() as end:
        end.callback(rclpy.try_shutdown)
        for node in nodes:
            end.callback(node.destroy_node)
        end.callback(executor.shutdown)
        end.callback(bound_the_end)
        for node in nodes:
            end.callback(node.close)
        end.callback(ignore_signals)
        spin(executor, nodes[0], stop)
    return 0


if __name__ == '__main__':
    sys.exit(main())
