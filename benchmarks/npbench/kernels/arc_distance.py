"""The arc between points on a sphere, pair by pair."""

from __future__ import annotations

from typing import Any


def arc_distance(theta_1: Any, phi_1: Any, theta_2: Any, phi_2: Any) -> Any:
    """Return the angles, by the haversine formula."""
    xp = theta_1.__array_namespace__()
    haversine = (
        xp.sin((theta_2 - theta_1) / 2) ** 2
        + xp.cos(theta_1) * xp.cos(theta_2) * xp.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * xp.atan2(xp.sqrt(haversine), xp.sqrt(1 - haversine))
