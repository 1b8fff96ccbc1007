"""A real ComfyUI as a process, spoken to over HTTP and its websocket."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hostkit

HERE = Path(__file__).resolve().parent
START_TIMEOUT = 120.0


@dataclass
class Run:
    """What one prompt did: its history entry and the websocket events, in order."""

    prompt_id: str
    status: str
    outputs: dict[str, Any]
    events: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def error(self) -> dict[str, Any]:
        """The ``execution_error`` event's data; empty when there was none."""
        return next((data for name, data in self.events if name == "execution_error"), {})

    def report(self, node_id: str) -> dict[str, Any]:
        """The newest Headroom report of a node: from its outputs, or from an event sent before an error or later."""
        reports = list(self.outputs.get(node_id, {}).get("headroom", []))
        sent = [data for name, data in self.events if name == "headroom.report" and str(data["node"]) == node_id]
        reports += [data["report"] for data in sent]
        assert reports, f"node {node_id} sent no report"
        return max(reports, key=lambda report: report["made_at"])


class ComfyServer:
    """One running host; ``base`` is its base directory with models, input, output and custom_nodes."""

    def __init__(self, host: hostkit.Host, base: Path, flags: tuple[str, ...] = (), port: int = 0) -> None:
        self.base, self.flags = base, flags
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = port or probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log_path = base / "comfy.log"
        command = [host.python, host.path / "main.py", "--cpu", "--base-directory", base, "--port", self.port]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "NO_PROXY": "*", "HF_HUB_OFFLINE": "1"}
        self._log = self.log_path.open("w")
        self.process = subprocess.Popen(
            [*map(str, command), "--disable-auto-launch", *own_database(host, base), *flags],
            cwd=host.path,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                self.get("/system_stats")
                return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.2)
        self.close()
        raise RuntimeError(f"ComfyUI {self.flags} did not start:\n{self.log()[-4000:]}")

    def log(self) -> str:
        """Everything the host printed so far."""
        return self.log_path.read_text("utf-8", errors="replace")

    def get(self, path: str) -> Any:
        """A GET route's JSON."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.loads(answer.read())

    def get_bytes(self, path: str) -> bytes:
        """A GET route's body."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read()

    def post(self, path: str, body: Any) -> Any:
        """A POST route's JSON (None for an empty answer); an HTTP error carries the host's text."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: HTTP {error.code}: {error.read().decode()[:2000]}") from error
        return json.loads(text) if text else None

    def run(self, prompt: dict[str, Any], timeout: float = 300, interrupt_on: str | None = None) -> Run:
        """Queues an API-format prompt and waits for its end; ``interrupt_on`` names an event that interrupts it."""
        return asyncio.run(self._run(prompt, timeout, interrupt_on))

    async def _run(self, prompt: dict[str, Any], timeout: float, interrupt_on: str | None) -> Run:
        import aiohttp

        client_id = f"test-{time.monotonic_ns()}"
        events: list[tuple[str, Any]] = []
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{self.url}/ws?clientId={client_id}") as ws:
            body = {"prompt": prompt, "client_id": client_id}
            queued = await asyncio.to_thread(self.post, "/prompt", body)
            deadline = time.monotonic() + timeout
            while True:
                message = await ws.receive(timeout=max(0.1, deadline - time.monotonic()))
                if message.type is not aiohttp.WSMsgType.TEXT:
                    continue
                event = json.loads(message.data)
                name, data = event["type"], event["data"]
                events.append((name, data))
                if interrupt_on is not None and name == interrupt_on:
                    interrupt_on = None
                    await asyncio.to_thread(self.post, "/interrupt", {})
                if name in {"execution_success", "execution_error", "execution_interrupted"}:
                    break
        entry = await asyncio.to_thread(self._history, queued["prompt_id"])
        return Run(queued["prompt_id"], entry["status"]["status_str"], entry["outputs"], events)

    def _history(self, prompt_id: str) -> dict[str, Any]:
        for _ in range(100):
            history = self.get(f"/history/{prompt_id}")
            if prompt_id in history:
                return history[prompt_id]
            time.sleep(0.1)
        raise AssertionError(f"prompt {prompt_id} never reached the history")

    def close(self) -> None:
        """Stops the process."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()


def own_database(host: hostkit.Host, base: Path) -> tuple[str, ...]:
    """Hosts that run side by side would share one database in ComfyUI's folder; an older one has no such flag."""
    known = "--database-url" in (host.path / "comfy" / "cli_args.py").read_text("utf-8")
    return ("--database-url", f"sqlite:///{base / 'user' / 'comfyui.db'}") if known else ()


class Servers:
    """Running hosts by flags; they share the models and differ in everything else."""

    def __init__(self, host: hostkit.Host, root: Path) -> None:
        self.host, self.root = host, root
        self.models = self._tiny_models()
        self._running: dict[tuple[str, ...], ComfyServer] = {}

    def _tiny_models(self) -> Path:
        """Random-weight models that the host accepts; made once per version of their recipe, then kept."""
        recipes = sorted((HERE / "fakes").glob("tiny_*.py"))
        target = hostkit.home() / f"models-{self.host.version}-{hash_of(*recipes)}"
        if not target.is_dir():
            # Made aside and moved into place, so that a test run beside this one never sees half of them.
            made = target.with_name(f"{target.name}.{os.getpid()}")
            for recipe in recipes:
                subprocess.run([self.host.python, recipe, self.host.path, made], check=True)
            try:
                made.rename(target)
            except OSError:
                shutil.rmtree(made)
        return target

    def get(self, *flags: str) -> ComfyServer:
        """The host running with these flags (beside ``--cpu``), started now if it is not."""
        if flags not in self._running:
            base = self.root / ("-".join(flag.strip("-") for flag in flags) or "plain")
            hostkit.link_pack(base / "custom_nodes", "ComfyUI-Headroom")
            for fake in ("faulty_nodes", "wan_stub_nodes"):
                (base / "custom_nodes" / fake).symlink_to(HERE / "fakes" / fake)
            for folder in ("input", "output", "user/default"):
                (base / folder).mkdir(parents=True, exist_ok=True)
            settings = {"Comfy.TutorialCompleted": True, "Comfy.Workflow.ShowMissingModelsWarning": False}
            (base / "user" / "default" / "comfy.settings.json").write_text(json.dumps(settings))
            for sample in (self.models / "input").glob("*"):
                shutil.copy(sample, base / "input")
            self._running[flags] = ComfyServer(self.host, base, ("--models-directory", str(self.models), *flags))
        return self._running[flags]

    def close(self) -> None:
        """Stops every host."""
        for running in self._running.values():
            running.close()


def hash_of(*paths: Path) -> str:
    """A short name for the content of files."""
    import hashlib

    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]
