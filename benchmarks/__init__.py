"""Side-by-side measurements on a GPU. Each module is a program: ``python -m benchmarks.core``."""
