# SPDX-License-Identifier: Apache-2.0
"""Tests of the node as a process of its own, on real rclpy and real middleware."""
