# SPDX-License-Identifier: Apache-2.0
"""Online calibration without ROS: calibrators, metrics, matching, pipeline and state file."""
