"""The ``sim`` device: CUDA C compiled by the system's C++ compiler and run on the CPU.

Its memory is apart from host memory and every access of a kernel is checked. For tests and for
developing without a GPU, not for speed. ``docs/simulator.md`` says what is supported.
"""

from .backend import SimBackend

__all__ = ["SimBackend"]
