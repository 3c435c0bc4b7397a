"""A bottleneck block of ResNet-50: three convolutions with batch normalization, and the residue."""

from __future__ import annotations

from typing import Any

from benchmarks.npbench.kernels._layers import batchnorm2d, conv2d, conv2d_by_shifts, relu


def resnet_basicblock(input: Any, conv1: Any, conv2: Any, conv3: Any) -> Any:
    """Return the block's output; the convolutions place by place."""
    xp = input.__array_namespace__()
    batch, height, width, _ = input.shape
    padded = xp.zeros(
        (batch, height + 2, width + 2, conv1.shape[3]), dtype=xp.float64, device=input.device
    )
    padded[:, 1:-1, 1:-1, :] = conv2d(input, conv1)
    x = batchnorm2d(padded)
    x = relu(x)
    x = conv2d(x, conv2)
    x = batchnorm2d(x)
    x = relu(x)
    x = conv2d(x, conv3)
    x = batchnorm2d(x)
    return relu(x + input)


def rewritten(input: Any, conv1: Any, conv2: Any, conv3: Any) -> Any:
    """Return the same; a convolution is a matrix product for each place of the weights."""
    xp = input.__array_namespace__()
    batch, height, width, _ = input.shape
    padded = xp.zeros(
        (batch, height + 2, width + 2, conv1.shape[3]), dtype=xp.float64, device=input.device
    )
    padded[:, 1:-1, 1:-1, :] = conv2d_by_shifts(input, conv1)
    x = batchnorm2d(padded)
    x = relu(x)
    x = conv2d_by_shifts(x, conv2)
    x = batchnorm2d(x)
    x = relu(x)
    x = conv2d_by_shifts(x, conv3)
    x = batchnorm2d(x)
    return relu(x + input)
