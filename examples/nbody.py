"""Gravity between every pair of bodies, by broadcasting; leapfrog steps, in place.

The same functions run on NumPy arrays, which is how the result is checked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import check, counted, on, parse

import lazyarr as xp

SOFTENING = 1e-2
STEP = 1e-3


def accelerations(ns: Any, position: Any, mass: Any) -> Any:
    """Return every body's acceleration; ``ns`` is the namespace, lazyarr or NumPy."""
    difference = position[None, :, :] - position[:, None, :]
    distance2 = ns.sum(difference * difference, axis=2) + SOFTENING
    strength = mass[None, :] / (distance2 * ns.sqrt(distance2))
    return ns.sum(difference * strength[:, :, None], axis=1)


def kinetic_energy(ns: Any, velocity: Any, mass: Any) -> float:
    return float(0.5 * ns.sum(mass[:, None] * velocity * velocity))


def simulate(ns: Any, position: Any, velocity: Any, mass: Any, steps: int) -> None:
    """Move the bodies in place, kick, drift, kick."""
    acceleration = accelerations(ns, position, mass)
    for _ in range(steps):
        velocity += 0.5 * STEP * acceleration
        position += STEP * velocity
        acceleration = accelerations(ns, position, mass)
        velocity += 0.5 * STEP * acceleration


def cluster(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities and masses of a random cluster at rest as a whole."""
    rng = np.random.default_rng(20)
    velocity = rng.normal(size=(n, 3))
    return rng.normal(size=(n, 3)), velocity - velocity.mean(axis=0), rng.uniform(1, 2, n) / n


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(__doc__, arguments, size=256, steps=10)
    start = cluster(args.size)
    with on(args.device):
        position, velocity, mass = (xp.asarray(part) for part in start)
        print(f"{args.size} bodies, {args.steps} steps on {position.device}")
        with counted("first step (uploads, compiles)"):
            simulate(xp, position, velocity, mass, 1)
            xp.evaluate(position, velocity)
        with counted(f"{args.steps - 1} more steps"), xp.transfer_guard("error"):
            simulate(xp, position, velocity, mass, args.steps - 1)
            xp.evaluate(position, velocity)
        with counted("kinetic energy"):
            print(f"kinetic energy {kinetic_energy(xp, velocity, mass):.6f}")
        result = position.get()
    want, want_velocity, masses = (part.copy() for part in start)
    simulate(np, want, want_velocity, masses, args.steps)
    return check("positions", result, want, rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    sys.exit(main())
