"""Softmax over the last axis."""

from benchmarks.npbench.kernels import layers


def softmax(x):
    return layers.softmax(x)
