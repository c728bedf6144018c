"""How functions are compiled: kernels, which Python calls and the disk stores, and parts, which they call."""

from __future__ import annotations

import gc

from llvmlite import ir
from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic, overload

from tensorm.kernels.stored import StoredCode


class LinkedCode(JITCodeLibrary):
    """The code of a part, as it is when it is linked into that of a kernel.

    LLVM works on it there, once; numba would also make fast machine code of every part by itself, and of all
    that it calls again and again, which takes most of the time of compiling and is never run.
    """

    def _optimize_functions(self, module):
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPart(NativeLowering):
    """Numba's pass that makes code for LLVM, without asking for an address to call it at."""

    _name = "lower_part"

    def run_pass(self, state):
        state.library = LinkedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        made = state["cr"]
        # Numba wants a built-in function as its key, one for each; this one raises if Python calls it.
        key = f"{{{state.func_id.func_name} is a part, which only compiled code can call}}".format
        state["cr"] = _LowerResult(made.fndesc, made.call_helper, key, made.env)
        state.targetctx.insert_user_function(key, made.fndesc, [state.library])
        return True


class PartCompiler(Compiler):
    """Compiles functions that only compiled code calls."""

    def define_pipelines(self):
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (LowerPart, told) if step is NativeLowering else (step, told)
                for step, told in pipeline.passes
            ]
        return pipelines


# A division by zero is not an exception, and needs no test.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
MAKER = {**OPTIONS, "no_cpython_wrapper": True, "pipeline_class": PartCompiler}
PART = {**MAKER, "_nrt": False}
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
