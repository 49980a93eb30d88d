# SPDX-License-Identifier: Apache-2.0
"""Honest probabilities on a robot: online calibration of classifier outputs as a ROS 2 node.

``calib_node.core`` is the calibration itself and needs no ROS; ``calib_node.ros`` is the node.
"""
