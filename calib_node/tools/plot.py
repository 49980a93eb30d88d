#!/usr/bin/env python3
# PYTHON_ARGCOMPLETE_OK
# SPDX-License-Identifier: Apache-2.0
"""calib_plot: a node that publishes the reliability diagrams of a calibration node as an image."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from calib_node.tools.command_line import complete

TOOL = 'calib_plot'


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description='Publishes the reliability diagrams of a calibration node on ~/image '
        '(sensor_msgs/Image, once a second while somebody looks), for RViz, rqt and Foxglove.',
        epilog='Which node it is follows from the parameter node (/calib_node by default): '
        'calib_plot --ros-args -p node:=/front/calib_node. Its topics ~/reliability, ece and '
        'raw_ece are found beside it; others by remaps of reliability, ece and raw_ece.',
    )
    # For --help alone; what follows --ros-args is for rclpy.
    parser.add_argument('--ros-args', nargs=argparse.REMAINDER, help='arguments of the node')
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT, SIGTERM or SIGHUP; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = make_parser()
    complete(parser)
    parser.parse_known_args(given)
    try:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions

        from calib_node.tools.plot_node import PlotNode
    except ImportError as error:
        print(f'{TOOL} needs ROS with sensor_msgs ({error})', file=sys.stderr)
        return 1
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    node: Any = None
    try:
        rclpy.init(args=[TOOL, *given], signal_handler_options=SignalHandlerOptions.NO)
        try:
            node = PlotNode()
        except ImportError:
            print(
                f'{TOOL} needs matplotlib: pip install calib_node[plot], or '
                'apt install python3-matplotlib',
                file=sys.stderr,
            )
            return 1
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while rclpy.ok() and not stop.is_set():
            executor.spin_once(timeout_sec=0.2)
    except Exception as error:
        print(f'{TOOL}: {" ".join(str(error).split())}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
