"""Masks counted: a table of distinct masks, each with a weight, found by hashing.

Rows with the same mask are all alike to the other modes, and so are index tuples with the same shared mask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import inlined, kernel, maker, part

MIX = np.uint64(0x9E3779B97F4A7C15)


class Groups(NamedTuple):
    """Distinct masks in the order in which they were met."""

    slots: Any  # number of the mask at each place of the hash table, or -1; twice as many as masks, or more
    masks: Any  # (room, M)
    weights: Any  # (room,)
    size: Any  # how many there are, in an array of one


@maker
def make_groups(room, n_words):
    """Groups without any mask, with room for so many."""
    places = 16
    while places < 2 * room:
        places *= 2
    slots, size = new(places, np.int64), new_zeros(1, np.int64)
    slots[:] = -1
    return Groups(slots, new((room, n_words), np.uint64), new_zeros(room, np.int64), size)


@inlined
def find(groups, mask):
    """(number, whether it is new) of a mask; a new one gets the next number if there is room, else -1."""
    slots, masks, weights, size = groups
    h = uint64(0)
    for m in range(mask.shape[0]):
        h = (h ^ mask[m]) * MIX
        h ^= h >> uint64(29)
    place = np.int64(h >> uint64(32)) & (slots.shape[0] - 1)
    while slots[place] >= 0:
        number, same = slots[place], True
        for m in range(mask.shape[0]):
            same &= masks[number, m] == mask[m]
        if same:
            return number, False
        place = (place + 1) & (slots.shape[0] - 1)
    number = size[0]
    if number == masks.shape[0]:
        return -1, True
    slots[place] = number
    for m in range(mask.shape[0]):
        masks[number, m] = mask[m]
    weights[number] = 0
    size[0] += 1
    return number, True


@part
def clear(groups):
    """Forget all masks."""
    groups.slots[:] = -1
    groups.size[0] = 0


@maker
def enlarged(groups):
    """The same groups with twice the room."""
    room, n_words = groups.masks.shape
    wider = make_groups(2 * room, n_words)
    for number in range(groups.size[0]):
        find(wider, groups.masks[number])
        wider.weights[number] = groups.weights[number]
    return wider


@maker
def add_group(groups, mask, weight):
    """The groups with so much more of a mask, in a larger table where there was no room."""
    number, _ = find(groups, mask)
    if number < 0:
        groups = enlarged(groups)
        number, _ = find(groups, mask)
    groups.weights[number] += weight
    return groups


@part
def is_empty(mask):
    """Whether a mask holds no component."""
    some = uint64(0)
    for m in range(mask.shape[0]):
        some |= mask[m]
    return some == 0


@maker
def group_rows(masks, present):
    """The groups of a factor's rows by the components that are present; rows in none are left out."""
    groups = make_groups(64, masks.shape[1])
    mask = new(masks.shape[1], np.uint64)
    for n in range(masks.shape[0]):
        for m in range(masks.shape[1]):
            mask[m] = masks[n, m] & present[m]
        if not is_empty(mask):
            groups = add_group(groups, mask, 1)
    return groups


@maker
def find_present(stack, edges, but):
    """The components with members in all modes but some: only they can be shared."""
    present = new(stack.shape[1], np.uint64)
    present[:] = ~uint64(0)
    for k in range(edges.shape[0] - 1):
        if k in but:
            continue
        held = new_zeros(stack.shape[1], np.uint64)
        for n in range(edges[k], edges[k + 1]):
            for m in range(stack.shape[1]):
                held[m] |= stack[n, m]
        for m in range(stack.shape[1]):
            present[m] &= held[m]
    return present


@kernel
def group_tuples(stack, edges, but):
    """Masks shared by index tuples of all modes but some, and how many tuples share each.

    The factors are stacked; that of mode k is stack[edges[k] : edges[k + 1]]. Tuples that share nothing
    are left out.
    """
    n_words, present = stack.shape[1], find_present(stack, edges, but)
    shared, groups = new(n_words, np.uint64), add_group(make_groups(64, n_words), present, 1)
    for k in range(edges.shape[0] - 1):
        if k in but:
            continue
        more = group_rows(stack[edges[k] : edges[k + 1]], present)
        both = make_groups(64, n_words)
        for i in range(groups.size[0]):
            for j in range(more.size[0]):
                for m in range(n_words):
                    shared[m] = groups.masks[i, m] & more.masks[j, m]
                if not is_empty(shared):
                    both = add_group(both, shared, groups.weights[i] * more.weights[j])
        groups = both
    return groups.masks[: groups.size[0]].copy(), groups.weights[: groups.size[0]].copy()
