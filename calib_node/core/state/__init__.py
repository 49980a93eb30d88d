# SPDX-License-Identifier: Apache-2.0
"""The state file: written so that a power cut never costs what was learned, read with suspicion.

The only part of the core that reads or writes files. It calls nothing of ROS.
"""
