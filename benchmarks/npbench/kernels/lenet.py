"""LeNet-5, the forward pass: two convolutions with pooling, and three full layers."""

from __future__ import annotations

from typing import Any

from benchmarks.npbench.kernels._layers import (
    conv2d,
    conv2d_by_shifts,
    maxpool2d,
    maxpool2d_at_once,
    relu,
)


def lenet5(
    input: Any,
    conv1: Any,
    conv1bias: Any,
    conv2: Any,
    conv2bias: Any,
    fc1w: Any,
    fc1b: Any,
    fc2w: Any,
    fc2b: Any,
    fc3w: Any,
    fc3b: Any,
    N: int,
    C_before_fc1: int,
) -> Any:
    """Return the ten outputs of each image; convolutions and pooling place by place."""
    xp = input.__array_namespace__()
    x = relu(conv2d(input, conv1) + conv1bias)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + conv2bias)
    x = maxpool2d(x)
    x = xp.reshape(x, (N, C_before_fc1))
    x = relu(x @ fc1w + fc1b)
    x = relu(x @ fc2w + fc2b)
    return x @ fc3w + fc3b


def rewritten(
    input: Any,
    conv1: Any,
    conv1bias: Any,
    conv2: Any,
    conv2bias: Any,
    fc1w: Any,
    fc1b: Any,
    fc2w: Any,
    fc2b: Any,
    fc3w: Any,
    fc3b: Any,
    N: int,
    C_before_fc1: int,
) -> Any:
    """Return the same; a matrix product for each weight's place, one reduction for each pool."""
    xp = input.__array_namespace__()
    x = relu(conv2d_by_shifts(input, conv1) + conv1bias)
    x = maxpool2d_at_once(x)
    x = relu(conv2d_by_shifts(x, conv2) + conv2bias)
    x = maxpool2d_at_once(x)
    x = xp.reshape(x, (N, C_before_fc1))
    x = relu(x @ fc1w + fc1b)
    x = relu(x @ fc2w + fc2b)
    return x @ fc3w + fc3b
