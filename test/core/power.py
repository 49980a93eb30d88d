# SPDX-License-Identifier: Apache-2.0
"""A power cut, or a failure of the system, at each step that touches the disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest

STEPS = ('open', 'fsync', 'link', 'rename', 'replace', 'unlink', 'mkdir')


class PowerCut(BaseException):
    """What nothing in the product holds up, as nothing holds up a power cut."""


class Failure(OSError):
    """What a disk says that is about to die."""


@contextmanager
def stop_at(number: int, error: type[BaseException]) -> Iterator[list[str]]:
    """Let the step of that number fail, and after a power cut all later ones; yield the steps."""
    taken: list[str] = []

    def breaking(name: str) -> Callable[..., Any]:
        call = getattr(os, name)

        def step(*arguments: Any, **options: Any) -> Any:
            taken.append(name)
            if len(taken) <= number or (len(taken) > number + 1 and error is Failure):
                return call(*arguments, **options)
            if name == 'fsync' and stat.S_ISREG(os.fstat(arguments[0]).st_mode):
                # What is not on the disk yet will be there in part at best.
                os.ftruncate(arguments[0], os.fstat(arguments[0]).st_size // 2)
            raise error('the disk is gone')

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, breaking(name))
        with suppress(PowerCut, OSError):
            yield taken


def at_each_step(
    error: type[BaseException],
    prepare: Callable[[], Any],
    act: Callable[[Any], object],
    check: Callable[[Any], object],
) -> int:
    """Prepare, act until the first step and check, then until the second step, and so on.

    Returns the number of steps.
    """
    for number in count():
        prepared = prepare()
        with stop_at(number, error) as taken:
            act(prepared)
        check(prepared)
        if len(taken) <= number:
            return number
    raise AssertionError
