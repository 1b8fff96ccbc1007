"""What ``doctor`` gathers from outside of ComfyUI: process lists, buses, meminfo, folders and metadata made for it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from headroom.core.environment.readings import Running, Torch
from headroom.core.errors import HeadroomError
from headroom.core.readings import Ram
from headroom.host.environment import folder, machine, memory, packages, processes, torch_build

KIB = 1024
GIB = 2**30


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def comfyui(at: Path, version: str = "0.30.0") -> Path:
    write(at / "main.py")
    write(at / "comfyui_version.py", f'__version__ = "{version}"\n')
    return at


def forget(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is imported anew, and what it was before is there again after the test."""
    monkeypatch.setitem(sys.modules, name, None)
    del sys.modules[name]


# --- the machine ------------------------------------------------------------------------------------------------------


def device(root: Path, place: str, vendor: str, kind: str) -> None:
    write(root / "sys/bus/pci/devices" / place / "vendor", f"{vendor}\n")
    write(root / "sys/bus/pci/devices" / place / "class", f"{kind}\n")


def test_makes_are_those_of_display_adapters(tmp_path: Path):
    """An NVIDIA sound device and an Intel bridge are no card; a 3D controller (0x0302) is one."""
    device(tmp_path, "0000:00:02.0", "0x8086", "0x030000")
    device(tmp_path, "0000:01:00.0", "0x10de", "0x030200")
    device(tmp_path, "0000:01:00.1", "0x10de", "0x040300")
    device(tmp_path, "0000:02:00.0", "0x1002", "0x060400")
    device(tmp_path, "0000:03:00.0", "0x1a03", "0x030000")
    assert machine.gpu_makes(tmp_path) == ("intel", "nvidia")


def test_no_list_of_the_bus_is_unknown_and_an_empty_one_is_none(tmp_path: Path):
    assert machine.gpu_makes(tmp_path) is None
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    assert machine.gpu_makes(tmp_path) == ()


def test_a_container_is_told_by_the_files_of_docker_and_podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert machine.in_container(tmp_path) is False
    write(tmp_path / "run/.containerenv")
    assert machine.in_container(tmp_path) is True


def test_the_library_that_windows_hands_over(tmp_path: Path):
    """microsoft/WSL #9254."""
    assert machine.wsl_libcuda(tmp_path) is False
    write(tmp_path / "usr/lib/wsl/lib/libcuda.so.1")
    assert machine.wsl_libcuda(tmp_path) is True


def test_amds_device_can_be_there_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert machine.kfd(tmp_path) == "missing"
    write(tmp_path / "dev/kfd")
    assert machine.kfd(tmp_path) == "there"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert machine.kfd(tmp_path) == "denied"


def test_only_variables_that_matter_are_read():
    """HF_TOKEN and the like are never looked at."""
    given = {"CUDA_VISIBLE_DEVICES": "", "HF_TOKEN": "hf_x", "PATH": "/bin"}
    assert machine.variables(given) == {"CUDA_VISIBLE_DEVICES": ""}


def test_disks_are_those_of_comfyuis_folders(tmp_path: Path):
    """The temp folder is there only while ComfyUI runs."""
    (tmp_path / "models").mkdir()
    found = machine.disks(tmp_path)
    free = shutil.disk_usage(tmp_path).free
    assert [disk.folder for disk in found] == ["models", "output", "temp"]
    assert all(abs(disk.free_bytes - free) < GIB for disk in found)


# --- memory without psutil --------------------------------------------------------------------------------------------

MEMINFO = "MemTotal:       32768 kB\nMemFree: 1 kB\nMemAvailable:   16384 kB\nSwapTotal:  8192 kB\nSwapFree:  2048 kB\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has an API for it: only on Linux")
def test_memory_is_read_where_psutil_is_missing(tmp_path: Path):
    write(tmp_path / "proc/meminfo", MEMINFO)
    missing = Ram(oom_kills=3, reasons={"machine_bytes": "no psutil", "own_bytes": "no psutil"})
    found = memory.without_psutil(missing, tmp_path)
    assert (found.total_bytes, found.available_bytes) == (32768 * KIB, 16384 * KIB)
    assert (found.swap_total_bytes, found.swap_used_bytes, found.oom_kills) == (8192 * KIB, 6144 * KIB, 3)
    assert found.reasons == {"own_bytes": "no psutil"}


@pytest.mark.skipif(sys.platform == "win32", reason="control groups: only on Linux")
def test_a_containers_limit_counts_there_too(tmp_path: Path):
    """ComfyUI #14938: what the machine has is not what the container may use."""
    write(tmp_path / "proc/meminfo", MEMINFO)
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    write(tmp_path / "proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n")
    write(tmp_path / "sys/fs/cgroup/memory.max", f"{20000 * KIB}\n")
    write(tmp_path / "sys/fs/cgroup/memory.current", f"{5000 * KIB}\n")
    found = memory.without_psutil(Ram(), tmp_path)
    assert (found.total_bytes, found.machine_bytes, found.limit_source) == (20000 * KIB, 32768 * KIB, "cgroup v2")
    assert found.available_bytes == 15000 * KIB


def test_what_psutil_gave_stays(tmp_path: Path):
    known = Ram(total_bytes=5, machine_bytes=7)
    assert memory.without_psutil(known, tmp_path) is known


# --- processes --------------------------------------------------------------------------------------------------------


def process(root: Path, pid: int, parent: int, words: list[str], cwd: Path | None) -> None:
    entry = root / "proc" / str(pid)
    write(entry / "cmdline", "".join(f"{word}\0" for word in words))
    write(entry / "stat", f"{pid} (python (x) y) S {parent} 1 1 0\n")
    if cwd is not None:
        (entry / "cwd").symlink_to(cwd)


@pytest.fixture
def no_psutil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)


@pytest.mark.usefixtures("no_psutil")
def test_comfyuis_are_told_from_other_programs(tmp_path: Path):
    """By the folder that main.py lies in; another program's main.py is none, and a launcher with its child is one."""
    here, other = comfyui(tmp_path / "ComfyUI"), comfyui(tmp_path / "old", "0.18.2")
    process(tmp_path, 50, 1, ["python", "main.py", "--port", "8190"], here)
    process(tmp_path, 51, 50, ["python", "main.py", "--port", "8190"], here)
    process(tmp_path, 60, 1, ["python", "-s", str(other / "main.py")], None)
    process(tmp_path, 70, 1, ["python", "main.py"], write(tmp_path / "webapp/main.py").parent)
    process(tmp_path, 80, 1, ["python", "main.py", "--port=8195"], None)
    write(tmp_path / "proc/90/status")
    write(tmp_path / "proc/uptime")
    assert processes.running(here, tmp_path) == (
        Running(50, "ComfyUI", 8190, "0.30.0", looked_at=True),
        Running(60, "old", 8188, "0.18.2", looked_at=False),
    )


@pytest.mark.usefixtures("no_psutil")
def test_another_users_process_is_not_taken_for_one_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its folder cannot be read, and doctor itself may stand in a ComfyUI folder."""
    monkeypatch.chdir(comfyui(tmp_path / "ComfyUI"))
    process(tmp_path, 80, 1, ["python", "main.py"], None)
    assert processes.running(None, tmp_path) == ()


@pytest.mark.usefixtures("no_psutil")
def test_without_psutil_and_proc_nobody_knows(tmp_path: Path):
    assert processes.running(None, tmp_path) is None


# --- the folder -------------------------------------------------------------------------------------------------------


def test_the_given_folder_is_the_one_with_main_py(tmp_path: Path):
    inside = comfyui(tmp_path / "portable" / "ComfyUI")
    assert folder.find(str(inside)) == (inside, "--comfyui")
    assert folder.find(str(tmp_path / "portable")) == (inside, "--comfyui")
    with pytest.raises(HeadroomError, match=r"name the folder that main\.py lies in"):
        folder.find(str(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights: only on Linux")
def test_a_pack_that_is_linked_into_custom_nodes_is_in_that_comfyui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The shell's own word for the folder: the system's is that of the clone."""
    around = comfyui(tmp_path / "ComfyUI")
    clone = tmp_path / "clone"
    clone.mkdir()
    (around / "custom_nodes").mkdir()
    link = around / "custom_nodes" / "headroom"
    link.symlink_to(clone, target_is_directory=True)
    monkeypatch.chdir(clone)
    monkeypatch.setenv("PWD", str(link))
    assert folder.find(None) == (around, "around this pack")


def test_its_files_are_read_and_not_run(tmp_path: Path):
    """Nothing of a ComfyUI that may be broken is imported. With the byte order mark of Windows' editor."""
    around = comfyui(tmp_path / "ComfyUI", "0.27.0")
    (around / "requirements.txt").write_bytes(b"\xef\xbb\xbfcomfy-aimdo==0.4.8\r\ntorch\r\n")
    write(tmp_path / "python_embeded" / "python.exe")
    found = folder.read(around, "--comfyui")
    assert (found.folder, found.version) == ("ComfyUI", "0.27.0")
    assert [(one.name, one.demand) for one in found.requirements or ()] == [("comfy-aimdo", "==0.4.8"), ("torch", "")]
    assert (found.pythons, found.own_python) == (("../python_embeded/python.exe",), False)


def test_this_python_is_known_for_comfyuis_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    around = comfyui(tmp_path / "ComfyUI")
    assert folder.read(around, "").own_python is None
    write(around / "venv" / "bin" / "python")
    monkeypatch.setattr(sys, "prefix", str(around / "venv"))
    assert folder.read(around, "").own_python is True


# --- packages and torch -----------------------------------------------------------------------------------------------


def test_packages_stand_in_the_order_of_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """comfyui-rocm #131: the user's own folder stands first. Broken metadata is passed over."""
    for place, version in (("user", "2.13.0+cpu"), ("site", "2.14.1")):
        metadata = f"Metadata-Version: 2.1\nName: Torch\nVersion: {version}\nRequires-Dist: numpy<3\n"
        write(tmp_path / place / f"torch-{version}.dist-info" / "METADATA", metadata)
    write(tmp_path / "site" / "broken-1.dist-info" / "RECORD")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "user"), str(tmp_path / "site")])
    monkeypatch.setattr(packages.site, "getusersitepackages", lambda: str(tmp_path / "user"))
    found = packages.read_packages()
    assert [(one.name, one.version, one.place, one.requires) for one in found] == [
        ("torch", "2.13.0+cpu", "user", ("numpy<3",)),
        ("torch", "2.14.1", "environment", ("numpy<3",)),
    ]


@pytest.mark.parametrize(("file", "answer"), [("pynvml.py", False), ("pynvml/__init__.py", True)])
def test_an_old_pynvml_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, answer: bool):
    """gpustat #147. It is found, not imported: it would raise."""
    write(tmp_path / file, "raise RuntimeError")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    forget("pynvml", monkeypatch)
    assert packages.pynvml_is_folder() is answer


def test_a_torch_that_cannot_be_loaded_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """ComfyUI #4172: its first line; the name of what is missing is in it."""
    write(tmp_path / "torch.py", "raise OSError('[WinError 126] not found\\nsecond line')")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    forget("torch", monkeypatch)
    assert torch_build.read_torch() == Torch(None, "OSError: [WinError 126] not found")


def test_no_torch_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    forget("torch", monkeypatch)
    assert torch_build.read_torch() == Torch()


def test_torchs_own_words_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As torch 2.14.1 warns: c10/cuda/CUDAFunctions.cpp."""
    text = "CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). Please update"
    write(
        tmp_path / "torch.py",
        "import warnings\n"
        "def ask():\n"
        f"    warnings.warn({text!r} + '  your GPU. (Triggered internally at /pytorch/CUDAFunctions.cpp:109.)')\n"
        "    return False\n"
        "class cuda: is_available = staticmethod(ask)\n"
        "class version: hip, cuda, xpu = None, '13.0', None\n"
        "class _C: _cuda_getArchFlags = staticmethod(lambda: 'sm_75 sm_120')\n"
        "__version__ = '2.14.1+cu130'\n",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    forget("torch", monkeypatch)
    found = torch_build.read_torch()
    assert found == Torch("2.14.1+cu130", None, "cuda", "13.0", False, 0, ("sm_75", "sm_120"), f"{text} your GPU.")
