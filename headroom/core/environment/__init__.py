"""The environment that ComfyUI runs in, judged: torch and the driver, packages, disks, other processes.

``host/environment.py`` gathers it; each check is an entry in one of the ``*_checks`` modules.
"""

from __future__ import annotations

from ..flags.advice import Advice
from . import compiled_checks, driver_checks, machine_checks, package_checks, torch_checks
from .check import Chain, ask
from .readings import Environment

CHAINS: tuple[Chain, ...] = (
    (*torch_checks.BUILD, *driver_checks.BLIND, torch_checks.BLIND),
    driver_checks.ALONE,
    (torch_checks.KERNELS,),
    *((check,) for check in compiled_checks.CHECKS),
    *((check,) for check in package_checks.CHECKS),
    *((check,) for check in machine_checks.CHECKS),
)


def diagnose(environment: Environment) -> tuple[Advice, ...]:
    """What is wrong, in the order in which a person should look; the texts are as clean as the environment is."""
    return ask(CHAINS, environment)
