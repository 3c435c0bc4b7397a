"""npbench's programs in lazyarr, beside CuPy: ``python -m benchmarks.npbench``.

``kernels`` holds the programs, ``checkout`` reads npbench's own, ``compare`` runs and checks one,
``report`` writes the table. npbench: A. Ziogas et al., NPBench: A benchmarking suite for
high-performance NumPy, ICS 2021; https://github.com/spcl/npbench.
"""
