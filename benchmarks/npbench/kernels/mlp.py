"""A perceptron of three layers."""

from benchmarks.npbench.kernels.layers import relu, softmax


def mlp(input, w1, b1, w2, b2, w3, b3):
    x = relu(input @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)
