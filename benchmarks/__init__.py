"""Side-by-side measurements on a GPU: ``python -m benchmarks``, ``python -m benchmarks.npbench``.

``measure`` times, ``peers`` are the other libraries, ``cases`` the rows, ``ceilings`` the plain
kernels that rows are held to, ``compare`` puts one row together, ``programs`` has what is no row,
``report`` and ``pictures`` write.
"""
