"""Layers that several of npbench's networks share; arrays are (batch, height, width, channels)."""

from __future__ import annotations

from typing import Any


def relu(x: Any) -> Any:
    """Return x, and 0 where it is negative."""
    xp = x.__array_namespace__()
    return xp.maximum(x, 0)


def conv2d(input: Any, weights: Any) -> Any:
    """Return the valid convolution, in float32: a sum for each place of the result."""
    xp = input.__array_namespace__()
    size = weights.shape[0]
    batch, height, width, _ = input.shape
    rows, columns = height - size + 1, width - size + 1
    output = xp.empty(
        (batch, rows, columns, weights.shape[3]), dtype=xp.float32, device=input.device
    )
    for i in range(rows):
        for j in range(columns):
            window = input[:, i : i + size, j : j + size, :, None]
            products = window * weights[None, :, :, :, :]
            output[:, i, j, :] = xp.astype(xp.sum(products, axis=(1, 2, 3)), xp.float32, copy=False)
    return output


def conv2d_by_shifts(input: Any, weights: Any) -> Any:
    """Return the valid convolution, in float32: a matrix product for each place of the weights."""
    xp = input.__array_namespace__()
    size = weights.shape[0]
    batch, height, width, channels = input.shape
    rows, columns = height - size + 1, width - size + 1
    weights = xp.astype(weights, input.dtype, copy=False)
    output = xp.zeros(
        (batch * rows * columns, weights.shape[3]), dtype=input.dtype, device=input.device
    )
    for i in range(size):
        for j in range(size):
            shifted = input[:, i : i + rows, j : j + columns, :]
            output += xp.reshape(shifted, (batch * rows * columns, channels)) @ weights[i, j, :, :]
    output = xp.reshape(output, (batch, rows, columns, weights.shape[3]))
    return xp.astype(output, xp.float32, copy=False)


def maxpool2d(x: Any) -> Any:
    """Return the largest of each 2 by 2 square: one reduction for each place of the result."""
    xp = x.__array_namespace__()
    batch, height, width, channels = x.shape
    output = xp.empty((batch, height // 2, width // 2, channels), dtype=x.dtype, device=x.device)
    for i in range(height // 2):
        for j in range(width // 2):
            square = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :]
            output[:, i, j, :] = xp.max(square, axis=(1, 2))
    return output


def maxpool2d_at_once(x: Any) -> Any:
    """Return the largest of each 2 by 2 square: one reduction for all of them."""
    xp = x.__array_namespace__()
    batch, height, width, channels = x.shape
    rows, columns = height // 2, width // 2
    squares = xp.reshape(x[:, : 2 * rows, : 2 * columns, :], (batch, rows, 2, columns, 2, channels))
    return xp.max(squares, axis=(2, 4))


def batchnorm2d(x: Any, eps: float = 1e-5) -> Any:
    """Return x less its mean over the batch, by the root of its standard deviation."""
    xp = x.__array_namespace__()
    mean = xp.mean(x, axis=0, keepdims=True)
    deviation = xp.std(x, axis=0, keepdims=True)
    return (x - mean) / xp.sqrt(deviation + eps)
