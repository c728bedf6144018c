"""How functions are compiled: kernels, which Python calls and the disk stores, and parts, which they call."""

from __future__ import annotations

import gc

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from tensorm.kernels.stored import StoredCode

# A division by zero is not an exception, and needs no test.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
try:
    from tensorm.kernels.linked import PartCompiler

    MAKER = {**OPTIONS, "no_cpython_wrapper": True, "pipeline_class": PartCompiler}
    PART = {**MAKER, "_nrt": False}
except ImportError:  # another numba: compiling takes several times as long, and the kernels are the same
    MAKER = PART = OPTIONS
INLINED = {**PART, "forceinline": True}

maker = njit(**MAKER)
part = njit(**PART)
inlined = njit(**INLINED)
copied = njit(inline="always", **PART)


def kernel(function):
    """Compile a function for Python to call: it releases the interpreter lock, and its code is stored."""
    compiled = njit(nogil=True, **OPTIONS)(function)
    compiled._cache, compile_now = StoredCode(function), compiled.compile

    def compile(signature):
        collects = gc.isenabled()
        gc.disable()  # numba makes so many objects that looking for garbage takes a tenth of the time
        try:
            return compile_now(signature)
        finally:
            if collects:
                gc.enable()

    compiled.compile = compile
    return compiled


def verb(function, inline="never", options=INLINED):
    """Make a function that the class of its first argument, a NamedTuple, defines as a method.

    The class is known when the call is compiled; one without that method is served by the function itself.
    ``inline="always"`` lets numba itself copy the method to where it is called, which is slower to compile,
    for what LLVM would not see through.
    """
    # Compiled code can read a NamedTuple's fields but not call its methods, and ``overload`` is numba's only
    # way to choose code by an argument's type. It is called once for each verb; classes register nothing.
    overload(function, jit_options=options, strict=False, inline=inline)(
        lambda kind, *rest: getattr(kind.instance_class, function.__name__, function)
    )
    return function


@intrinsic
def lend(typing, value):
    """Return arrays, or tuples of them, without reference counting, so that kernels run faster.

    A lent array has no owner inside, so a kernel can neither free it nor keep it. It is valid while its owner
    is: the caller, if it was an argument; else the function that made it, up to ``keep``, since numba lets go
    of a local variable after its last use. A kernel that lends returns no array, which could be a lent one.
    Tests check all three.
    """
    return value(value), lambda context, builder, sig, args: _lend(context, builder, value, args[0])


def _lend(context, builder, kind, value):
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, inner in enumerate(kind):
            lent = _lend(context, builder, inner, builder.extract_value(value, i))
            value = builder.insert_value(value, lent, i)
    return value


@intrinsic
def keep(typing, value):
    """Keep a value alive up to here, so that what ``lend`` returned stays valid."""
    return types.void(value), lambda context, builder, sig, args: context.get_dummy_value()
