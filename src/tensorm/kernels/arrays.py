"""New arrays inside kernels; numba's own functions for them take a tenth of a second each to compile."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from tensorm.kernels.compiled import maker, part

ALIGN = 32  # bytes, as numba's


@intrinsic
def new(typing, shape, kind):
    """A C-contiguous array whose content is whatever was there."""
    return _make(shape, kind, clear=False)


@intrinsic
def new_zeros(typing, shape, kind):
    """A C-contiguous array of zeros."""
    return _make(shape, kind, clear=True)


def _make(shape, kind, clear):
    """Return the signature and the code that allocates; a size is one number, or a tuple of them."""
    sizes = types.UniTuple(types.int64, len(shape)) if isinstance(shape, types.BaseTuple) else types.int64
    array = types.Array(kind.instance_type, getattr(sizes, "count", 1), "C")

    def codegen(context, builder, sig, args):
        i64, made = ir.IntType(64), context.make_array(array)(context, builder)
        shape = cgutils.unpack_tuple(builder, args[0]) if array.ndim > 1 else [args[0]]
        item = n_bytes = ir.Constant(i64, context.get_abi_sizeof(context.get_data_type(array.dtype)))
        strides = []
        for size in reversed(shape):
            strides.insert(0, n_bytes)
            n_bytes = builder.mul(n_bytes, size)
        room = context.nrt.meminfo_alloc_aligned(builder, n_bytes, ir.Constant(ir.IntType(32), ALIGN))
        data = builder.bitcast(context.nrt.meminfo_data(builder, room), made.data.type)
        populate_array(made, data, shape, strides, item, room)
        if clear:
            cgutils.memset(builder, data, n_bytes, 0)
        return made._getvalue()

    return array(sizes, kind), codegen


@maker
def count_up(stop):
    """The numbers from 0 on."""
    numbers = new(stop, np.int64)
    for i in range(stop):
        numbers[i] = i
    return numbers


@part
def copy_to(target, source):
    """Write numbers to the beginning of an array; numba's own assignment is long, for it checks sizes."""
    for i in range(source.shape[0]):
        target[i] = source[i]
