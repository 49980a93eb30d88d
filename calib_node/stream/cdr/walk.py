# SPDX-License-Identifier: Apache-2.0
"""Writes the source of a walk over the bytes of one message type."""

from __future__ import annotations

from copy import deepcopy

from calib_node.stream.cdr.source import Source
from calib_node.stream.cdr.wants import Want, Wants
from calib_node.stream.cdr.wire import WIDTHS, Block, Member, Unsupported, Wire, as_bytes
from calib_node.stream.paths import Each, Field, Where

ABSENT = '-1'
"""The place of what a message does not have."""
DEEPEST_LOOP = 12


class WalkWriter:
    """Writes a walk.

    Parameters
    ----------
    wire : Wire
    type_name : str
        Of the message.
    wants : Wants

    Attributes
    ----------
    strides : dict of str to int
        Of the takers that are told only the first of a regular array, the bytes to the next.
    constants : dict of str to object
        What the source compares with, by name.
    """

    def __init__(self, wire: Wire, type_name: str, wants: Wants) -> None:
        self.strides: dict[str, int] = {}
        self.constants: dict[str, object] = {}
        self._wire = wire
        self._source = Source()
        self._stride = 0
        self._depth = 0
        self._numbers = 0
        self._message(type_name, wants.root)
        self._source.settle()
        lists = [f'c{i}' for i in range(len(wants.counts))]
        lists += [f'n{i}' for i in range(wants.number_of_counts)]
        self.text = '\n'.join(
            [
                'def walk(data, words, size):',
                *(f'    {name} = []' for name in lists),
                '    p = 0',
                *self._source.lines,
                '    if p > size:',
                '        raise Unknown',
                f'    return {", ".join(lists)},',
                '',
            ]
        )

    def _message(self, type_name: str, want: Want) -> None:
        fields = dict(want.fields)
        members = self._wire.members(type_name)
        beside = [
            self._beside(members, fields, member, where, wanted)
            for member in members
            for where, wanted in (want.fields.get(member.name) or Want()).where
            if where.beside
        ]
        for member in members:
            self._member(member, fields.get(member.name))
        for number, width, wanted in beside:
            with self._source.branch(f'if -1 < index{number} < many{number}:'):
                self._take(wanted, f'first{number} + index{number} * {width}')
            self._or_miss(wanted)

    def _beside(
        self,
        members: list[Member],
        fields: dict[str, Want],
        member: Member,
        where: Where,
        wanted: Want,
    ) -> tuple[int, int, Want]:
        """Have the places of the elements of an array taken, and the index of a name beside it."""
        [names] = [other for other in members if other.name == where.path[0]]
        if member.kind.name not in WIDTHS or names.kind.name != 'string' or where.path[1:]:
            raise Unsupported(f'{member.name} is told by {".".join(where.path)}')
        number = self._number()
        numbers = deepcopy(fields[member.name])
        numbers.where = [(other, want) for other, want in numbers.where if other != where]
        numbers.counters.append(f'many{number} = {{}}')
        numbers.next(Each()).takers.append(f'first{number} = {{}}')
        texts = deepcopy(fields.get(names.name)) or Want()
        texts.seek.append((as_bytes(where.text), f'index{number}'))
        fields.update({member.name: numbers, names.name: texts})
        self._source.line(f'index{number} = -1')
        return number, WIDTHS[member.kind.name], wanted

    def _member(self, member: Member, want: Want | None) -> None:
        if not member.kind.is_array:
            self._value(member, want)
            return
        block = self._wire.block(member.kind.name)
        if block and (want is None or not want.needs_loop):
            self._regular(member, block, want)
        else:
            self._loop(member, want or Want())

    def _value(self, member: Member, want: Want | None) -> None:
        """Write one value, or one element of an array."""
        name = member.kind.name
        source = self._source
        if name in WIDTHS:
            source.align(WIDTHS[name])
            self._take(want, source.at())
            source.skip(WIDTHS[name])
        elif name == 'string':
            self._string(member, want)
        elif '/' not in name:
            raise Unsupported(f'{member.name} is a {name}')
        elif want or (pieces := self._wire.pieces(name)) is None:
            self._message(name, want or Want())
        else:
            for alignment, size in pieces:
                source.align(alignment)
                source.skip(size)

    def _take(self, want: Want | None, place: str) -> None:
        for taker in want.takers if want else ():
            self._source.line(taker.format(place))
            if self._stride:
                self.strides[taker] = self._stride

    def _string(self, member: Member, want: Want | None) -> None:
        source = self._source
        source.align(4)
        word = source.word()
        source.skip(4)
        if not (want and want.takers) and member.longest is None:
            source.go_on(word)
            return
        source.line(f'length = {word}')
        source.go_on('length')
        if member.longest is not None:
            source.line(f'if length > {member.longest + 1}: raise Unknown')
        if want and want.takers:
            # Its last byte, a NUL, is the one before p, and four bytes lie before p in data.
            source.line('if data[p + 3]: raise Unknown')
            self._take(want, 'data[p + 4 - length:p + 3]')

    def _length(self, member: Member, want: Want) -> str:
        """Write the length of an array, and return its name or number."""
        source = self._source
        if member.kind.size is not None:
            length = str(member.kind.size)
        else:
            length = f'length{self._depth}'
            source.align(4)
            source.line(f'{length} = {source.word()}')
            source.skip(4)
        if member.most is not None:
            source.line(f'if {length} > {member.most}: raise Unknown')
        for counter in want.counters:
            source.line(counter.format(length))
        return length

    def _regular(self, member: Member, block: Block, want: Want | None) -> None:
        """Write an array whose elements are a constant number of bytes apart."""
        source, size = self._source, member.kind.size
        aligned = block.alignment <= 4 and block.size == block.stride
        if aligned and size is None and not want and member.most is None:
            source.align(4)
            word = source.word()
            source.skip(4)
            source.go_on(word if block.size == 1 else f'{word} * {block.size}', block.size)
            return
        want = want or Want()
        length = self._length(member, want)
        for index, wanted in want.at.items():
            self._element_at(member, block, index, wanted, length)
        if size is not None:
            source.align(block.alignment)
            self._first(member, block, want.each)
            source.skip(size * block.stride)
            return
        with source.branch(f'if {length}:'):
            source.align(block.alignment)
            self._first(member, block, want.each)
            source.go_on(f'{length} * {block.stride}', block.stride)

    def _first(self, member: Member, block: Block, want: Want | None) -> None:
        """Write what is wanted of each element, at the first, and go an element back."""
        outer, self._stride = self._stride, block.stride
        with self._source.aside():
            if want:
                self._value(member, want)
        self._source.skip(block.size - block.stride)
        self._stride = outer

    def _element_at(
        self, member: Member, block: Block, index: int, want: Want, length: str
    ) -> None:
        """Write what is wanted of one element of a regular array."""
        source = self._source

        def element() -> None:
            source.align(block.alignment)
            with source.aside():
                source.skip(index * block.stride)
                self._value(member, want)

        if member.kind.size is not None:
            element()
            return
        with source.branch(f'if {length} > {index}:'):
            element()
        self._or_miss(want)

    def _loop(self, member: Member, want: Want) -> None:
        """Write an array whose elements are found one after the other."""
        source, depth = self._source, self._depth
        if depth > DEEPEST_LOOP:
            raise Unsupported('too many arrays within arrays')
        length = self._length(member, want)
        if self._wire.pieces(member.kind.name) is not None:
            # No round reads anything, which would end the walk at the end of the bytes.
            source.line(f'if {length} > size: raise Unknown')
        each = deepcopy(want.each) or Want()
        chosen = [(f'i{depth} == {index}', wanted) for index, wanted in want.at.items()]
        chosen += [(self._condition(member, where, each), wanted) for where, wanted in want.where]
        elements = [f'element{self._number()}' for _ in chosen]
        for variable in elements:
            source.line(f'{variable} = -1')
        sought = self._sought(want, each)

        def body() -> None:
            if chosen:
                source.settle()
                source.line(f'start{depth} = p')
            self._value(member, each)
            for variable, (condition, _) in zip(elements, chosen):
                source.line(f'if {variable} < 0 and {condition}: {variable} = start{depth}')
            for variable, condition in sought:
                source.line(f'if {variable} < 0 and {condition}: {variable} = i{depth}')

        self._depth += 1
        known = source.repeat(f'for i{depth} in range({length}):', body)
        for variable, (_, wanted) in zip(elements, chosen):
            back = f'start{depth}'
            with source.branch(f'if {variable} >= 0:'), source.visit(variable, known, back):
                self._value(member, wanted)
            self._or_miss(wanted)
        self._depth -= 1

    def _sought(self, want: Want, each: Want) -> list[tuple[str, str]]:
        """Return the variables that take an index, and the condition for each."""
        if not want.seek:
            return []
        key = f'key{self._number()}'
        each.takers.append(f'{key} = {{}}')
        return [
            (variable, f'whole({key}) == {self._constant(text)}') for text, variable in want.seek
        ]

    def _condition(self, member: Member, where: Where, each: Want) -> str:
        """Return the condition for an element, whose key is then wanted of each."""
        for name in where.path:
            each = each.next(Field(name))
            [member] = [m for m in self._wire.members(member.kind.name) if m.name == name]
        key = f'key{self._number()}'
        each.takers.append(f'{key} = {{}}')
        if isinstance(where.wanted, str):
            return f'whole({key}) == {self._constant(as_bytes(where.wanted))}'
        constant = self._constant(where.wanted)
        return f'{member.kind.name}_at(data, {key} + 4)[0] == {constant}'

    def _constant(self, value: object) -> str:
        """Return the name by which the source knows a value, which itself never becomes code."""
        name = f'constant{len(self.constants)}'
        self.constants[name] = value
        return name

    def _or_miss(self, want: Want) -> None:
        """Write what becomes of what is wanted of a value that is not there."""
        with self._source.block('else:'):
            self._miss(want)

    def _miss(self, want: Want) -> None:
        for taker in want.takers:
            self._source.line(taker.format(ABSENT))
        for counter in want.counters:
            self._source.line(counter.format(0))
        inner = [*want.fields.values(), *want.at.values(), *(wanted for _, wanted in want.where)]
        for wanted in inner:
            self._miss(wanted)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers
