"""A perceptron of three layers: matrix products, biases, relu, and a softmax."""

from __future__ import annotations

from typing import Any

from benchmarks.npbench.kernels._layers import relu
from benchmarks.npbench.kernels.softmax import softmax


def mlp(input: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """Return the output for a batch of inputs."""
    x = relu(input @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)
