# SPDX-License-Identifier: Apache-2.0
"""The nodes of one process: their names on the command line, their start, their executor."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.exceptions import InvalidNodeNameException
from rclpy.utilities import remove_ros_args
from rclpy.validate_node_name import validate_node_name

from calib_node.ros.node import NAME, CalibrationNode
from calib_node.ros.parameter_files import not_for

NODES = '--nodes'


def node_names(arguments: Sequence[str]) -> list[str]:
    """Return the names of the nodes that a command line asks for.

    Parameters
    ----------
    arguments : sequence of str
        The command line, the program's name first.

    Raises
    ------
    ValueError
        If it has other arguments that are not for ROS, or a name that cannot be.
    """
    given = remove_ros_args(list(arguments))[1:]
    if given == [NODES]:
        raise ValueError(f'{NODES} needs names after it, as in calib_node {NODES} front rear')
    names = given[1:] if given[:1] == [NODES] else []
    others = [word for word in names if word.startswith('-')] if names else given
    if others:
        raise ValueError(
            f'the arguments {" ".join(others)} are not taken: put --ros-args first, as in '
            'calib_node --ros-args --params-file FILE -p NAME:=VALUE -r FROM:=TO'
        )
    for i, name in enumerate(names):
        try:
            validate_node_name(name)
        except InvalidNodeNameException:
            raise ValueError(
                f'{NODES}: {name!r} is no name of a node, which has letters, digits and _, and no '
                'digit first; a namespace is given by -r NAME:__ns:=/NAMESPACE'
            ) from None
        if name in names[:i]:
            raise ValueError(f'{NODES}: {name} is there twice, and each node needs its own name')
    return names or [NAME]


def start_nodes(names: Sequence[str], arguments: Sequence[str]) -> list[CalibrationNode]:
    """Return nodes that are ready, one of each name, or leave none.

    Parameters
    ----------
    names : sequence of str
        As `node_names` returns them.
    arguments : sequence of str
        The command line, to warn of parameter files in it that are for other nodes alone.

    Raises
    ------
    Exception
        For the first that cannot start; the text says which one, if there are several.
    """
    nodes: list[CalibrationNode] = []
    try:
        for name in names:
            nodes.append(CalibrationNode(name, announce=False))
            _refuse_another_name(nodes[-1], name, len(names))
    except Exception as reason:
        for node in reversed(nodes):
            node.destroy_node()
        if len(names) == 1:
            raise
        raise ValueError(f'{name}: {reason}') from reason
    everyone = [node.get_fully_qualified_name() for node in nodes]
    said: set[str] = set()
    for node, full_name in zip(nodes, everyone):
        others = [other for other in everyone if other != full_name]
        notes = [note for note in not_for(full_name, arguments, others) if note not in said]
        said.update(notes)
        node.announce(notes)
    return nodes


def _refuse_another_name(node: CalibrationNode, name: str, count: int) -> None:
    """Refuse a remap that would give the nodes one name."""
    if count > 1 and node.get_name() != name:
        raise ValueError(
            f'a remap of __node renames it to {node.get_name()}; leave it out, since {NODES} has '
            'the names'
        )


def executor_name(nodes: Sequence[CalibrationNode]) -> str:
    """Return the executor that suits all the nodes; one that asked for another logs it.

    The events executor does not tell when a message was published, so that one node that needs it
    decides for all.
    """
    needing = next((node for node in nodes if node.executor_name == 'single'), None)
    if needing is None:
        return nodes[0].executor_name
    for node in nodes:
        if node.settings.executor != 'single':
            reason = (
                'which stamps of publication need'
                if node.executor_name == 'single'
                else f'which {needing.get_fully_qualified_name()} in this process needs'
            )
            node.get_logger().info(f'executor=single is used, {reason}')
    return 'single'
