# SPDX-License-Identifier: Apache-2.0
"""Where objects are, by box or by centre, and how close two of them are."""

from __future__ import annotations

import numpy as np

from calib_node.core.samples import Bools, Floats


def has_place(places: Floats) -> Bools:
    """Return where there is a place: a box that has a size, or a centre, of finite numbers.

    Parameters
    ----------
    places : ndarray of float of shape (n, 4), (n, 2) or (n, 3)
        Boxes as x0, y0, x1, y1, or centres.

    Examples
    --------
    >>> has_place(np.array([[0.0, 0, 2, 2], [0, 0, 0, 2], [0, 0, np.nan, 2]])).tolist()
    [True, False, False]
    """
    here = np.asarray(np.isfinite(places).all(axis=1), np.bool_)
    return here & (areas(places) > 0.0) if places.shape[1] == 4 else here


def areas(boxes: Floats) -> Floats:
    """Return the areas of boxes; 0 for one of no size."""
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    areas: Floats = np.where((width > 0.0) & (height > 0.0), width * height, 0.0)
    return areas


def intersection_over_union(first: Floats, second: Floats) -> Floats:
    """Return the intersection over union of each two boxes.

    Parameters
    ----------
    first, second : ndarray of float of shape (n, 4) and (m, 4)
        Boxes as x0, y0, x1, y1.

    Returns
    -------
    ndarray of float of shape (n, m)
        From 0 to 1; NaN where both boxes are of no size or one is not finite.

    Examples
    --------
    >>> intersection_over_union(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 3, 2]])).round(4)
    array([[0.3333]])
    """
    with np.errstate(invalid='ignore', divide='ignore', over='ignore'):
        low = np.maximum(first[:, None, :2], second[None, :, :2])
        high = np.minimum(first[:, None, 2:], second[None, :, 2:])
        sides = np.maximum(high - low, 0.0)
        both = sides[..., 0] * sides[..., 1]
        union = areas(first)[:, None] + areas(second)[None, :] - both
        ratio: Floats = both / union
    return ratio


def nearness(first: Floats, second: Floats) -> Floats:
    """Return the distance of each two points, less than zero so that more is nearer.

    Parameters
    ----------
    first, second : ndarray of float of shape (n, d) and (m, d)
        Points.

    Returns
    -------
    ndarray of float of shape (n, m)
        Zero or less; NaN where one is not finite.

    Examples
    --------
    >>> nearness(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[-5.]])
    """
    with np.errstate(invalid='ignore', over='ignore'):
        between = first[:, None, :] - second[None, :, :]
        distance: Floats = np.sqrt((between * between).sum(axis=-1))
    return -distance
