# SPDX-License-Identifier: Apache-2.0
"""The whole behaviour without ROS: predictions and labels in, calibrated predictions out."""

from calib_node.core.pipeline.base import OVERSHOOT, BasePipeline, PipelineCounts
from calib_node.core.pipeline.binary import Pipeline
from calib_node.core.pipeline.figures import Figures, MulticlassReliability
from calib_node.core.pipeline.multiclass import MulticlassPipeline

AnyPipeline = Pipeline | MulticlassPipeline

__all__ = [
    'OVERSHOOT',
    'AnyPipeline',
    'BasePipeline',
    'Figures',
    'MulticlassPipeline',
    'MulticlassReliability',
    'Pipeline',
    'PipelineCounts',
]
