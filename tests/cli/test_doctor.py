"""``headroom doctor`` as a process: in a bare Python, in ComfyUI's, with a driver that is played, over HTTP."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hostkit
import pytest
from comfy_server import ComfyServer, Servers

if TYPE_CHECKING:
    from fakes.nvml.build import FakeDriver

REPO = Path(__file__).resolve().parent.parent.parent
#: A Python without site-packages that reads nothing of the user's environment.
BARE = ("-I", "-S", "headroom")
ABSOLUTE = re.compile(r"(?:^|[\s=,\"'(])(?:/(?!dev/kfd|usr/lib/wsl)\w|\\\\|[A-Za-z]:[\\/](?!/))")


def run(*args: str, cwd: Path = REPO, start: tuple[str, ...] = BARE, python: Path | str = sys.executable, **env: str):
    """The command; ``env`` on top of this process's environment."""
    return subprocess.run(
        [str(python), *start, "doctor", *args],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
    )


def answer(*args: str, **options: Any) -> dict[str, Any]:
    """Its JSON."""
    done = run(*args, "--json", **options)
    assert done.returncode in {0, 1}, done.stderr
    assert done.stdout.isascii()
    return json.loads(done.stdout)


def ids(report: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in report["findings"]]


def unseen(report: dict[str, Any]) -> list[str]:
    return [one["what"] for one in report["not_looked_at"]]


def texts(found: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, list | dict):
        for one in found if isinstance(found, list) else found.values():
            yield from texts(one)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    """The fake NVIDIA driver, compiled once."""
    from fakes.nvml.build import build

    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def comfyui(tmp_path: Path) -> Path:
    """A ComfyUI folder as the checks see it, with a blank in its path."""
    folder = tmp_path / "My ComfyUI"
    (folder / "custom_nodes").mkdir(parents=True)
    (folder / "main.py").write_text("raise RuntimeError('nothing of ComfyUI is run')\n", "utf-8")
    (folder / "comfyui_version.py").write_text('__version__ = "0.30.0"\n', "utf-8")
    (folder / "requirements.txt").write_text("comfy-aimdo==0.4.11\ntorch\nnumpy>=1.25.0\n", "utf-8")
    return folder


def torch_in(folder: Path, version: str, source: str) -> Path:
    """A torch that is played: an installed package of that version, which runs ``source`` when it is imported."""
    info = folder / f"torch-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n", "utf-8")
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(source, "utf-8")
    return folder


CPU_TORCH = """
class _Mps:
    is_built = staticmethod(lambda: False)
class backends: mps = _Mps
class version: cuda = hip = xpu = None
class _C: pass
class cuda: is_available = staticmethod(lambda: False)
__version__ = "2.14.1+cpu"
"""


# --- without anything -------------------------------------------------------------------------------------------------


def test_a_bare_python_tells_what_it_can_and_what_it_could_not_look_at() -> None:
    done = run()
    assert done.stderr == ""
    assert "  torch: this Python " in done.stdout
    assert "  ComfyUI's folder: this pack lies in none; name one with --comfyui PATH" in done.stdout
    assert re.search(r"^  Python: 3\.\d+\.\d+ \(", done.stdout, re.MULTILINE)
    assert re.search(r"^  RAM: \d+\.\d.GiB, \d", done.stdout, re.MULTILINE)
    assert re.search(r"^  NVIDIA driver: ", done.stdout, re.MULTILINE)


def test_its_json_has_the_fields_of_the_interface() -> None:
    report = answer()
    assert set(report) == {"headroom", "asked", "findings", "not_looked_at", "environment", "snapshot"}
    assert report["asked"] == "this machine"
    assert set(report["environment"]) == {
        *("python", "machine", "packages", "package_count", "torch", "driver", "comfyui", "pynvml_is_folder"),
    }
    assert report["environment"]["torch"]["version"] is None
    assert report["snapshot"]["ram"]["total_bytes"] > 2**30


def test_the_exit_status_is_1_exactly_where_there_is_a_finding() -> None:
    done = run("--json")
    assert done.returncode == (1 if json.loads(done.stdout)["findings"] else 0)
    done = run()
    assert done.returncode == (0 if "Fine: nothing to say." in done.stdout else 1)


@pytest.mark.parametrize("start", [("-m", "headroom"), ("headroom",), ("-I", "headroom"), ("-I", "-B", "headroom")])
def test_it_starts_in_every_way_from_a_folder_with_blanks(comfyui: Path, start: tuple[str, ...]) -> None:
    """As it is installed; the pack's own code and ComfyUI's are not run."""
    pack = comfyui / "custom_nodes" / "My Pack 1.2"
    shutil.copytree(REPO / "headroom", pack / "headroom", ignore=shutil.ignore_patterns("__pycache__"))
    (pack / "__init__.py").write_text("raise RuntimeError('the pack itself is not loaded')\n", "utf-8")
    found = answer(cwd=pack, start=("-S", *start))["environment"]["comfyui"]
    assert (found["folder"], found["version"], found["origin"]) == ("My ComfyUI", "0.30.0", "around this pack")


def test_other_commands_start_without_the_host_layer() -> None:
    """Where psutil or torch are broken, `flags` still answers."""
    code = (
        "import sys; sys.path.insert(0, '.'); sys.argv = ['headroom', 'flags', 'python main.py']\n"
        "from headroom.cli import main\n"
        "main()\n"
        "print([name for name in sys.modules if name.startswith(('headroom.host', 'torch', 'psutil'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_console_without_utf_8_shows_it(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "headroom", "doctor"],
        cwd=REPO,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert done.stderr == b""
    assert b"RAM: " in done.stdout
    assert "\\x" not in done.stdout.decode(encoding)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--comfyui", "nowhere"], "There is no ComfyUI in nowhere"),
        (["--url", "ftp://127.0.0.1"], "is no address of a ComfyUI"),
        (["--url", "http://127.0.0.1:x"], "is no address of a ComfyUI"),
        (["--url", "http://alice:secret@127.0.0.1:1"], "Leave the user name and password out"),
        (["--url", "http://127.0.0.1:1"], "No ComfyUI answers at http://127.0.0.1:1"),
        (["--url", "8188", "--comfyui", "."], "not allowed with"),
    ],
)
def test_bad_input(args: list[str], said: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


# --- a ComfyUI folder -------------------------------------------------------------------------------------------------


def test_a_comfyui_without_torch_here_is_a_finding(comfyui: Path) -> None:
    """ComfyUI-Manager #1667: the wrong Python."""
    report = answer("--comfyui", str(comfyui))
    assert ids(report)[0] == "torch-missing"
    assert {"models", "output", "temp"} == {disk["folder"] for disk in report["environment"]["machine"]["disks"]}


def test_the_environment_beside_comfyui_is_the_one_to_ask(comfyui: Path) -> None:
    """And nothing is said of packages that another Python lacks."""
    interpreter = comfyui / "venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text("", "utf-8")
    report = answer("--comfyui", str(comfyui))
    assert ids(report)[0] == "other-python"
    assert report["findings"][0]["command"] == f'venv/bin/python "custom_nodes/{REPO.name}/headroom" doctor'
    assert not {"comfy-package", "requirements", "torch-missing"} & set(ids(report))
    assert "ComfyUI's torch and packages" in unseen(report)


def test_the_portable_builds_root_will_do(comfyui: Path) -> None:
    """A person names the folder that was unpacked, and ComfyUI lies in it."""
    root = comfyui.parent / "portable"
    root.mkdir()
    comfyui.rename(root / "ComfyUI")
    assert answer("--comfyui", str(root))["environment"]["comfyui"]["folder"] == "ComfyUI"


def test_in_comfyuis_python_torch_is_asked_and_packages_are_compared(host: hostkit.Host) -> None:
    """The real ComfyUI, its real Python and its real requirements: all are met."""
    report = answer("--comfyui", str(host.path), start=("headroom",), python=host.python)
    found = report["environment"]
    assert (found["torch"]["built_for"] is not None, found["torch"]["error"]) == (True, None)
    assert found["torch"]["version"].startswith(found["packages"]["torch"].partition("+")[0])
    assert found["comfyui"]["version"] == host.version
    asked = {one["name"]: one["demand"] for one in found["comfyui"]["requirements"]}
    assert found["packages"]["comfyui-frontend-package"] == asked["comfyui-frontend-package"].removeprefix("==")
    assert not {"comfy-package", "comfy-content", "comfy-package-newer", "requirements", "numpy-demand"} & set(
        ids(report)
    )
    assert "torch" not in unseen(report)


def test_torch_gets_no_context_on_a_card(host: hostkit.Host) -> None:
    """A look must not take 500 MiB of the card that the person runs out of."""
    code = (
        "import sys; sys.path.append('.')\n"
        "from headroom.host.environment import gather\n"
        "environment, _ = gather()\n"
        "import torch\n"
        "print(environment.torch.built_for is not None, torch.cuda.is_initialized())"
    )
    done = subprocess.run(
        [str(host.python), "-P", "-c", code] if sys.version_info >= (3, 11) else [str(host.python), "-c", code],
        cwd=REPO,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "True False"


def test_an_old_package_of_comfyui_is_told_with_the_command(comfyui: Path, host: hostkit.Host) -> None:
    """Easy-Install #182: ComfyUI was updated and its requirements were not."""
    (comfyui / "requirements.txt").write_text("comfy-aimdo==99.0\nno-such-package>=1\n", "utf-8")
    report = answer("--comfyui", str(comfyui), start=("headroom",), python=host.python)
    found = {finding["id"]: finding for finding in report["findings"]}
    assert found["comfy-package"]["command"] == 'python -m pip install "comfy-aimdo==99.0"'
    assert found["requirements"]["params"]["packages"] == ["no-such-package>=1 (missing)"]


# --- the driver -------------------------------------------------------------------------------------------------------


def with_driver(driver: FakeDriver, scenario: str) -> dict[str, str]:
    driver.play(scenario)
    return driver.environment()


def test_a_driver_and_a_torch_for_the_cpu(driver: FakeDriver, comfyui: Path, tmp_path: Path) -> None:
    """ComfyUI #2427, #7932: "Torch not compiled with CUDA enabled"."""
    site = torch_in(tmp_path / "site", "2.14.1+cpu", CPU_TORCH)
    environment = with_driver(driver, "healthy")
    done = run("--comfyui", str(comfyui), start=("-S", "headroom"), PYTHONPATH=str(site), **environment)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2] == "Problem: This torch is a CPU build: 2.14.1+cpu"
    assert (
        "      python -m pip install torch torchvision torchaudio --index-url https://download.pytorch" in done.stdout
    )
    assert "  GPU 0: NVIDIA GeForce RTX 4090" in done.stdout


def test_the_driver_is_read_without_any_package(driver: FakeDriver) -> None:
    found = answer(**with_driver(driver, "two_cards"))["environment"]["driver"]
    assert (found["code"], found["version"]) == (0, "580.95.05")
    assert [(card["name"], card["capability"]) for card in found["cards"]] == [
        ("NVIDIA GeForce RTX 3060", [8, 6]),
        ("NVIDIA GeForce RTX 4090", [8, 9]),
    ]


def test_a_driver_that_was_updated_under_a_running_system(driver: FakeDriver) -> None:
    """MEM-18, gpustat #147. Told once, with and without nvidia-ml-py; the memory is still shown."""
    environment = with_driver(driver, "mismatch")
    for start in (BARE, ("headroom",)):
        report = answer(start=start, **environment)
        assert report["environment"]["driver"]["code"] == 18
        assert ids(report)[0] == "driver-mismatch"
        assert ids(report).count("driver-mismatch") == 1
        assert report["findings"][0]["command"] == "sudo reboot"
        assert report["snapshot"]["ram"]["total_bytes"] > 2**30


def test_a_name_that_is_not_utf_8(driver: FakeDriver) -> None:
    """MEM-06, gpustat #170: WSL with drivers 555.85 and 555.99."""
    (card,) = answer(**with_driver(driver, "bad_name"))["environment"]["driver"]["cards"]
    assert card["name"].endswith("NVIDIA GeForce RTX 4090")


def test_real_torch_sees_the_card_that_the_driver_lists(driver: FakeDriver, host: hostkit.Host) -> None:
    """Then nothing is said about torch."""
    environment = {**with_driver(driver, "healthy"), "PYTORCH_NVML_BASED_CUDA_CHECK": "1", "CUDA_VISIBLE_DEVICES": "0"}
    report = answer("--comfyui", str(host.path), start=("headroom",), python=host.python, **environment)
    if report["environment"]["torch"]["built_for"] != "cuda":
        pytest.skip("needs a torch that is built for an NVIDIA GPU")
    assert report["environment"]["torch"]["sees_gpu"] is True
    assert not {"torch-blind", "torch-cpu-build", "driver-missing", "gpu-hidden", "no-gpu"} & set(ids(report))
    assert [one["name"] for one in report["snapshot"]["devices"]] == ["NVIDIA GeForce RTX 4090"]


def test_real_torch_and_a_variable_that_hides_the_card(driver: FakeDriver, host: hostkit.Host) -> None:
    environment = {**with_driver(driver, "healthy"), "CUDA_VISIBLE_DEVICES": "-1"}
    report = answer("--comfyui", str(host.path), start=("headroom",), python=host.python, **environment)
    if report["environment"]["torch"]["built_for"] != "cuda":
        pytest.skip("needs a torch that is built for an NVIDIA GPU")
    assert ids(report)[0] == "gpu-hidden"
    assert report["environment"]["machine"]["variables"]["CUDA_VISIBLE_DEVICES"] == "-1"


# --- what may be pasted -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [(), ("--json",)])
def test_nothing_of_the_user_is_shown(comfyui: Path, tmp_path: Path, args: tuple[str, ...]) -> None:
    """Planted: a home folder, a name, a key, other folders; in a path, in an error, in a variable."""
    home = tmp_path / "people" / "gwendolyn"
    home.mkdir(parents=True)
    inside = home / "gwendolyn"
    comfyui.rename(inside)
    error = f"cannot load {home}/lib/libtorch.so nor /opt/secret place/libc10.so for gwendolyn with hf_{'a' * 30}"
    site = torch_in(home / "site", "2.9.0", f"raise ImportError({error!r})\n")
    done = run(
        *("--comfyui", str(inside), *args),
        start=("-S", "headroom"),
        HOME=str(home),
        USERPROFILE=str(home),
        USER="gwendolyn",
        PYTHONPATH=str(site),
        PYTORCH_CUDA_ALLOC_CONF=f"file:{home}/conf",
        HF_TOKEN="hf_" + "b" * 30,
    )
    assert done.returncode == 1
    assert "cannot load" in done.stdout
    assert "libtorch.so" in done.stdout
    for planted in (str(home), "gwendolyn", "people", "hf_a", "hf_b", "/opt", "secret place"):
        assert planted not in done.stdout, planted
    lines = list(texts(json.loads(done.stdout))) if args else done.stdout.splitlines()
    assert [line for line in lines if ABSOLUTE.search(line)] == []


# --- a running ComfyUI ------------------------------------------------------------------------------------------------


def test_a_running_comfyui_is_asked_for_its_snapshot_and_advice(server: ComfyServer) -> None:
    """With --cpu alone there is nothing to say."""
    report = answer("--url", server.url)
    assert (report["asked"], ids(report)) == (server.url, [])
    assert report["snapshot"]["host"]["version"] == server.get("/system_stats")["system"]["comfyui_version"]
    assert "--cpu" in report["snapshot"]["host"]["flags"]
    assert report["environment"]["packages"]["comfyui-frontend-package"]
    done = run("--url", server.url.removeprefix("http://"))
    assert (done.returncode, "Fine: nothing to say." in done.stdout) == (0, True)
    assert "  Started with: --cpu " in done.stdout


def test_its_advice_is_the_findings(servers: Servers) -> None:
    running = servers.get("--cpu-vae", "--fp16-vae")
    report = answer("--url", f"{running.url}/")
    assert ids(report) == [one["id"] for one in running.get("/headroom/advice")["advice"]] != []
    assert run("--url", running.url).returncode == 1


def test_a_comfyui_without_headroom_is_asked_what_it_knows(servers: Servers) -> None:
    """ComfyUI's own /system_stats: the same flags give the same advice."""
    running = servers.get("--disable-all-custom-nodes", "--cpu-vae", "--fp16-vae")
    report = answer("--url", running.url)
    assert "loaded models and what is in effect" in unseen(report)
    assert {"--cpu", "--cpu-vae", "--fp16-vae"} <= set(report["snapshot"]["host"]["flags"])
    assert ids(report) == ids(answer("--url", servers.get("--cpu-vae", "--fp16-vae").url))
    assert [text for text in texts(report) if ABSOLUTE.search(text)] == []


@pytest.mark.parametrize(
    "start",
    [
        ("headroom",),
        pytest.param(
            BARE, marks=pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc: only on Linux")
        ),
    ],
    ids=["psutil", "proc"],
)
def test_two_that_run_are_told_with_their_ports(servers: Servers, start: tuple[str, ...]) -> None:
    """MEM-44, ComfyUI #3292: each thinks that all of the card is its own."""
    ports = {servers.get().port, servers.get("--cpu-vae", "--fp16-vae").port}
    report = answer(start=start)
    running = {one["port"] for one in report["environment"]["machine"]["running"]}
    assert ports <= running
    assert "two-comfyui" in ids(report)
    version = servers.host.version
    assert {one["version"] for one in report["environment"]["machine"]["running"] if one["port"] in ports} == {version}


class _Page(http.server.BaseHTTPRequestHandler):
    """Another program on that port."""

    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, format: str, *args: Any) -> None: ...


class _Login(_Page):
    """A ComfyUI behind a login."""

    status = 401


@pytest.mark.parametrize(("page", "said"), [(_Page, "is no ComfyUI"), (_Login, "wants a login (HTTP 401)")])
def test_another_program_on_that_port_is_bad_input(page: type[_Page], said: str) -> None:
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), page)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    done = run("--url", str(other.server_port))
    other.shutdown()
    other.server_close()
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
