"""The parts of scripts/run, scripts/test and scripts/check that decide something; .ci/run also runs each as a whole."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shutil
import socket
import sys
from pathlib import Path
from types import ModuleType

import hostkit
import npmkit
import pytest


def script(name: str) -> ModuleType:
    """A script without an extension, as a module."""
    loader = importlib.machinery.SourceFileLoader(f"script_{name}", str(hostkit.REPO / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


run, test, check = script("run"), script("test"), script("check")


def test_everything_after_the_dashes_goes_to_comfyui():
    options, extra = run.read_arguments(["--port", "9000", "--", "--lowvram", "--listen"])
    assert (options.port, options.no_browser, extra) == (9000, False, ["--lowvram", "--listen"])


@pytest.mark.parametrize("extra", [["--port", "9000"], ["--port=9000"]])
def test_a_port_for_comfyui_alone_is_refused(extra: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        run.read_arguments(["--", *extra])
    assert "give --port before the --" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "address"),
    [
        ([], "127.0.0.1"),
        (["--listen"], "127.0.0.1"),
        (["--listen", "--lowvram"], "127.0.0.1"),
        (["--listen", "0.0.0.0,::"], "127.0.0.1"),
        (["--listen=192.168.1.5"], "192.168.1.5"),
        (["--listen", "192.168.1.5,10.0.0.1"], "192.168.1.5"),
        (["--listen", "::1"], "::1"),
    ],
)
def test_the_address_follows_comfyuis_own_option(extra: list[str], address: str):
    assert run.listen_address(extra) == address


def test_a_taken_port_is_said_and_the_next_free_one_used(capsys: pytest.CaptureFixture[str]):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        chosen = run.choose_port(port, "127.0.0.1")
    assert chosen > port
    assert f"port {port} is taken: using {chosen}" in capsys.readouterr().out


def test_a_python_without_torch_is_one_clear_line(tmp_path: Path):
    """A COMFYUI_PATH without its own environment falls back to the Python that runs the script."""
    bare = Path(sys.executable)
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    host = hostkit.Host(tmp_path, bare, "COMFYUI_PATH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with pytest.raises(
            hostkit.SetupError, match=r"cannot load torch \(ImportError: no torch here\).*COMFYUI_PYTHON"
        ):
            run.device_flags(host, [])


def test_a_device_that_the_user_named_is_left_alone():
    assert run.device_flags(hostkit.Host(Path(), Path("none"), ""), ["--directml"]) == []


@pytest.mark.parametrize(
    ("driver", "build", "words"),
    [
        (None, "CUDA", "sees no GPU"),
        ("/usr/bin/nvidia-smi", "CPU-only", "was built without CUDA"),
        ("/usr/bin/nvidia-smi", "CUDA", "driver may be too old"),
    ],
)
def test_running_on_the_cpu_is_explained(driver: str | None, build: str, words: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run.shutil, "which", lambda _: driver)
    assert words in run.why_cpu({"torch": "2.14.1", "build": build})


def test_a_comfyui_path_that_is_none_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COMFYUI_PATH", str(tmp_path))
    with pytest.raises(hostkit.SetupError, match=r"there is no main\.py in it"):
        hostkit.find_host()


def test_a_failed_step_names_itself_and_the_remedy():
    with pytest.raises(hostkit.SetupError, match=r"installing x failed \(exit status 3.*Check the network"):
        hostkit.run_step("installing x", [sys.executable, "-c", "raise SystemExit(3)"])


JUNIT = """<testsuites><testsuite>
<testcase classname="tests.core.test_a" name="test_good"/>
<testcase classname="tests.core.test_a.TestB" name="test_bad"><failure message="assert 0">..</failure></testcase>
<testcase classname="tests.host.test_c" name="test_setup"><error message="failed on setup">..</error></testcase>
<testcase classname="tests.gpu.test_d" name="test_peak"><skipped message="no GPU here"/></testcase>
<testcase classname="tests.core.test_a" name="test_x"><skipped type="pytest.xfail"/></testcase>
<testcase classname="" name="tests.ui.test_e"><skipped message="collection skipped">
('/x/tests/ui/test_e.py', 3, 'Skipped: no chromium here')</skipped></testcase>
<testcase classname="tests.test_layering" name="test_rule"/>
</testsuite></testsuites>"""


def read(tmp_path: Path, text: str, status: int) -> list[tuple[str, str, str]]:
    """(group, outcome, reason) of what scripts/test reads from a results file."""
    (tmp_path / "results.xml").write_text(text, "utf-8")
    found = test.read_results(tmp_path / "results.xml", "pytest", status)
    return [(result.group, result.outcome, result.reason) for result in found]


def test_results_are_grouped_by_folder_with_the_reasons_of_skips(tmp_path: Path):
    assert read(tmp_path, JUNIT, 1) == [
        ("core", "passed", ""),
        ("core", "failed", ""),
        ("host", "failed", ""),
        ("gpu", "skipped", "no GPU here"),
        ("core", "passed", ""),
        ("ui", "skipped", "no chromium here"),
        ("pack", "passed", ""),
    ]


@pytest.mark.parametrize("text", ["", "<testsuites/>", '<testsuites><testcase name="t"/></testsuites>'])
def test_a_tool_that_fails_without_a_failed_test_is_a_failure(text: str, tmp_path: Path):
    """pytest ends so when it is killed, when no test was found, and when its own options are wrong."""
    assert "failed" in [outcome for _, outcome, _ in read(tmp_path, text, 2)]


@pytest.mark.parametrize(
    ("outcome", "reason", "ordinary", "in_ci"),
    [
        ("passed", "", 0, 0),
        ("failed", "", 1, 1),
        ("skipped", "no GPU here", 0, 0),
        ("skipped", "only on Windows", 0, 0),
        ("skipped", "no chromium here", 0, 1),
        ("skipped", "no Node.js here", 0, 1),
    ],
)
def test_a_skip_is_a_failure_only_in_ci(outcome: str, reason: str, ordinary: int, in_ci: int):
    results = [test.Result("ui", "tests.ui.test_e", outcome, reason)]
    assert test.report(results, strict=False) == ordinary
    assert test.report(results, strict=True) == in_ci


def test_the_summary_names_each_skipped_test_its_reason_and_what_to_install(capsys: pytest.CaptureFixture[str]):
    test.report([test.Result("ui", "tests.ui.test_e", "skipped", "no chromium here")], strict=False)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "skipped: no chromium here" in lines
    assert "tests.ui.test_e" in lines
    assert any(line.startswith("to run them: install Chromium") for line in lines)
    assert lines[-1] == "0 passed, 0 failed, 1 skipped"


@pytest.mark.parametrize(("in_ci", "status"), [(False, 0), (True, 1)])
def test_a_check_that_cannot_run_here_says_so_and_fails_in_ci(
    in_ci: bool, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Types that nobody checks are comments."""

    def cannot() -> str | None:
        raise check.Skipped("no npm here")

    monkeypatch.setattr(check.hostkit, "require_host", lambda: None)
    monkeypatch.setattr(check.hostkit, "tools_python", lambda _: Path(sys.executable))
    monkeypatch.setattr(check, "steps", lambda *_: {"syntax": lambda: None, "types": cannot})
    monkeypatch.setattr(sys, "argv", ["check"])
    monkeypatch.delenv("CI", raising=False)
    if in_ci:
        monkeypatch.setenv("CI", "true")
    assert check.main() == status
    said = capsys.readouterr().out
    assert "no npm here" in said
    assert ("FAILED" in said) is in_ci


def test_a_wrong_type_in_the_frontend_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if shutil.which("npm") is None:
        if os.environ.get("CI"):
            pytest.fail(npmkit.NO_NPM)
        pytest.skip(npmkit.NO_NPM)
    shutil.copy(hostkit.REPO / "jsconfig.json", tmp_path)
    (tmp_path / "js").mkdir()
    monkeypatch.setattr(check.hostkit, "REPO", tmp_path)
    module = tmp_path / "js" / "a.mjs"
    module.write_text("/** @param {number} bytes */\nexport const size = (bytes) => bytes + 1;\n")
    assert check.check_js_types() is None
    module.write_text(module.read_text() + 'size("12");\n')
    assert "a.mjs(3,6): error TS2345" in (check.check_js_types() or "")
