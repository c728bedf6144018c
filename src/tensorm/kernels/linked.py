"""How parts of kernels are compiled: into code that is linked into a kernel's, and made fast there.

This leans on insides of numba that may change; without them, compiled.py lets numba compile parts as it does.
"""

from __future__ import annotations

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


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
