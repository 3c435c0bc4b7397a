"""Distances on the sphere between pairs of points."""


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    xp = theta_1.__array_namespace__()
    temp = (
        xp.sin((theta_2 - theta_1) / 2) ** 2
        + xp.cos(theta_1) * xp.cos(theta_2) * xp.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * (xp.atan2(xp.sqrt(temp), xp.sqrt(1 - temp)))
