# SPDX-License-Identifier: Apache-2.0
"""Messages as the tests send them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout


def array(
    data: Iterable[float], offset: int = 0, sizes: Iterable[int] = (), label: str = 'x'
) -> Float64MultiArray:
    """Return a Float64MultiArray with a dimension for each of `sizes`."""
    dimensions = [MultiArrayDimension(label=label, size=size, stride=size) for size in sizes]
    layout = MultiArrayLayout(dim=dimensions, data_offset=offset)
    return Float64MultiArray(layout=layout, data=[float(number) for number in data])


def parameter_messages(values: dict[str, Any]) -> list[Any]:
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
