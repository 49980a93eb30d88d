# SPDX-License-Identifier: Apache-2.0
"""Types and paths of known messages, so that nobody has to write them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calib_node.stream.input_parameters import STAMPED_ARRAY

DETECTIONS_2D = 'vision_msgs/msg/Detection2DArray'
DETECTIONS_3D = 'vision_msgs/msg/Detection3DArray'
CLASSIFICATION = 'vision_msgs/msg/Classification'

SCORE = 'detections[].results[].hypothesis.score'
CLASS = 'detections[].results[].hypothesis.class_id'

_DETECTIONS = {
    'raw.value_field': SCORE,
    'raw.class_field': CLASS,
    'raw.id_field': 'detections[].id',
    'label.class_field': CLASS,
    'label.id_field': 'detections[].id',
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    'vision_msgs/Detection2DArray': {
        'raw.type': DETECTIONS_2D,
        'label.type': DETECTIONS_2D,
        **_DETECTIONS,
        'raw.box_field': 'detections[].bbox',
        'label.box_field': 'detections[].bbox',
        'match.objects': 'iou',
    },
    'vision_msgs/Detection3DArray': {
        'raw.type': DETECTIONS_3D,
        'label.type': DETECTIONS_3D,
        **_DETECTIONS,
        'raw.position_field': 'detections[].bbox.center.position',
        'label.position_field': 'detections[].bbox.center.position',
        'match.objects': 'distance',
    },
    'vision_msgs/Classification': {
        'raw.type': CLASSIFICATION,
        'label.type': CLASSIFICATION,
        'raw.value_field': 'results[].score',
        'raw.class_field': 'results[].class_id',
        'label.value_field': 'results[0].class_id',
    },
    'std_msgs/Float64MultiArray': {'raw.type': STAMPED_ARRAY, 'label.type': STAMPED_ARRAY},
}
"""By name, the parameters that are not their defaults."""
