"""The import rule of the pack and its other habits, checked on the syntax trees and the files.

A rule is one entry in ``RULES`` (about one Python file) or ``TREE_RULES`` (about the folder as a whole), each with an
example that breaks it: a rule that cannot fail is no rule.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPO = Path(__file__).resolve().parent.parent

#: Where each kind of file may import from beside the standard library: packages of others (None: any) and folders of
#: this pack; "" is the root. The longest folder that fits counts.
OUTSIDE = {
    "headroom": set(),
    "headroom/tensors": {"torch"},
    "headroom/host": None,
    "nodes": {"comfy_api.latest"},
    "": {"comfy_api.latest"},
}
INSIDE = {
    "headroom/core": ("headroom/core",),
    "headroom/tensors": ("headroom/tensors", "headroom/core"),
    "headroom/host": ("headroom/host", "headroom/core", "headroom/tensors"),
    "headroom": ("headroom",),
    "nodes": ("nodes", "headroom"),
    "": ("nodes", "headroom"),
}
#: Packages that read model files; loaded inside the functions that need them.
LAZY_IN_CORE = {"safetensors", "gguf"}
ONE_SYSTEM_ONLY = {
    *("fcntl", "resource", "pwd", "grp", "spwd", "termios", "tty", "pty", "posix", "syslog", "crypt", "readline"),
    *("curses", "winreg", "winsound", "msvcrt", "_winapi"),
}
HEAVY = {"torch", "comfy", "aiohttp", "numpy", "PIL", "server", "folder_paths"}
DEVICE_MEMORY = {
    *("mem_get_info", "memory_stats", "memory_allocated", "max_memory_allocated", "memory_reserved"),
    *("max_memory_reserved", "reset_peak_memory_stats", "empty_cache", "current_allocated_memory"),
}
NEVER_REQUIRED = {"torch", "torchvision", "torchaudio", "torchsde", "numpy", "transformers"}
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60


@dataclass(frozen=True)
class Import:
    """One imported name: ``target`` is a dotted module, or a folder path of this pack where it is relative."""

    line: int
    target: str
    relative: bool
    at_import: bool

    @property
    def package(self) -> str:
        """The top package of an absolute import."""
        return self.target.partition(".")[0]


def walk(node: ast.AST, at_import: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, and whether it is executed when the module is imported."""
    for child in ast.iter_child_nodes(node):
        runs = at_import and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield child, runs
        yield from walk(child, runs)


def relative_targets(path: str, node: ast.ImportFrom) -> list[str]:
    """What ``from ..core import units`` in ``path`` means, as paths from the pack's root."""
    folder = PurePosixPath(path).parent
    for _ in range(node.level - 1):
        if folder == PurePosixPath("."):
            return ["(outside the pack)"]
        folder = folder.parent
    if node.module:
        return [str(folder.joinpath(*node.module.split(".")))]
    return [str(folder / alias.name) for alias in node.names]


def imports(path: str, tree: ast.AST) -> Iterator[Import]:
    """Every import of a file, wherever it stands."""
    for node, at_import in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, False, at_import)
        elif isinstance(node, ast.ImportFrom) and node.level:
            for target in relative_targets(path, node):
                yield Import(node.lineno, target, True, at_import)
        elif isinstance(node, ast.ImportFrom):
            yield Import(node.lineno, node.module or "", False, at_import)


def zone(path: str, table: dict[str, Any]) -> str | None:
    """The most specific folder of a table that a file lies in."""
    if "/" not in path:
        return "" if "" in table else None
    inside = [folder for folder in table if folder and (path.startswith(f"{folder}/"))]
    return max(inside, key=len, default=None)


def foreign_imports(path: str, tree: ast.AST) -> Iterator[str]:
    """Packages of others that this layer must not name."""
    folder = zone(path, OUTSIDE)
    allowed = OUTSIDE[folder] if folder is not None else None
    if allowed is None:
        return
    for found in imports(path, tree):
        if found.relative or found.package in sys.stdlib_module_names:
            continue
        lazy = path.startswith("headroom/core/") and found.package in LAZY_IN_CORE
        if lazy and not found.at_import:
            continue
        if not any(found.target == name or found.target.startswith(f"{name}.") for name in allowed):
            yield f"{path}:{found.line}: imports {found.target}" + (" at import time" if lazy else "")


def own_imports(path: str, tree: ast.AST) -> Iterator[str]:
    """Folders of this pack that this layer must not use, and imports of our own modules by a fixed name."""
    folder = zone(path, INSIDE)
    if folder is None:
        return
    for found in imports(path, tree):
        if found.relative:
            allowed = any(found.target == f or found.target.startswith(f"{f}/") for f in INSIDE[folder])
            if not allowed:
                yield f"{path}:{found.line}: imports {found.target}"
        elif found.package == "headroom" or (found.package == "nodes" and folder != "headroom/host"):
            yield f"{path}:{found.line}: imports {found.target} by name; the folder can be called anything"


def heavy_at_import(path: str, tree: ast.AST) -> Iterator[str]:
    """Slow packages loaded by an ``__init__.py``: nothing happens at import."""
    if PurePosixPath(path).name == "__init__.py":
        for found in imports(path, tree):
            if found.at_import and not found.relative and found.package in HEAVY:
                yield f"{path}:{found.line}: loads {found.target} at import"


def host_loaded_by_the_command_line(path: str, tree: ast.AST) -> Iterator[str]:
    """The host layer loaded by the command line at import: what it needs (psutil, a torch that loads) may be missing or
    broken, which is when a person runs a command. One that looks at the machine imports it when it runs."""
    if path.startswith("headroom/cli/") or path == "headroom/__main__.py":
        for found in imports(path, tree):
            if found.at_import and found.relative and f"{found.target}/".startswith("headroom/host/"):
                yield f"{path}:{found.line}: loads {found.target} at import"


def one_system_only(path: str, tree: ast.AST) -> Iterator[str]:
    """Modules that only one system has, loaded at import: the pack would not load elsewhere."""
    for found in imports(path, tree):
        if found.at_import and not found.relative and found.package in ONE_SYSTEM_ONLY:
            yield f"{path}:{found.line}: {found.target} at import time"


def prints(path: str, tree: ast.AST) -> Iterator[str]:
    """Calls of print; the log and the reports are for that."""
    for node, _ in walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield f"{path}:{node.lineno}: print"


def broad_excepts(path: str, tree: ast.AST) -> Iterator[str]:
    """``except:`` and ``except Exception`` outside the layer that talks to the host."""
    if path.startswith("headroom/host/"):
        return
    for node, _ in walk(tree):
        if isinstance(node, ast.ExceptHandler):
            names = {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)} if node.type else {"bare"}
            if names & {"bare", "Exception", "BaseException"}:
                yield f"{path}:{node.lineno}: a broad except"


def old_node_mappings(path: str, tree: ast.AST) -> Iterator[str]:
    """V1 mappings, which make the host ignore ``comfy_entrypoint``."""
    if path == "__init__.py":
        for node in ast.walk(tree):
            names = {node.id} if isinstance(node, ast.Name) else set()
            names |= {alias.asname or alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set()
            if "NODE_CLASS_MAPPINGS" in names:
                yield f"{path}:{getattr(node, 'lineno', 0)}: NODE_CLASS_MAPPINGS"


def long_functions(path: str, tree: ast.AST) -> Iterator[str]:
    """Functions that do not fit on a screen."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {lines} lines"


def device_memory(path: str, tree: ast.AST) -> Iterator[str]:
    """Reads and calls of a device's memory outside the layer that has the machine; the others get probes."""
    if path.startswith("headroom/host/"):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in DEVICE_MEMORY:
            yield f"{path}:{node.lineno}: {node.attr}"


Check = Callable[[str, ast.AST], Iterator[str]]

#: Each rule, and examples that break it: (the file it would stand in, the text).
RULES: dict[str, tuple[Check, list[tuple[str, str]]]] = {
    "foreign imports": (
        foreign_imports,
        [
            ("headroom/core/x.py", "import torch"),
            ("headroom/core/x.py", "def f():\n    from comfy import sd"),
            ("headroom/core/x.py", "import gguf"),
            ("headroom/tensors/x.py", "import comfy.model_management"),
            ("headroom/tensors/decode/x.py", "def f():\n    import psutil"),
            ("nodes/x.py", "import folder_paths"),
            ("nodes/x.py", "import torch"),
            ("nodes/x.py", "import comfy_api.v0_0_1"),
            ("__init__.py", "from server import PromptServer"),
            ("headroom/__main__.py", "import click"),
        ],
    ),
    "own imports": (
        own_imports,
        [
            ("headroom/core/x.py", "from ..host import devices"),
            ("headroom/core/x.py", "from .. import tensors"),
            ("headroom/tensors/decode/x.py", "from ...host.comfy import free"),
            ("headroom/host/x.py", "from ...nodes import NODES"),
            ("nodes/x.py", "from headroom.core import units"),
            ("headroom/core/x.py", "import headroom.core.units"),
            ("headroom/core/x.py", "from ....elsewhere import y"),
            ("__init__.py", "from nodes import NODES"),
        ],
    ),
    "heavy at import": (heavy_at_import, [("headroom/tensors/__init__.py", "if True:\n    import torch")]),
    "host on the command line": (
        host_loaded_by_the_command_line,
        [
            ("headroom/cli/x.py", "from ..host.environment import gather"),
            ("headroom/cli/x.py", "from .. import host"),
            ("headroom/__main__.py", "from .host import snapshot"),
        ],
    ),
    "one system only": (
        one_system_only,
        [("headroom/host/ram.py", "try:\n    import resource\nexcept ImportError: ...")],
    ),
    "print": (prints, [("headroom/core/x.py", "def f():\n    print(1)")]),
    "broad except": (
        broad_excepts,
        [
            ("nodes/x.py", "try: f()\nexcept: pass"),
            ("headroom/core/x.py", "try: f()\nexcept (ValueError, Exception): pass"),
            ("headroom/tensors/x.py", "try: f()\nexcept BaseException as error: pass"),
        ],
    ),
    "device memory": (
        device_memory,
        [("headroom/tensors/x.py", "import torch\ndef f():\n    torch.cuda.empty_cache()")],
    ),
    "V1 mappings": (
        old_node_mappings,
        [("__init__.py", "NODE_CLASS_MAPPINGS = {}"), ("__init__.py", "from .nodes import NODE_CLASS_MAPPINGS")],
    ),
    "long functions": (long_functions, [("headroom/core/x.py", "def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES)]),
}

#: What the rules allow on purpose.
ALLOWED = [
    ("headroom/core/x.py", "import json\nfrom .units import gib\ndef f():\n    import gguf"),
    (
        "headroom/tensors/decode/x.py",
        "import torch\nimport torch.nn\nfrom ...core.units import gib\nfrom ..finite import y",
    ),
    ("headroom/host/x.py", "import torch, psutil\nfrom nodes import VAEDecode\ntry: f()\nexcept Exception: pass"),
    ("headroom/host/x.py", "def f():\n    import resource"),
    ("headroom/cli/x.py", "from ..core import units\ndef f():\n    from ..host import devices"),
    ("nodes/x.py", "from comfy_api.latest import io\nfrom ..headroom.core.report import Report\nfrom .y import z"),
    ("__init__.py", "async def f():\n    from comfy_api.latest import io\n    from .nodes import NODES"),
]


def python_files() -> list[Path]:
    """The pack's own Python files, without tests and scripts."""
    folders = (REPO / "headroom", REPO / "nodes")
    return [REPO / "__init__.py", *sorted(path for folder in folders for path in folder.rglob("*.py"))]


def name_of(path: Path) -> str:
    """A file's path from the root, with slashes."""
    return path.relative_to(REPO).as_posix()


@pytest.mark.parametrize("rule", RULES)
def test_the_pack_keeps_the_rule(rule: str):
    check, _ = RULES[rule]
    faults = [fault for path in python_files() for fault in check(name_of(path), ast.parse(path.read_text("utf-8")))]
    assert faults == []


@pytest.mark.parametrize(
    ("rule", "path", "source"), [(r, *example) for r, (_, found) in RULES.items() for example in found]
)
def test_the_rule_can_fail(rule: str, path: str, source: str):
    check, _ = RULES[rule]
    assert list(check(path, ast.parse(source)))


@pytest.mark.parametrize(("path", "source"), ALLOWED)
def test_no_rule_forbids_what_is_meant(path: str, source: str):
    tree = ast.parse(source)
    assert [fault for check, _ in RULES.values() for fault in check(path, tree)] == []


def test_scripts_start_on_every_system():
    scripts = [path for path in (REPO / "scripts").iterdir() if path.is_file() and "python" in first_line(path)]
    scripts.append(REPO / "scripts" / "hostkit.py")
    assert len(scripts) > 1
    faults = [f for path in scripts for f in one_system_only(name_of(path), ast.parse(path.read_text("utf-8")))]
    assert faults == []


def first_line(path: Path) -> str:
    """The first line of a text file; empty for one that is not text."""
    return path.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")


# --- rules about the folder as a whole -------------------------------------------------------------------------------


def long_files(root: Path) -> Iterator[str]:
    """Files that one does not read in one go."""
    for folder in ("headroom", "nodes"):
        for path in (root / folder).rglob("*.py"):
            lines = len(path.read_text("utf-8").splitlines())
            if lines > MAX_FILE_LINES:
                yield f"{path.relative_to(root)}: {lines} lines"


def scripts_loaded_by_the_host(root: Path) -> Iterator[str]:
    """The host loads every ``*.js`` under ``js/``; all but one file are ``.mjs``."""
    found = sorted(path.relative_to(root).as_posix() for path in (root / "js").rglob("*.js"))
    if found != ["js/headroom.js"]:
        yield f"the host would load {found or 'nothing'}"


def workflow_folder(root: Path) -> Iterator[str]:
    """The host lists every .json here as a template, with the .jpg of the same name, under an unescaped name."""
    folder = root / "workflows"
    files = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    for name in sorted(files):
        stem, _, suffix = name.rpartition(".")
        partner = f"{stem}.jpg" if suffix == "json" else f"{stem}.json"
        if suffix not in {"json", "jpg"} or partner not in files:
            yield f"workflows/{name}: not a workflow with its thumbnail"
        if not re.fullmatch(r"[\w.-]+", name):
            yield f"workflows/{name}: the host does not escape such a name"
        if suffix == "json" and "nodes" not in json.loads((folder / name).read_text("utf-8")):
            yield f"workflows/{name}: not in the format of the user interface"
    for other in ("example_workflows", "example", "examples", "workflow"):
        if (root / other).exists():
            yield f"{other}/: the host serves only the first of two workflow folders"


def project(root: Path) -> dict[str, Any]:
    """pyproject.toml as a dict."""
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))


def web_folder_named_twice(root: Path) -> Iterator[str]:
    """``[tool.comfy] web`` beside WEB_DIRECTORY makes the host load every script twice."""
    if "web" in project(root).get("tool", {}).get("comfy", {}):
        yield "[tool.comfy] has web"


def requirements(root: Path) -> Iterator[str]:
    """Packages that an installer would replace under a running ComfyUI."""
    listed = (root / "requirements.txt").read_text("utf-8").splitlines() + project(root)["project"]["dependencies"]
    for line in listed:
        name = re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0].lower()
        if name in NEVER_REQUIRED:
            yield f"requires {name}"


def versions(root: Path) -> Iterator[str]:
    """The version stands in two files."""
    source = (root / "headroom" / "__init__.py").read_text("utf-8")
    stated = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if stated is None or stated[1] != project(root)["project"]["version"]:
        yield f"headroom says {stated and stated[1]}, pyproject.toml {project(root)['project']['version']}"


def packages_under_tests(root: Path) -> Iterator[str]:
    """An ``__init__.py`` under tests would give two test files of one name different module names."""
    for path in (root / "tests").rglob("__init__.py"):
        if "fakes" not in path.relative_to(root).parts:
            yield path.relative_to(root).as_posix()


def node_ids(root: Path) -> Iterator[tuple[str, str]]:
    """(file, node id) of every schema in nodes/; the id is empty where it is not a plain text."""
    for path in sorted((root / "nodes").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Schema":
                for keyword in node.keywords:
                    if keyword.arg == "node_id":
                        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else ""
                        yield path.name, str(value)


def node_help(root: Path) -> Iterator[str]:
    """Every node has an id that never changes, starts with Headroom and has a help page."""
    seen: set[str] = set()
    for file, node_id in node_ids(root):
        if not node_id.startswith("Headroom") or node_id in seen:
            yield f"nodes/{file}: the node id {node_id!r} is not a plain text of its own that starts with Headroom"
        elif not (root / "js" / "docs" / f"{node_id}.md").is_file():
            yield f"nodes/{file}: no js/docs/{node_id}.md"
        seen.add(node_id)


def scripts_that_pyright_misses(root: Path) -> Iterator[str]:
    """pyright finds only .py files by itself."""
    named = project(root)["tool"]["pyright"]["include"]
    for path in sorted((root / "scripts").iterdir()):
        if path.is_file() and not path.suffix and "python" in first_line(path) and f"scripts/{path.name}" not in named:
            yield f"scripts/{path.name} is not in pyright's include"


PROJECT = '[project]\nversion = "1.0"\ndependencies = []\n[tool.pyright]\ninclude = []\n'

#: Each rule, and a folder that breaks it: path -> text.
TREE_RULES: dict[str, tuple[Callable[[Path], Iterator[str]], list[dict[str, str]]]] = {
    "file length": (long_files, [{"headroom/core/x.py": "x = 1\n" * (MAX_FILE_LINES + 1)}]),
    "one script": (scripts_loaded_by_the_host, [{"js/headroom.js": "", "js/parts/more.js": ""}, {"js/x.mjs": ""}]),
    "workflows": (
        workflow_folder,
        [
            {"workflows/a.json": '{"nodes": []}'},
            {"workflows/a.json": '{"1": {"class_type": "X"}}', "workflows/a.jpg": ""},
            {"workflows/a b.json": '{"nodes": []}', "workflows/a b.jpg": ""},
            {"workflows/README.md": ""},
            {"example_workflows/a.json": "{}"},
        ],
    ),
    "web": (web_folder_named_twice, [{"pyproject.toml": PROJECT + '[tool.comfy]\nweb = "js"\n'}]),
    "requirements": (
        requirements,
        [
            {"pyproject.toml": PROJECT, "requirements.txt": "numpy>=1.2\n"},
            {"pyproject.toml": PROJECT.replace("[]", '["torch"]', 1), "requirements.txt": ""},
        ],
    ),
    "versions": (versions, [{"pyproject.toml": PROJECT, "headroom/__init__.py": '__version__ = "1.1"\n'}]),
    "tests": (packages_under_tests, [{"tests/core/__init__.py": ""}]),
    "node help": (
        node_help,
        [
            {"nodes/x.py": 'io.Schema(node_id="HeadroomX")'},
            {"nodes/x.py": 'io.Schema(node_id="Other")', "js/docs/Other.md": ""},
            {"nodes/x.py": "io.Schema(node_id=NAME)"},
            {
                "nodes/x.py": 'io.Schema(node_id="HeadroomX")',
                "nodes/y.py": 'io.Schema(node_id="HeadroomX")',
                "js/docs/HeadroomX.md": "",
            },
        ],
    ),
    "types of scripts": (
        scripts_that_pyright_misses,
        [{"pyproject.toml": PROJECT, "scripts/new": "#!/usr/bin/env python3\n"}],
    ),
}


@pytest.mark.parametrize("rule", TREE_RULES)
def test_the_folder_keeps_the_rule(rule: str):
    check, _ = TREE_RULES[rule]
    assert list(check(REPO)) == []


@pytest.mark.parametrize(("rule", "files"), [(r, example) for r, (_, found) in TREE_RULES.items() for example in found])
def test_the_folder_rule_can_fail(rule: str, files: dict[str, str], tmp_path: Path):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    check, _ = TREE_RULES[rule]
    assert list(check(tmp_path))
