"""The pack is loaded as ComfyUI loads it: from a folder of any name, by the real host, by an older one, and by none.

Each test works in a process of its own, since what is already imported is the point.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import hostkit
import pytest

SOURCES = sorted((hostkit.REPO / "nodes").glob("*.py"))
NODE_IDS = sorted(found for path in SOURCES for found in re.findall(r'node_id="(\w+)"', path.read_text("utf-8")))
#: A plain folder, a repository's name, and one with a dot and spaces in it.
FOLDERS = ["headroom", "ComfyUI-Headroom", "My Pack 1.2"]

#: Imports the pack from a folder, under the module name that ComfyUI's nodes.py gives it.
LOAD = """
import asyncio, importlib.util, json, logging, os, sys

def load(folder):
    name = folder.replace(".", "_x_")
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, "__init__.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
"""

IN_HOST = """
import asyncio, json, logging, sys
sys.path.insert(0, HOST)
sys.argv = ["main.py", "--cpu"]
import comfy.options
comfy.options.enable_args_parsing()
import nodes

problems = []
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: problems.append(record.getMessage())
logging.getLogger().addHandler(handler)
answer = {}
for folder in FOLDERS:
    before, served = set(nodes.NODE_CLASS_MAPPINGS), dict(nodes.EXTENSION_WEB_DIRS)
    loaded = asyncio.run(nodes.load_custom_node(folder, module_parent="custom_nodes"))
    ids = sorted(set(nodes.NODE_CLASS_MAPPINGS) - before)
    web = {key: path for key, path in nodes.EXTENSION_WEB_DIRS.items() if key not in served}
    answer[folder] = {"loaded": loaded, "ids": ids, "web": web}
    for node_id in ids:
        del nodes.NODE_CLASS_MAPPINGS[node_id]
sys.stdout.write("\\n" + json.dumps({"folders": answer, "problems": problems}))
"""


def run_python(python: Path | str, code: str, **values: Any) -> Any:
    """Runs code with these values in a fresh process; its last line of output is JSON."""
    setup = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    done = subprocess.run(
        [str(python), "-c", setup + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=hostkit.REPO.parent,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def loaded_by_host(host: hostkit.Host, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the host's own loader made of each folder; one start of the host for all."""
    custom_nodes = tmp_path_factory.mktemp("custom_nodes")
    folders = [str(hostkit.link_pack(custom_nodes, name)) for name in FOLDERS]
    answer = run_python(host.python, IN_HOST, HOST=str(host.path), FOLDERS=folders)
    answer["folders"] = {Path(folder).name: found for folder, found in answer["folders"].items()}
    return answer


@pytest.mark.parametrize("name", FOLDERS)
def test_the_host_loads_the_pack_from_a_folder_of_any_name(loaded_by_host: dict[str, Any], name: str):
    found = loaded_by_host["folders"][name]
    assert found["loaded"]
    assert found["ids"] == NODE_IDS
    assert {"HeadroomLatentGuard", "HeadroomVAEDecode"} <= set(NODE_IDS)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_scripts_are_served_once_under_the_folders_name(loaded_by_host: dict[str, Any], name: str):
    web = loaded_by_host["folders"][name]["web"]
    assert list(web) == [name]
    assert web[name].endswith("js")


def test_loading_leaves_nothing_in_the_log(loaded_by_host: dict[str, Any]):
    assert loaded_by_host["problems"] == []


ALONE = (
    LOAD
    + """
before = set(sys.modules)
module = load(FOLDER)
sys.stdout.write(json.dumps({
    "all": sorted(module.__all__),
    "web": module.WEB_DIRECTORY,
    "packages": sorted({name.partition(".")[0] for name in set(sys.modules) - before}),
    "imported": sorted(name.partition(".")[0] for name in sys.modules),
    "threads": __import__("threading").active_count(),
}))
"""
)


def test_importing_the_pack_needs_no_host_and_loads_nothing_heavy():
    found = run_python(sys.executable, ALONE, FOLDER=str(hostkit.REPO))
    assert found["all"] == ["WEB_DIRECTORY", "comfy_entrypoint"]
    assert (hostkit.REPO / found["web"] / "headroom.js").is_file()
    heavy = {"torch", "numpy", "comfy", "comfy_api", "aiohttp", "server", "folder_paths", "psutil", "safetensors"}
    assert heavy.isdisjoint(found["imported"])
    assert found["threads"] == 1


#: The version alone decides: nodes that a stand-in for the real host could not make are replaced by a text.
WITH_VERSION = (
    LOAD
    + """
sys.path.insert(0, HOST)
compat = importlib.import_module(load(FOLDER).__name__ + ".headroom.host.compat")
extension = compat.extension_for(lambda: ("a node",))
sys.stdout.write(json.dumps(asyncio.run(extension.get_node_list())))
"""
)

#: The least of a host that the check of its version needs; no nodes could be made with it.
OLD_HOST = {
    "comfyui_version.py": '__version__ = "{version}"\n',
    "comfy_api/__init__.py": "",
    "comfy_api/latest/__init__.py": "class ComfyExtension:\n    pass\n",
}

IN_OLD_HOST = (
    LOAD
    + """
sys.path.insert(0, HOST)
lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append([record.levelname, record.getMessage()])
logging.getLogger().addHandler(handler)
logging.getLogger().setLevel(logging.INFO)

async def start():
    extension = await load(FOLDER).comfy_entrypoint()
    return len(await extension.get_node_list())

sys.stdout.write(json.dumps({"nodes": asyncio.run(start()), "lines": lines}))
"""
)


def stand_in_host(folder: Path, version: str) -> str:
    """A folder that the pack takes for a ComfyUI of this version."""
    for name, text in OLD_HOST.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.format(version=version), "utf-8")
    return str(folder)


@pytest.mark.parametrize("version", ["0.16.2", "0.3.75", "0.16"])
def test_a_host_that_is_too_old_gets_one_line_and_no_nodes(version: str, tmp_path: Path):
    """``0.16`` is older than 0.16.3 too; a trace instead of the line would say nothing to the user."""
    host = stand_in_host(tmp_path, version)
    found = run_python(sys.executable, IN_OLD_HOST, HOST=host, FOLDER=str(hostkit.REPO))
    assert found["nodes"] == 0
    assert found["lines"] == [
        ["ERROR", f"Headroom needs ComfyUI 0.16.3 or newer; this is {version}. Update ComfyUI to use its nodes."]
    ]


@pytest.mark.parametrize("version", ["0.16.3", "0.16.10", "0.30.0", "1.0", "0.31.0rc1", "nightly"])
def test_a_host_that_is_new_enough_or_does_not_say_gets_the_nodes(version: str, tmp_path: Path):
    """A version that cannot be read is no reason to leave the user without nodes."""
    host = stand_in_host(tmp_path, version)
    assert run_python(sys.executable, WITH_VERSION, HOST=host, FOLDER=str(hostkit.REPO)) == ["a node"]
