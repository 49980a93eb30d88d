# SPDX-License-Identifier: Apache-2.0
"""Online Newton Step in two and in three dimensions, in plain floats.

Hazan, Agarwal and Kale, *Logarithmic regret algorithms for online convex optimization*,
Machine Learning 69, 2007; as used by Gupta and Ramdas, *Online Platt Scaling with Calibeating*,
ICML 2023, Algorithm 2. A 2x2 system is solved with the adjugate, a 3x3 one by elimination: numpy's
overhead on so small an array is some twenty times the arithmetic.
"""

from __future__ import annotations

from math import hypot, sqrt

Newton2 = tuple[float, float, float, float, float]
"""``(t0, t1, A00, A01, A11)``: the parameters and the upper triangle of the matrix."""

Newton3 = tuple[float, float, float, float, float, float, float, float, float]
"""``(t0, t1, t2, A00, A01, A02, A11, A12, A22)``, likewise."""


class UpdateNotFinite(ArithmeticError):
    """An update whose result is not finite; the state from before it is kept."""


def newton_step(
    state: Newton2,
    g0: float,
    g1: float,
    gamma: float,
    rho: float,
    radius: float,
    forgetting: float,
) -> Newton2:
    """Take one Newton step against the gradient ``(g0, g1)``.

    Parameters
    ----------
    state : tuple of 5 floats
        ``(t0, t1, A00, A01, A11)``.
    g0, g1 : float
        Gradient of the log-loss at the parameters.
    gamma, rho, radius, forgetting : float
        Inverse step size, the weight of the identity that `A` starts from, the radius of the
        ball the parameters are kept in, and the share of `A` that is kept (1: all of it).

    Returns
    -------
    tuple of 5 floats
        The new state; `state` itself is untouched.

    Raises
    ------
    UpdateNotFinite
        If the result would not be finite.
    """
    t0, t1, a00, a01, a11 = state
    if forgetting != 1.0:
        floor = (1.0 - forgetting) * rho
        a00 = forgetting * a00 + floor
        a01 = forgetting * a01
        a11 = forgetting * a11 + floor
    a00 += g0 * g0
    a01 += g0 * g1
    a11 += g1 * g1
    scale = gamma * (a00 * a11 - a01 * a01)
    if not scale > 0.0:
        raise UpdateNotFinite('the Newton matrix is no longer positive definite')
    t0 -= (a11 * g0 - a01 * g1) / scale
    t1 -= (a00 * g1 - a01 * g0) / scale
    if t0 * t0 + t1 * t1 > radius * radius:
        t0, t1 = project(t0, t1, a00, a01, a11, radius)
    total = t0 + t1 + a00 + a01 + a11
    if total - total != 0.0:
        raise UpdateNotFinite('the update gives a number that is not finite')
    return t0, t1, a00, a01, a11


def project(
    t0: float, t1: float, a00: float, a01: float, a11: float, radius: float
) -> tuple[float, float]:
    """Project ``(t0, t1)`` onto the ball of `radius` in the norm of `A`.

    The minimiser of ``(x - t)' A (x - t)`` over ``||x|| <= radius`` is
    ``(A + m I)^-1 A t`` with the multiplier ``m >= 0`` that puts it on the sphere. It is found
    by Newton's method on ``1/||x||``, kept within a bracket from the eigenvalues of `A`.

    Returns
    -------
    tuple of 2 floats
        The projection, of norm at most `radius`.

    Examples
    --------
    >>> x = project(3.0, -1.0, 400.0, 150.0, 110.0, 2.0)
    >>> [round(v, 8) for v in x]
    [1.99143888, 0.18485454]
    """
    # Dividing by the largest entry keeps every product below in range and moves no minimiser.
    largest = max(a00, a11)
    a00, a01, a11 = a00 / largest, a01 / largest, a11 / largest
    c0 = a00 * t0 + a01 * t1
    c1 = a01 * t0 + a11 * t1
    centre = 0.5 * (a00 + a11)
    spread = hypot(0.5 * (a00 - a11), a01)
    reach = hypot(c0, c1) / radius
    low = max(0.0, reach - (centre + spread))
    high = max(low, reach - (centre - spread))
    m = low
    x0, x1, norm = t0, t1, hypot(t0, t1)
    for _ in range(100):
        b00, b11 = a00 + m, a11 + m
        det = b00 * b11 - a01 * a01
        if not det > 0.0:
            raise UpdateNotFinite('the Newton matrix is no longer positive definite')
        x0 = (b11 * c0 - a01 * c1) / det
        x1 = (b00 * c1 - a01 * c0) / det
        norm = hypot(x0, x1)
        excess = (norm - radius) / radius
        if abs(excess) <= 4e-16:
            break
        if excess > 0.0:
            low = m
        else:
            high = m
        slope = (b11 * x0 * x0 - 2.0 * a01 * x0 * x1 + b00 * x1 * x1) / det
        proposal = m + norm * norm / slope * excess
        if not low <= proposal <= high:
            proposal = 0.5 * (low + high)
        if proposal == m:
            break
        m = proposal
    if norm > radius:
        x0 *= radius / norm
        x1 *= radius / norm
    return x0, x1


def is_positive_definite(a00: float, a01: float, a11: float) -> bool:
    """Tell whether a symmetric 2x2 matrix has two positive eigenvalues."""
    return a00 > 0.0 and a11 > 0.0 and abs(a01) < sqrt(a00) * sqrt(a11)


def newton_step3(
    state: Newton3,
    g0: float,
    g1: float,
    g2: float,
    gamma: float,
    rho: float,
    radius: float,
    forgetting: float,
) -> Newton3:
    """Take one Newton step against ``(g0, g1, g2)``: `newton_step` in three dimensions.

    Returns
    -------
    tuple of 9 floats
        The new state; `state` itself is untouched.
    """
    t0, t1, t2, a00, a01, a02, a11, a12, a22 = state
    if forgetting != 1.0:
        floor = (1.0 - forgetting) * rho
        a00 = forgetting * a00 + floor
        a01 = forgetting * a01
        a02 = forgetting * a02
        a11 = forgetting * a11 + floor
        a12 = forgetting * a12
        a22 = forgetting * a22 + floor
    a00 += g0 * g0
    a01 += g0 * g1
    a02 += g0 * g2
    a11 += g1 * g1
    a12 += g1 * g2
    a22 += g2 * g2
    s0, s1, s2 = solve3(a00, a01, a02, a11, a12, a22, g0, g1, g2)
    t0 -= s0 / gamma
    t1 -= s1 / gamma
    t2 -= s2 / gamma
    if t0 * t0 + t1 * t1 + t2 * t2 > radius * radius:
        t0, t1, t2 = project3(t0, t1, t2, a00, a01, a02, a11, a12, a22, radius)
    total = t0 + t1 + t2 + a00 + a01 + a02 + a11 + a12 + a22
    if total - total != 0.0:
        raise UpdateNotFinite('the update gives a number that is not finite')
    return t0, t1, t2, a00, a01, a02, a11, a12, a22


def solve3(
    a00: float,
    a01: float,
    a02: float,
    a11: float,
    a12: float,
    a22: float,
    v0: float,
    v1: float,
    v2: float,
) -> tuple[float, float, float]:
    """Return ``A^-1 v`` for a positive definite matrix, by its factors ``L D L'``.

    Returns
    -------
    tuple of 3 floats

    Raises
    ------
    UpdateNotFinite
        If a pivot is not positive.

    Examples
    --------
    >>> solve3(2.0, 0.0, 0.0, 4.0, 2.0, 2.0, 2.0, 6.0, 4.0)
    (1.0, 1.0, 1.0)
    """
    if a00 > 0.0:
        l10 = a01 / a00
        l20 = a02 / a00
        d1 = a11 - l10 * a01
        if d1 > 0.0:
            rest = a12 - l10 * a02
            l21 = rest / d1
            d2 = a22 - l20 * a02 - l21 * rest
            if d2 > 0.0:
                v1 -= l10 * v0
                x2 = (v2 - l20 * v0 - l21 * v1) / d2
                x1 = v1 / d1 - l21 * x2
                return v0 / a00 - l10 * x1 - l20 * x2, x1, x2
    raise UpdateNotFinite('the Newton matrix is no longer positive definite')


def project3(
    t0: float,
    t1: float,
    t2: float,
    a00: float,
    a01: float,
    a02: float,
    a11: float,
    a12: float,
    a22: float,
    radius: float,
) -> tuple[float, float, float]:
    """Project ``(t0, t1, t2)`` onto the ball of `radius` in the norm of `A`, as `project` does.

    The bracket of the multiplier comes from the trace of `A`, which bounds its eigenvalues.

    Returns
    -------
    tuple of 3 floats
        The projection, of norm at most `radius`.
    """
    largest = max(a00, a11, a22)
    a00, a01, a02 = a00 / largest, a01 / largest, a02 / largest
    a11, a12, a22 = a11 / largest, a12 / largest, a22 / largest
    c0 = a00 * t0 + a01 * t1 + a02 * t2
    c1 = a01 * t0 + a11 * t1 + a12 * t2
    c2 = a02 * t0 + a12 * t1 + a22 * t2
    high = hypot(c0, c1, c2) / radius
    low = max(0.0, high - (a00 + a11 + a22))
    m = low
    x0, x1, x2, norm = t0, t1, t2, hypot(t0, t1, t2)
    for _ in range(100):
        shifted = a00 + m, a01, a02, a11 + m, a12, a22 + m
        x0, x1, x2 = solve3(*shifted, c0, c1, c2)
        norm = hypot(x0, x1, x2)
        excess = (norm - radius) / radius
        if abs(excess) <= 4e-16:
            break
        if excess > 0.0:
            low = m
        else:
            high = m
        s0, s1, s2 = solve3(*shifted, x0, x1, x2)
        proposal = m + norm * norm / (x0 * s0 + x1 * s1 + x2 * s2) * excess
        if not low <= proposal <= high:
            proposal = 0.5 * (low + high)
        if proposal == m:
            break
        m = proposal
    if norm > radius:
        x0, x1, x2 = x0 * radius / norm, x1 * radius / norm, x2 * radius / norm
    return x0, x1, x2
