"""LeNet-5."""

from benchmarks.npbench.kernels import layers
from benchmarks.npbench.kernels.layers import relu


def _network(conv2d, maxpool2d, input, conv1, conv1bias, conv2, conv2bias, dense, N, C_before_fc1):
    xp = input.__array_namespace__()
    fc1w, fc1b, fc2w, fc2b, fc3w, fc3b = dense
    x = relu(conv2d(input, conv1) + conv1bias)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + conv2bias)
    x = maxpool2d(x)
    x = xp.reshape(x, (N, C_before_fc1))
    x = relu(x @ fc1w + fc1b)
    x = relu(x @ fc2w + fc2b)
    return x @ fc3w + fc3b


def lenet5(
    input, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b, N, C_before_fc1
):
    dense = fc1w, fc1b, fc2w, fc2b, fc3w, fc3b
    return _network(
        layers.conv2d, layers.maxpool2d, input, conv1, conv1bias, conv2, conv2bias, dense, N,
        C_before_fc1,
    )  # fmt: skip


def rewritten(
    input, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b, N, C_before_fc1
):
    """Convolutions and pools over all places at once."""
    dense = fc1w, fc1b, fc2w, fc2b, fc3w, fc3b
    return _network(
        layers.conv2d_at_once, layers.maxpool2d_at_once, input, conv1, conv1bias, conv2, conv2bias,
        dense, N, C_before_fc1,
    )  # fmt: skip
