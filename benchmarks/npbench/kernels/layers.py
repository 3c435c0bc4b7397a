"""What the neural networks share."""


def relu(x):
    return x.__array_namespace__().maximum(x, 0)


def softmax(x):
    xp = x.__array_namespace__()
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def conv2d(input, weights):
    """Convolve images of (batch, height, width, channels), one place of the output at a time."""
    xp = input.__array_namespace__()
    K = weights.shape[0]
    height, width = input.shape[1] - K + 1, input.shape[2] - K + 1
    shape = (input.shape[0], height, width, weights.shape[3])
    output = xp.empty(shape, dtype=xp.float32, device=input.device)
    for i in range(height):
        for j in range(width):
            patch = input[:, i : i + K, j : j + K, :, None] * weights[None, :, :, :, :]
            output[:, i, j, :] = xp.astype(xp.sum(patch, axis=(1, 2, 3)), xp.float32, copy=False)
    return output


def conv2d_at_once(input, weights):
    """Convolve by one product a place of the filter, over all places of the output."""
    xp = input.__array_namespace__()
    K = weights.shape[0]
    height, width = input.shape[1] - K + 1, input.shape[2] - K + 1
    total = 0.0
    for i in range(K):
        for j in range(K):
            total = total + input[:, i : i + height, j : j + width, :] @ weights[i, j, :, :]
    return xp.astype(total, xp.float32)


def maxpool2d(x):
    xp = x.__array_namespace__()
    height, width = x.shape[1] // 2, x.shape[2] // 2
    shape = (x.shape[0], height, width, x.shape[3])
    output = xp.empty(shape, dtype=x.dtype, device=x.device)
    for i in range(height):
        for j in range(width):
            output[:, i, j, :] = xp.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def maxpool2d_at_once(x):
    xp = x.__array_namespace__()
    batch, height, width, channels = x.shape
    x = x[:, : height // 2 * 2, : width // 2 * 2, :]
    return xp.max(xp.reshape(x, (batch, height // 2, 2, width // 2, 2, channels)), axis=(2, 4))
