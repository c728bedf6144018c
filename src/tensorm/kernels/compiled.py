"""How functions are compiled: kernels, called from Python and cached on disk, and the parts they are made of.

Numba caches a compiled function under a digest of the file it stands in, and so would run an old one after a
change in another file that it calls. Here the digest is that of all kernels: it is in the index of a cached
function, where numba looks first, and beside its code, in case two processes wrote both at once. Code of
another digest is overwritten in its place, so that old code does not pile up.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from llvmlite import ir
from numba import njit, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.extending import intrinsic, overload

OPTIONS = {"error_model": "numpy"}  # a division by zero is not an exception, and needs no test
INLINED = {**OPTIONS, "forceinline": True}

part = njit(**OPTIONS)
inlined = njit(**INLINED)


def digest_sources() -> bytes:
    """Return a digest of all modules of this folder, be it on disk or in a zip archive."""
    found = hashlib.sha256()
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith((".py", ".pyc")):
            content = file.read_bytes()
            found.update(f"{file.name} {len(content)} ".encode() + content)
    return found.digest()


DIGEST = digest_sources()


class _Code(CompileResultCacheImpl):
    def __init__(self, function):
        super().__init__(function)
        self.locator.get_source_stamp = lambda: DIGEST

    def reduce(self, code):
        return DIGEST, super().reduce(code)

    def rebuild(self, target, data):
        digest, code = data
        return super().rebuild(target, code) if digest == DIGEST else None


class _Cache(FunctionCache):
    _impl_class = _Code


def kernel(function):
    """Compile a function for Python to call: it releases the interpreter lock, and is cached if possible."""
    compiled = njit(nogil=True, **OPTIONS)(function)
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:  # numba finds no folder for it; each process compiles its own
        pass
    return compiled


def verb(function, inline="never"):
    """Make a function that the class of its first argument, a NamedTuple, defines as a method.

    The class is known when the call is compiled. ``inline="always"`` lets numba itself copy the method to
    where it is called, which is slower to compile, for what LLVM would not see through.
    """
    overload(function, jit_options=INLINED, strict=False, inline=inline)(
        lambda kind, *rest: getattr(kind.instance_class, function.__name__)
    )
    return function


@intrinsic
def lend(typing, value):
    """Return arrays, or tuples of them, without reference counting, which makes passing them faster.

    Their owner must outlive them. Numba lets go of a local variable after its last use: ``keep`` is one.
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
