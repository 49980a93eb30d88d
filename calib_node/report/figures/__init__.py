# SPDX-License-Identifier: Apache-2.0
"""The figures of a report, each as an SVG for the page and as a PNG."""
