"""Relational tensors as a source of slices (slices.py): cells made on the fly, by comparing ranks.

Cell (o, a, b) is 1 if left[o, a] > right[o, b], 0 if it is less, and not observed if they are equal or one
of them is absent. A row of a slice holds one rank fixed and runs along the others of the same object.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import new
from tensorm.kernels.compiled import inlined, kernel, part
from tensorm.kernels.slices import seen_at

MIXERS = 0xB5AD, 0x6C8F  # odd numbers that spread bits well in 16


class Held(NamedTuple):
    """Which pairs of attributes of which objects are left out, told by a hash of their keys."""

    limit: Any  # uint16: hashes below it are in the one part, the others in the other; 0: there are no parts
    turn: Any  # all bits set for the part with hashes from the limit on
    objects: Any  # (O, 2) uint16, the first of them odd
    fixed: Any  # uint16 keys of the attributes, even
    running: Any


class Ranks(NamedTuple):
    """Ranks of all objects, seen from the mode whose slices are read."""

    fixed: Any  # flat uint16 or uint32: the ranks of which a row has one
    fixed_stride: int  # numbers from one object to the next
    running: Any  # the ranks along which a row runs; the last is followed by enough for a whole vector
    running_stride: int
    by_object: bool  # whether a slice is an object and a row an attribute, or the other way round
    turn: Any  # all bits set if a cell is 1 where the running rank is the greater
    always: Any  # for each fixed attribute, whether it is alone in all objects
    alone: Any  # (O, fixed) 1 where no other rank of the object equals the fixed one, and none is absent
    same: Any  # for each fixed attribute its own place among the running ones, or -1
    gaps: bool  # whether any rank is absent
    absent: Any  # the rank that stands for a missing value
    is_part: bool  # whether pairs are left out
    held: Any  # Held, as a tuple

    def places_of(self, members):
        return members

    def seen_at(self, n, place, at, span):
        o, a = locate(self, n, place)
        if self.always[a] or self.alone[o, a]:  # most are, and then no rank need be read
            seen = v.all_but(self.same[a] - 64 * at, span)
        else:
            rank, start = self.fixed[o * self.fixed_stride + a], o * self.running_stride + 64 * at
            seen = v.differs(self.running, start, rank, span)
            if self.gaps:
                if rank == self.absent:
                    return v.zeros(span)
                seen = v.both(seen, v.differs(self.running, start, self.absent, span))
        if self.is_part:
            limit, side, objects, mine, others = self.held
            first, second = objects[o, 0], objects[o, 1]
            below = hash_below(others, 64 * at, np.uint16(mine[a] + first), (first, second), limit, span)
            seen = v.both(seen, v.turned(below, side))
        return seen

    def lay_rows(self, workspace, n, places, n_planes, span):
        width, to = workspace.shape[2], 0
        for place in places:
            o, a = locate(self, n, place)
            rank, start = self.fixed[o * self.fixed_stride + a], o * self.running_stride
            if not self.is_part and (self.always[a] or self.alone[o, a]):
                for at in range(to, to + n_planes * width, v.LANES * len(span)):
                    v.store_words(workspace, at, v.ones(span))
                if self.same[a] >= 0:
                    for at in range(to, to + n_planes * width, width):
                        v.drop_bit(workspace, at, self.same[a])
            else:
                for at in range(0, width, v.LANES * len(span)):
                    seen = seen_at(self, n, place, at, span)
                    v.store_words(workspace, to + at, seen)
                    if n_planes == 2:
                        v.store_words(workspace, to + at + width, seen)
            to += n_planes * width
            for at in range(self.running_stride >> 6):
                v.store_exceeding(workspace, to + at, self.running, start + 64 * at, rank, self.turn)
            to += width

    def laid_cells(self, cells, position, at):
        return v.load_words(cells.workspace, (2 * position + 1) * cells.workspace.shape[2] + at, cells.span)

    def fetch_rows(self, n, places, width, turn, n_turns):
        """Ranks are few, and read one after the other."""


@inlined
def locate(source, n, row):
    """(object, attribute) of a row of slice n."""
    return (n, row) if source.by_object else (row, n)


@part
def lay_values(source, cells, n, places):
    """Write the cells of all rows of slice n to (R, width), observed or not."""
    width = cells.shape[1]
    for position in range(places.shape[0]):
        o, a = locate(source, n, places[position])
        rank, start = source.fixed[o * source.fixed_stride + a], o * source.running_stride
        for at in range(source.running_stride >> 6):
            v.store_exceeding(
                cells, position * width + at, source.running, start + 64 * at, rank, source.turn
            )


@inlined
def values_at(source, n, place, at, span):
    """The vector of cells, observed or not, from word `at` of a row of slice n."""
    o, a = locate(source, n, place)
    rank, start = source.fixed[o * source.fixed_stride + a], o * source.running_stride + 64 * at
    return v.turned(v.exceeds(source.running, start, rank, span), source.turn)


@kernel
def compare_slices(words, start, stop, source, span):
    """Write the ones and the observed cells of slices start:stop to words (2, slices, rows, width)."""
    _, n_slices, n_rows, width = words.shape
    to = 0
    for n in range(start, stop):
        for row in range(n_rows):
            for at in range(0, width, v.LANES * len(span)):
                seen = seen_at(source, n, row, at, span)
                v.store_words(words, to + at, v.both(seen, values_at(source, n, row, at, span)))
                v.store_words(words, to + at + n_slices * n_rows * width, seen)
            to += width


@intrinsic
def hash_below(typing, keys, offset, mine, both_keys, limit, span):
    """The vector whose bit t says that the hash of two attributes and an object is below a limit.

    `mine` is the fixed attribute's key with the object's first one added, `both_keys` are the object's two.
    The product of the two attributes' keys, each with the object's added, is the same in either order; all
    are odd, so that it takes every odd value equally often.
    """
    words = v.WordsType(v.LANES * span.count)

    def codegen(context, builder, sig, args):
        numbers = ir.VectorType(ir.IntType(16), 64)
        first, second = (builder.extract_value(args[3], i) for i in range(2))
        mine, first, second, limit = (
            v.spread(builder, value, numbers) for value in (args[2], first, second, args[4])
        )

        def constant(value):
            return ir.Constant(numbers, [value] * 64)

        def judge(part):
            mixed = builder.mul(mine, builder.add(part, first))
            mixed = builder.lshr(mixed, constant(1))  # the lowest bit is always set
            mixed = builder.mul(builder.xor(mixed, second), constant(MIXERS[0]))
            mixed = builder.xor(mixed, builder.lshr(mixed, constant(7)))
            mixed = builder.mul(builder.add(mixed, second), constant(MIXERS[1]))
            mixed = builder.xor(mixed, builder.lshr(mixed, constant(9)))
            return builder.icmp_unsigned("<", mixed, limit)

        return v.by_words(context, builder, sig, args, numbers, words, judge)

    short = types.uint16
    return words(keys, types.int64, short, types.UniTuple(short, 2), short, span), codegen


@kernel
def count_pairs(counts, left, right, n_levels):
    """Write the ones and the observed cells of each object to counts (2, O); ranks are below n_levels."""
    up_to = new(n_levels + 1, np.int64)
    for o in range(left.shape[0]):
        up_to[:] = 0
        for rank in right[o]:
            if rank < n_levels:
                up_to[rank + 1] += 1
        for level in range(n_levels):
            up_to[level + 1] += up_to[level]
        ones, seen = 0, 0
        for rank in left[o]:
            if rank < n_levels:
                ones += up_to[rank]
                seen += up_to[rank] + up_to[n_levels] - up_to[rank + 1]
        counts[0, o], counts[1, o] = ones, seen
