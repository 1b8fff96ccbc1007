"""What was found of the Python that runs ComfyUI and of the machine around it, as ``headroom/host`` gathers it.

None is unknown, never "no". Texts may hold paths and names until ``redaction.redacted`` has seen them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..readings import Ram
from .requirements import Requirement, normal, parse_requirement


@dataclass(frozen=True)
class Python:
    """The interpreter that runs the check."""

    version: str
    kind: str = "system"
    """``venv``, ``conda``, ``embedded`` (ComfyUI's portable build for Windows) or ``system``."""
    bits: int = 64
    markers: Mapping[str, str] = field(default_factory=dict)
    """The variables of environment markers (PEP 508), by name."""

    @property
    def pip(self) -> str:
        """How pip is called, from the folder that ComfyUI is started in."""
        return "python_embeded\\python.exe -s -m pip" if self.kind == "embedded" else "python -m pip"


@dataclass(frozen=True)
class Package:
    """An installed package, by its metadata; it is not imported."""

    name: str
    """In its normal form: ``comfyui-frontend-package``."""
    version: str
    requires: Sequence[str] = ()
    place: str = "environment"
    """``environment``, or ``user`` for the folder that all Pythons of one version share."""


@dataclass(frozen=True)
class Torch:
    """PyTorch, where it is installed."""

    version: str | None = None
    error: str | None = None
    """Why it could not be imported; None where it was, and where nobody tried."""
    built_for: str | None = None
    """``cuda``, ``rocm``, ``xpu``, ``mps`` or ``cpu``; None where it was not imported."""
    runtime: str | None = None
    """The version of CUDA or ROCm that it is built with."""
    sees_gpu: bool | None = None
    gpu_count: int | None = None
    architectures: Sequence[str] = ()
    """What its CUDA code is compiled for: ``sm_75``, ``compute_90``."""
    said: str = ""
    """Its own words where it sees no GPU."""


@dataclass(frozen=True)
class Card:
    """An NVIDIA card, by the driver."""

    name: str | None
    capability: tuple[int, int] | None = None


@dataclass(frozen=True)
class Driver:
    """NVIDIA's driver, by its library NVML."""

    code: int | None = None
    """What its start returned (nvmlReturn_t): 0 works, 9 not loaded, 18 version mismatch. None: there is no library."""
    reason: str | None = None
    """Why nothing is known although there is a library."""
    version: str | None = None
    cuda: tuple[int, int] | None = None
    """The newest CUDA that it runs."""
    cards: Sequence[Card] = ()

    @property
    def works(self) -> bool:
        """It answers."""
        return self.code == 0


@dataclass(frozen=True)
class Disk:
    """The disk under one of ComfyUI's folders."""

    folder: str
    """``models``, ``output``, ``temp``."""
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True)
class Running:
    """A ComfyUI that runs on this machine."""

    pid: int
    folder: str
    """The name of its folder."""
    port: int
    version: str | None = None
    looked_at: bool | None = None
    """It runs from the folder that is looked at."""


@dataclass(frozen=True)
class Machine:
    """The machine, as far as it decides whether ComfyUI runs."""

    platform: str
    """``windows``, ``linux``, ``wsl``, ``macos``."""
    container: bool | None = None
    gpu_makes: Sequence[str] | None = None
    """Makes of the display adapters: ``nvidia``, ``amd``, ``intel``. None where the system does not list them."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that change what torch sees, as far as they are set."""
    wsl_libcuda: bool | None = None
    """Under WSL: Windows has handed its driver's library over."""
    kfd: str | None = None
    """AMD's compute device on Linux: ``there``, ``denied``, ``missing``. None on other systems."""
    ram: Ram = field(default_factory=Ram)
    disks: Sequence[Disk] = ()
    running: Sequence[Running] | None = None
    """ComfyUI processes; None where they cannot be listed."""


@dataclass(frozen=True)
class ComfyUI:
    """The ComfyUI folder that is looked at."""

    folder: str
    """Its name."""
    version: str | None = None
    origin: str = ""
    """``--comfyui``, ``around this pack``, or ``running``: asked over HTTP."""
    requirements: Sequence[Requirement] | None = None
    """Its ``requirements.txt``; None where there is none."""
    pythons: Sequence[str] = ()
    """Pythons that lie beside it, from its own folder: ``venv/bin/python``."""
    own_python: bool | None = None
    """This check runs in one of those; None where there is none."""
    pack: str = "headroom"
    """The name of this pack's folder."""


@dataclass(frozen=True)
class Unseen:
    """Something that was not looked at."""

    what: str
    why: str


@dataclass(frozen=True)
class Environment:
    """Everything together."""

    python: Python
    machine: Machine
    packages: Sequence[Package] = ()
    """In the order in which Python looks: of two with one name the first counts."""
    torch: Torch = field(default_factory=Torch)
    driver: Driver = field(default_factory=Driver)
    comfyui: ComfyUI | None = None
    pynvml_is_folder: bool | None = None
    """``import pynvml`` finds a folder: an old package of that name stands before NVIDIA's single file."""
    not_looked_at: Sequence[Unseen] = ()

    @cached_property
    def installed(self) -> Mapping[str, Package]:
        """The package that counts, by its normal name."""
        found: dict[str, Package] = {}
        for package in self.packages:
            found.setdefault(normal(package.name), package)
        return found

    @property
    def foreign(self) -> bool:
        """This Python is not the one that runs ComfyUI, so its packages say nothing about it."""
        found = self.comfyui
        return found is not None and found.own_python is False and "torch" not in self.installed

    def version(self, name: str) -> str | None:
        """The version of an installed package."""
        package = self.installed.get(name)
        return None if package is None else package.version

    def demands(self, of: str) -> list[tuple[Package, Requirement]]:
        """The packages that ask for another one, with what they ask for in this Python."""
        found: list[tuple[Package, Requirement]] = []
        for package in self.installed.values():
            for line in package.requires:
                requirement = parse_requirement(line)
                if requirement is not None and requirement.name == of and requirement.counts(self.python.markers):
                    found.append((package, requirement))
        return found
