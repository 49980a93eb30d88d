# SPDX-License-Identifier: Apache-2.0
"""The same stream over recorded messages; it needs rosbags, and no ROS."""
