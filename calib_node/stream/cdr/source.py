# SPDX-License-Identifier: Apache-2.0
"""The source text of a walk, and what is known of its position while it is written.

In the text, ``p`` is the position in bytes after the encapsulation header. What of it is known
beforehand is never computed by the walk: it is at ``p`` plus a constant, and its remainder modulo
some power of two up to 8 is known, so that most alignments are constants as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from calib_node.stream.cdr.wire import LARGEST, Unsupported, align

MOST_LINES = 20000


@dataclass(frozen=True)
class Known:
    """What is known of ``p``: its remainder modulo a power of two."""

    modulus: int = LARGEST
    remainder: int = 0

    def or_(self, other: Known) -> Known:
        """Return what is known where either holds.

        Examples
        --------
        >>> Known(8, 4).or_(Known(8, 0))
        Known(modulus=4, remainder=0)
        """
        modulus = min(self.modulus, other.modulus)
        while (self.remainder - other.remainder) % modulus:
            modulus //= 2
        return Known(modulus, self.remainder % modulus)

    def after(self, size: int, step: int = 0) -> Known:
        """Return what is known some bytes, and any number of steps, farther on."""
        modulus = self.modulus
        while step % modulus:
            modulus //= 2
        return Known(modulus, (self.remainder + size) % modulus)


class Source:
    """Lines of a function, written one after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.known = Known()
        self._ahead = 0
        self._depth = 1
        self._written = 0

    def line(self, text: str) -> None:
        """Write a line.

        Raises
        ------
        Unsupported
            If there have been too many.
        """
        self._written += 1
        if self._written > MOST_LINES:
            raise Unsupported('the definition is too large')
        self.lines.append('    ' * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write the head of a block, and what follows indented."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def at(self, extra: int = 0) -> str:
        """Return where the walk is, and some bytes on."""
        ahead = self._ahead + extra
        return f'p + {ahead}' if ahead else 'p'

    def word(self) -> str:
        """Return the 32-bit word that the walk is at."""
        return f'words[{self.at()} >> 2]'

    def skip(self, size: int) -> None:
        """Go some bytes ahead."""
        self._ahead += size

    def settle(self) -> None:
        """Have ``p`` where the walk is."""
        if self._ahead:
            self.line(f'p += {self._ahead}')
            self.known = self.known.after(self._ahead)
            self._ahead = 0

    def go_on(self, size: str, step: int = 1) -> None:
        """Go ahead by a size that is found in the bytes, a multiple of some step."""
        ahead = f' {"-" if self._ahead < 0 else "+"} {abs(self._ahead)}' if self._ahead else ''
        self.line(f'p += {size}{ahead}')
        self.known = self.known.after(self._ahead, step)
        self._ahead = 0

    def align(self, alignment: int) -> None:
        """Go to the next position of an alignment."""
        here = self.known.remainder + self._ahead
        if self.known.modulus >= alignment:
            self._ahead += align(here, alignment) - here
            return
        self.line(f'p = {self.at(alignment - 1)} & -{alignment}')
        self.known = Known(alignment, 0)
        self._ahead = 0

    @contextmanager
    def branch(self, head: str) -> Iterator[None]:
        """Write a block that may be passed over."""
        self.settle()
        before = self.known
        with self.block(head):
            yield
            self.settle()
        self.known = self.known.or_(before)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Return to where the walk is; what is written must not move ``p``, save to align it."""
        ahead = self._ahead
        yield
        self._ahead = ahead

    @contextmanager
    def visit(self, place: str, known: Known, back: str) -> Iterator[None]:
        """Write what is read at another place, and come back; a variable keeps where to."""
        self.settle()
        before = self.known
        self.line(f'{back} = p')
        self.line(f'p = {place}')
        self.known = known
        yield
        self._ahead = 0
        self.line(f'p = {back}')
        self.known = before

    def repeat(self, head: str, write_body: Callable[[], None]) -> Known:
        """Write a loop, and return what is known of the position as a round begins.

        That is only what holds in all rounds alike, which takes to write it more than once.
        """
        self.settle()
        before = self.known
        while True:
            start, begin = self.known, len(self.lines)
            with self.block(head):
                write_body()
                self.settle()
            together = start.or_(self.known)
            if together == start:
                break
            del self.lines[begin:]
            self.known = together
        self.known = before.or_(self.known)
        return start
