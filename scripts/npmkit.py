"""Packages of npm for the checks: fetched once into the folder of the test host, unpacked, never installed."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import hostkit

NO_NPM = "no npm here: it comes with Node.js (Debian and Ubuntu: apt-get install npm)"


def package(spec: str, needed: str) -> Path | None:
    """The folder of a package such as ``axe-core@4.10.3``; None where it is not there and npm is not either.

    Args:
        spec: name and version.
        needed: a file in it; where it is missing, the package is fetched.

    Raises:
        SetupError: npm could not fetch it.
    """
    target = hostkit.home() / "npm" / spec.rpartition("/")[2].replace("@", "-")
    npm = shutil.which("npm")
    if (target / needed).is_file() or npm is None:
        return target if (target / needed).is_file() else None
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        hostkit.run_step(f"fetching {spec}", [npm, "pack", "--silent", "--pack-destination", folder, spec])
        made = target.with_name(f"{target.name}.{os.getpid()}")
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            archive.extractall(made, filter="data")
    shutil.rmtree(target, ignore_errors=True)
    try:
        (made / "package").rename(target)
    except OSError:
        # Another run was faster.
        if not (target / needed).is_file():
            raise
    shutil.rmtree(made, ignore_errors=True)
    return target
