"""Horizontal diffusion with a flux limiter, as weather models have it."""


def hdiff(in_field, out_field, coeff):
    xp = in_field.__array_namespace__()
    rows, columns, _ = out_field.shape
    lap = 4.0 * in_field[1 : rows + 3, 1 : columns + 3, :] - (
        in_field[2 : rows + 4, 1 : columns + 3, :]
        + in_field[0 : rows + 2, 1 : columns + 3, :]
        + in_field[1 : rows + 3, 2 : columns + 4, :]
        + in_field[1 : rows + 3, 0 : columns + 2, :]
    )
    change = lap[1:, 1 : columns + 1, :] - lap[:-1, 1 : columns + 1, :]
    uphill = (
        change
        * (in_field[2 : rows + 3, 2 : columns + 2, :] - in_field[1 : rows + 2, 2 : columns + 2, :])
        > 0
    )
    flx = xp.where(uphill, 0, change)
    change = lap[1 : rows + 1, 1:, :] - lap[1 : rows + 1, :-1, :]
    uphill = (
        change
        * (in_field[2 : rows + 2, 2 : columns + 3, :] - in_field[2 : rows + 2, 1 : columns + 2, :])
        > 0
    )
    fly = xp.where(uphill, 0, change)
    out_field[:, :, :] = in_field[2 : rows + 2, 2 : columns + 2, :] - coeff[:, :, :] * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )
