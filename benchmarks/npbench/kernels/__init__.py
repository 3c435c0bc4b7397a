"""npbench's computations in array-API code, a file each; see ``benchmarks.npbench``."""
