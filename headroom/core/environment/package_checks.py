"""Packages against what ComfyUI asks for, and against each other. By metadata alone: nothing is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..flags.rule import Params, Wording
from .check import Check, once
from .readings import Environment, Package
from .requirements import Requirement
from .versions import fits

#: ComfyUI's own packages -> the variant that says what a wrong version of it breaks.
COMFY_PROGRAMS = {"comfyui-frontend-package": "frontend", "comfy-aimdo": "aimdo", "comfy-kitchen": "kitchen"}
COMFY_CONTENT = {"comfyui-workflow-templates": "templates", "comfyui-embedded-docs": "docs"}
COMFY_PACKAGES = {**COMFY_PROGRAMS, **COMFY_CONTENT}
#: Two of these in one Python and the wrong one may be used.
ONLY_ONCE = ("torch", "torchvision", "torchaudio", "numpy", *COMFY_PACKAGES)
MOST_NAMED = 6


def _asked(environment: Environment) -> Iterator[tuple[Requirement, Package | None]]:
    """What ComfyUI asks for, beside what is installed of it; nothing where this Python is not ComfyUI's."""
    found = environment.comfyui
    if found is None or environment.foreign:
        return
    for requirement in found.requirements or ():
        if requirement.counts(environment.python.markers):
            yield requirement, environment.installed.get(requirement.name)


def _unmet(requirement: Requirement, package: Package | None) -> bool:
    return package is None or fits(package.version, requirement.demand) is False


def _comfy(kinds: Mapping[str, str], newer: bool = False) -> Callable[[Environment], Iterator[Params]]:
    """Packages of these kinds that are missing or older, or those that are newer than what is asked for."""

    def when(environment: Environment) -> Iterator[Params]:
        for requirement, package in _asked(environment):
            kind = kinds.get(requirement.name)
            if kind is not None and _unmet(requirement, package) and _is_newer(requirement, package) is newer:
                yield {
                    "package": requirement.name,
                    "installed": "missing" if package is None else package.version,
                    "wanted": _words(requirement.demand) or "any version",
                    "requirement": f"{requirement.name}{requirement.demand}",
                    "variant": kind,
                }

    return when


def _is_newer(requirement: Requirement, package: Package | None) -> bool:
    """Newer than the one version that is asked for; ComfyUI itself warns of older ones only."""
    exact = requirement.demand.removeprefix("==")
    return package is not None and bool(fits(package.version, f">{exact}"))


def _words(demand: str) -> str:
    return demand.removeprefix("==") if demand.count(",") == 0 and not demand.endswith("*") else demand


def _others(environment: Environment) -> Params | None:
    """torch has checks of its own."""
    unmet = [
        f"{requirement.name}{requirement.demand} ({'missing' if package is None else package.version})"
        for requirement, package in _asked(environment)
        if requirement.name not in COMFY_PACKAGES and requirement.name != "torch" and _unmet(requirement, package)
    ]
    return {"packages": named(unmet), "count": len(unmet)} if unmet else None


def named(names: list[str]) -> list[str]:
    """The first few of a long list."""
    more = len(names) - MOST_NAMED
    return names if more <= 0 else [*names[:MOST_NAMED], f"{more} more"]


def _twice(environment: Environment) -> Iterator[Params]:
    for name in ONLY_ONCE:
        found = [package for package in environment.packages if package.name == name]
        if len({(package.version, package.place) for package in found}) > 1:
            used, other = found[0], next(one for one in found[1:] if one != found[0])
            params = {"package": name, "used": used.version, "other": other.version}
            yield {**params, "variant": "user"} if used.place == "user" else params


def _pynvml(environment: Environment) -> Params | None:
    """Before 12 the package held a module of its own; since then it brings nvidia-ml-py and a warning."""
    version = environment.version("pynvml")
    own = version is not None and fits(version, "<12") is True
    if version is None and not environment.pynvml_is_folder:
        return None
    params = {"version": version or "of unknown version"}
    return params if own or environment.pynvml_is_folder else {**params, "variant": "notice"}


def _binding_missing(environment: Environment) -> Params | None:
    there = "nvidia-ml-py" in environment.installed or "pynvml" in environment.installed
    return {} if environment.driver.works and not there and "torch" in environment.installed else None


_INSTALL = "Install what it asks for, with ComfyUI stopped; an update of ComfyUI alone does not."
_INSTALL_IT = '{pip} install "{requirement}"'
_ASKS = "{package} is {installed}; this ComfyUI asks for {wanted}"

CHECKS = (
    Check(
        id="comfy-package",
        severity="warning",
        rank=51,
        when=_comfy(COMFY_PROGRAMS),
        title=_ASKS,
        why="{package}: ComfyUI is tested with that version alone.",
        fix=_INSTALL,
        command=_INSTALL_IT,
        check="ComfyUI's log no longer warns at the start that a version is lower than recommended.",
        source="Tavris1/ComfyUI-Easy-Install #182, #247; app/frontend_management.py 0.30.0",
        variants={
            "frontend": Wording(
                why="Without it ComfyUI does not start; with another one menus and panels are missing or do nothing."
            ),
            "aimdo": Wording(
                why="It is dynamic VRAM: without the right one ComfyUI turns that off, or flags of it do nothing."
            ),
            "kitchen": Wording(
                why="It holds the fast fp8, fp4 and int8 kernels: quantised models run slowly or not at all."
            ),
        },
    ),
    Check(
        id="comfy-content",
        severity="info",
        rank=652,
        when=_comfy(COMFY_CONTENT),
        title=_ASKS,
        why="Templates in the browser are missing, or ask for nodes that this ComfyUI lacks.",
        fix=_INSTALL,
        command=_INSTALL_IT,
        check="ComfyUI's log no longer warns at the start that a version is lower than recommended.",
        source="Tavris1/ComfyUI-Easy-Install #182; app/frontend_management.py 0.30.0",
        variants={"docs": Wording(why="Only the help pages of nodes come from it.")},
    ),
    Check(
        id="comfy-package-newer",
        severity="info",
        rank=662,
        when=_comfy(COMFY_PACKAGES, newer=True),
        title="{package} is {installed}, newer than the {wanted} that this ComfyUI asks for",
        why="That can work. It is what to suspect where something in the browser or in dynamic VRAM fails.",
        fix="If something fails, install what it asks for, or update ComfyUI.",
        command=_INSTALL_IT,
        check="What failed works.",
        source="Tavris1/ComfyUI-Easy-Install #242",
    ),
    Check(
        id="installed-twice",
        severity="warning",
        rank=47,
        when=_twice,
        title="{package} is installed twice: {used} is used, {other} lies beside it",
        why="Which one wins depends on the order of folders, and pip changes only one of them.",
        fix="Uninstall until pip finds none, then install the one that is wanted.",
        command="{pip} uninstall -y {package}",
        check="`{pip} list` names it once, with the version that is wanted.",
        source="patientx-cfz/comfyui-rocm #131; ComfyUI #3663",
        variants={
            "user": Wording(
                why="The one in the user's own folder, which all Pythons of this version share, hides ComfyUI's.",
                fix="Start Python with `-s`, or set PYTHONNOUSERSITE=1 where ComfyUI is started.",
                command="set PYTHONNOUSERSITE=1",
                check="ComfyUI's first lines name the version that is wanted.",
            )
        },
    ),
    Check(
        id="requirements",
        severity="warning",
        rank=61,
        when=once(_others),
        title="Of what this ComfyUI asks for, {count} are missing or of another version",
        why="{packages}.",
        fix="Install its requirements, in its folder.",
        command="{pip} install -r requirements.txt",
        check="The command ends with no line that begins with ERROR.",
        source="Comfy-Org/ComfyUI-Manager #1667; ComfyUI #11721",
    ),
    Check(
        id="pynvml-package",
        severity="warning",
        rank=300,
        when=once(_pynvml),
        title="The old package pynvml {version} stands in the way of nvidia-ml-py",
        why="Both are imported as pynvml and the old one wins, so readings of newer cards and drivers are missing.",
        fix="Uninstall both, then install NVIDIA's own.",
        command="{pip} uninstall -y pynvml nvidia-ml-py\n{pip} install nvidia-ml-py",
        check="Headroom's panel shows the card's temperature.",
        source="crystian/ComfyUI-Crystools #238, #242, #257; wookayin/gpustat #147",
        variants={
            "notice": Wording(
                title="The package pynvml {version} is deprecated",
                why="It does nothing but bring nvidia-ml-py, and torch warns about it at each start.",
                fix="Uninstall it. A node pack that asks for it may install it again.",
                command="{pip} uninstall -y pynvml\n{pip} install --force-reinstall nvidia-ml-py",
                check="The FutureWarning at ComfyUI's start is gone.",
            )
        },
    ),
    Check(
        id="nvidia-binding",
        severity="info",
        rank=692,
        when=once(_binding_missing),
        title="The package nvidia-ml-py is not installed",
        why="Without it Headroom cannot show other programs on the card, its temperature, power and link.",
        fix="Install it; it is small and brings nothing else.",
        command="{pip} install nvidia-ml-py",
        check="Headroom's panel shows the card's temperature.",
        source="crystian/ComfyUI-Crystools #252, #152",
    ),
)
