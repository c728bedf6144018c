"""Relational tensors as a source of slices (slices.py): cells made on the fly, by comparing ranks.

Cell (o, a, b) is 1 if left[o, a] > right[o, b], 0 if it is less, and not observed if they are equal or one
of them is ABSENT. A row of a slice holds one rank fixed and runs along the others of the same object.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from tensorm.kernels.slices import (
    INLINE,
    cells_at,
    fetch_rows,
    is_far,
    laid_cells,
    lay_rows,
    places_of,
    seen_at,
)
from tensorm.kernels.vectors import (
    LANES,
    Words,
    all_but,
    both,
    by_words,
    differs,
    drop_bit,
    exceeds,
    load,
    ones,
    spread,
    store,
    store_exceeding,
    turned,
    zeros,
)

MIX = 0xB5AD, 0x6C8F  # odd numbers that spread bits well in 16


class Ranks(NamedTuple):
    """Ranks of all objects, seen from the mode whose slices are read."""

    fixed: Any  # flat uint16 or uint32: the ranks of which a row has one
    fixed_stride: int  # numbers from one object to the next
    running: Any  # the ranks along which a row runs; the last is followed by enough for a whole vector
    running_stride: int
    by_object: bool  # whether a slice is an object and a row an attribute, or the other way round
    turn: Any  # all bits set if a cell is 1 where the running rank is the greater
    always: Any  # for each fixed attribute, whether it is alone in all objects
    alone: Any  # (O, fixed) 1 where no other rank of the object equals the fixed one, and none is ABSENT
    same: Any  # for each fixed attribute its own place among the running ones, or -1
    gaps: bool  # whether any rank is ABSENT, the largest number of its type
    held: Any  # Held, as a tuple


class Held(NamedTuple):
    """Which pairs of attributes of which objects are left out, told by a hash of their keys."""

    limit: Any  # uint16: hashes below it are in the one part, the others in the other; 0: there are no parts
    turn: Any  # all bits set for the part with hashes from the limit on
    objects: Any  # (O, 2) uint16, the first of them odd
    fixed: Any  # uint16 keys of the attributes, even
    running: Any


@njit(error_model="numpy", forceinline=True)
def locate(n, row, by_object):
    """(object, attribute) of a row of slice n."""
    return (n, row) if by_object else (row, n)


def _is_ranks(source):
    return source[0].dtype in (types.uint16, types.uint32)


@overload(cells_at, jit_options=INLINE)
def _cells_at(source, n, place, at, span):
    if not _is_ranks(source):
        return None

    def compare(source, n, place, at, span):
        fixed, fixed_stride, running, running_stride, by_object, turn = source[:6]
        o, a = locate(n, place, by_object)
        greater = exceeds(running, o * running_stride + 64 * at, fixed[o * fixed_stride + a], span)
        return turned(greater, turn)

    return compare


@overload(seen_at, jit_options=INLINE)
def _seen_at(source, n, place, at, span):
    if not _is_ranks(source):
        return None
    absent = source[0].dtype(2 ** source[0].dtype.bitwidth - 1)

    def compare(source, n, place, at, span):
        fixed, fixed_stride, running, running_stride, by_object, _, always, alone, same, gaps, held = source
        o, a = locate(n, place, by_object)
        if always[a] or alone[o, a]:  # most are, and then no rank need be read
            seen = all_but(same[a] - 64 * at, span)
        else:
            rank, start = fixed[o * fixed_stride + a], o * running_stride + 64 * at
            seen = differs(running, start, rank, span)
            if gaps:
                if rank == absent:
                    return zeros(span)
                seen = both(seen, differs(running, start, absent, span))
        if held[0] > 0:
            limit, side, objects, mine, others = held
            first, second = objects[o, 0], objects[o, 1]
            below = hash_below(others, 64 * at, np.uint16(mine[a] + first), first, second, limit, span)
            seen = both(seen, turned(below, side))
        return seen

    return compare


@overload(lay_rows, jit_options={"error_model": "numpy"})
def _lay_rows(workspace, source, n, places, span):
    if not _is_ranks(source):
        return None

    def lay(workspace, source, n, places, span):
        fixed, fixed_stride, running, running_stride, by_object, turn, always, alone, same, _, held = source
        width, last = workspace.shape[2], workspace.shape[1] - 1
        to, whole = 0, held[0] == 0
        for place in places:
            o, a = locate(n, place, by_object)
            rank, start = fixed[o * fixed_stride + a], o * running_stride
            if whole and (always[a] or alone[o, a]):
                for at in range(to, to + last * width, LANES * len(span)):
                    store(workspace, at, ones(span))
                if same[a] >= 0:
                    for at in range(to, to + last * width, width):
                        drop_bit(workspace, at, same[a])
            else:
                for at in range(0, width, LANES * len(span)):
                    seen = seen_at(source, n, place, at, span)
                    store(workspace, to + at, seen)
                    if last == 2:
                        store(workspace, to + at + width, seen)
            to += last * width
            for at in range(running_stride >> 6):
                store_exceeding(workspace, to + at, running, start + 64 * at, rank, turn)
            to += width

    return lay


@overload(laid_cells, jit_options=INLINE)
def _laid_cells(workspace, to, source, n, place, at, span):
    if _is_ranks(source):
        return lambda workspace, to, source, n, place, at, span: load(workspace, to, span)


@overload(places_of)
def _places_of(source, members):
    if _is_ranks(source):
        return lambda source, members: members


@overload(is_far)
def _is_far(source):
    if _is_ranks(source):
        return lambda source: False  # ranks are few, and read one after the other


@overload(fetch_rows)
def _fetch_rows(source, n, places, width, turn, n_turns):
    if _is_ranks(source):
        return lambda source, n, places, width, turn, n_turns: None


@intrinsic
def hash_below(typing, keys, offset, mine, first, second, limit, span):
    """The vector whose bit t says that the hash of two attributes and an object is below a limit.

    The product of the two attributes' keys, each with the object's added, is the same in either order; all
    are odd, so that it takes every odd value equally often.
    """
    words = Words(LANES * span.count)

    def codegen(context, builder, sig, args):
        numbers = ir.VectorType(ir.IntType(16), 64)
        mine, first, second, limit = (spread(builder, value, numbers) for value in args[2:6])

        def constant(value):
            return ir.Constant(numbers, [value] * 64)

        def judge(part):
            mixed = builder.mul(mine, builder.add(part, first))
            mixed = builder.lshr(mixed, constant(1))  # the lowest bit is always set
            mixed = builder.mul(builder.xor(mixed, second), constant(MIX[0]))
            mixed = builder.xor(mixed, builder.lshr(mixed, constant(7)))
            mixed = builder.mul(builder.add(mixed, second), constant(MIX[1]))
            mixed = builder.xor(mixed, builder.lshr(mixed, constant(9)))
            return builder.icmp_unsigned("<", mixed, limit)

        return by_words(context, builder, sig, args, numbers, words, judge)

    short = types.uint16
    return words(keys, types.int64, short, short, short, short, span), codegen


@njit(nogil=True, cache=True)
def count_pairs(counts, left, right, n_levels):
    """Write the ones and the observed cells of each object to counts (2, O); ranks are below n_levels."""
    up_to = np.empty(n_levels + 1, np.int64)
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
