"""Every compiled function of the package: arrays in, arrays out, no checks, no prints.

This is the only room that imports numba. Kernels release the interpreter lock and start no threads of
their own, so that callers may run them side by side in ordinary Python threads.
"""
