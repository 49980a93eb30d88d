# SPDX-License-Identifier: Apache-2.0
"""What a node that runs tells of itself, for a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from std_msgs.msg import Float64MultiArray

from calib_node.core.state.disk import read_document
from calib_node.core.state.fields import StateError
from calib_node.report.data import Floats, ReportData, ReportError
from calib_node.stream.status import Level
from calib_node.stream.table import TABLE
from calib_node.tools.graph import Seen, Watcher, watching

HEARD_WITHIN = 15.0
"""Seconds for the node's diagnostics."""
ANSWER_WITHIN = 5.0
"""Seconds for what a node may not have."""


def ask(name: str) -> ReportData:
    """Return what a node tells: its figures, its bins, its parameters and its state file.

    Parameters
    ----------
    name : str
        Its name; the slash may be left out.

    Raises
    ------
    ReportError
        If it is not heard.
    """
    node = name if name.startswith('/') else f'/{name}'
    with watching('calib_report') as watcher:
        if not watcher.wait_for(lambda: node in watcher.seen, HEARD_WITHIN):
            others = ', '.join(watcher.seen) or 'none'
            raise ReportError(
                f'no diagnostics of {node} came within {HEARD_WITHIN:g} s (heard of: {others}): is '
                'it running, in this ROS_DOMAIN_ID, and with a diagnostics.period below that?'
            )
        bins = _bins(watcher, watcher.seen[node])
        parameters = _parameters(watcher, node)
        seen = watcher.seen[node]
    sentences = [] if seen.level == Level.OK else [seen.message]
    return ReportData('', '', None, seen.figures, sentences, _state(seen), [], parameters, [], bins)


def _bins(watcher: Watcher, seen: Seen) -> dict[str, Floats]:
    """Return the reliability diagrams; none where there was no match yet."""
    heard: list[Float64MultiArray] = []
    if not int(seen.figures.get('samples in window', '0')):
        return {}
    topic = seen.figures.get('topic ~/reliability', f'{seen.node}/reliability')
    watcher.node.create_subscription(Float64MultiArray, topic, heard.append, 1)
    # They come once in an ece.period.
    if not watcher.wait_for(lambda: heard, 2 * ANSWER_WITHIN):
        return {}
    table = np.array(heard[-1].data).reshape(2, -1, 3)
    return {
        side: own[own[:, 0] > 0] for side, own in zip(('raw', 'calibrated'), table, strict=True)
    }


def _parameters(watcher: Watcher, node: str) -> str:
    """Return the YAML of the parameters that are not at their defaults; empty if it is silent."""
    client = watcher.node.create_client(GetParameters, f'{node}/get_parameters')
    if not watcher.wait_for(client.service_is_ready, ANSWER_WITHIN):
        return ''
    future = client.call_async(GetParameters.Request(names=[spec.name for spec in TABLE]))
    if not watcher.wait_for(future.done, ANSWER_WITHIN):
        return ''
    values: dict[str, Any] = {'method': 'ops'}
    for spec, message in zip(TABLE, future.result().values):
        value = parameter_value_to_python(message)
        if not isinstance(value, (bool, int, float, str, type(None))):
            value = list(value)
        default = list(spec.default) if isinstance(spec.default, tuple) else spec.default
        if spec.name == 'method' or value not in (None, default):
            values[spec.name] = value
    text: str = yaml.safe_dump({node: {'ros__parameters': values}}, sort_keys=False)
    return text


def _state(seen: Seen) -> dict[str, Any] | None:
    """Return what the state file holds, where that is on this machine."""
    try:
        return read_document(Path(seen.figures.get('state file', '')))
    except (OSError, StateError, ValueError):
        return None
