"""The oracle corpus: headers of the host's own model classes, built on the meta device from tests/data/families."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headroom.core.families.index import Header, Index
from headroom.core.tensorinfo import TensorInfo

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "families"
#: Files there that hold no diffusion class.
OTHER_FILES = {"exceptions.json", "text_encoders.json", "vaes.json", "upscalers.json"}
#: The host whose numbers the tables hold; an older one lacks classes and has other numbers.
LEAST_HOST = (0, 30)
PREFIXES = ("", "model.diffusion_model.", "model.model.", "net.", "model.")
#: The host looks for the names of these without a prefix, or with one of their own.
NEVER_PREFIXED = {"SAM3", "SAM31", "PixelDiTT2I"}
DTYPES = {
    "torch.float16": "F16",
    "torch.bfloat16": "BF16",
    "torch.float32": "F32",
    "torch.float64": "F64",
    "torch.int64": "I64",
    "torch.int32": "I32",
    "torch.int8": "I8",
    "torch.uint8": "U8",
    "torch.bool": "BOOL",
    "torch.float8_e4m3fn": "F8_E4M3",
    "torch.float8_e5m2": "F8_E5M2",
}


@dataclass(frozen=True)
class Case:
    """One set of constructor arguments of one class."""

    cls: str
    id: str
    config: Mapping[str, Any]
    source: str
    prefix: str = ""
    beside: Mapping[str, list[int]] = field(default_factory=dict)
    """Tensors of a whole file that belong to no module: name -> shape."""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """For test ids."""
        return f"{self.cls}-{self.id}"


def read_cases() -> list[Case]:
    """All cases, from one file per class."""
    cases = []
    for path in sorted(DATA.glob("*.json")):
        if path.name not in OTHER_FILES:
            data = json.loads(path.read_text("utf-8"))
            for case in data["cases"]:
                values = {key: value for key, value in case.items() if key != "what"}
                cases.append(Case(cls=data["class"], **values))
    return cases


CASES = read_cases()


@dataclass(frozen=True)
class Built:
    """A model of the host without a byte of weights, and the header that its file would have."""

    case: Case
    config: Any
    """The host's model config, after ``set_inference_dtype``."""
    model: Any
    """The host's whole model."""
    names: Mapping[str, Any]
    """Name in the file -> meta tensor."""

    @property
    def module(self) -> Any:
        """The host's diffusion model."""
        return self.model.diffusion_model

    @cached_property
    def tensors(self) -> dict[str, TensorInfo]:
        """The header as Headroom gets it; shared by all tests, so it is copied before it is changed."""
        return as_header(self.names)

    @cached_property
    def header(self) -> Header:
        """The same as the rows see it."""
        return Header(Index(self.tensors, self.case.metadata), "" if self.case.prefix == "core." else self.case.prefix)


def as_header(names: Mapping[str, Any]) -> dict[str, TensorInfo]:
    """Tensors of torch as the header of a file."""
    return {
        name: TensorInfo(name, DTYPES[str(tensor.dtype)], tuple(tensor.shape), tensor.nbytes)
        for name, tensor in names.items()
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that asks for ``model_case`` on every case.

    One that asks for ``first_case`` and ``prefix`` runs on the first case of every class, with the host's prefixes in
    turn.
    """
    if "model_case" in metafunc.fixturenames:
        metafunc.parametrize("model_case", CASES, ids=lambda case: case.name)
    if "first_case" in metafunc.fixturenames:
        firsts = {case.cls: case for case in reversed(CASES) if case.cls not in NEVER_PREFIXED}
        pairs = [(case, PREFIXES[n % len(PREFIXES)]) for n, case in enumerate(firsts.values())]
        pairs += [(firsts[cls], prefix) for cls in ("Flux", "WAN21_T2V", "SDXL", "ZImage") for prefix in PREFIXES]
        metafunc.parametrize(("first_case", "prefix"), pairs, ids=lambda value: getattr(value, "cls", value or "none"))


@pytest.fixture(scope="session")
def oracle(host: Any) -> ModuleType:
    """The host's model detection, imported without the pack: these tests need no node.

    The host's argument parser reads sys.argv at import, so it is given ``--cpu`` and nothing of pytest's.
    """
    if tuple(int(part) for part in host.version.split(".") if part.isdigit()) < LEAST_HOST:
        pytest.skip("the tables hold the numbers of ComfyUI 0.30")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["main.py", "--cpu"])
        import comfy.options

        comfy.options.enable_args_parsing()
        import comfy.model_detection
    return comfy.model_detection


@pytest.fixture(scope="session")
def build(oracle: ModuleType) -> Callable[[Case], Built]:
    """Builds a case on the meta device, once per test run."""
    done: dict[str, Built] = {}

    def cached(case: Case) -> Built:
        if case.name not in done:
            done[case.name] = built(case)
        return done[case.name]

    return cached


@pytest.fixture
def made(model_case: Case, build: Callable[[Case], Built]) -> Built:
    """The case of a test, built."""
    return build(model_case)


def built(case: Case) -> Built:
    """A case as the host builds it: no weights are made, only their shapes."""
    import comfy.supported_models
    import torch

    config = dict(case.config)
    if case.cls == "ChromaRadiance":
        config["nerf_embedder_dtype"] = torch.float32
    model_config = getattr(comfy.supported_models, case.cls)(config)
    model_config.set_inference_dtype(torch.float16, None)
    beside = {name: torch.zeros(shape, dtype=torch.float16) for name, shape in case.beside.items()}
    with no_values(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model_config.get_model(dict(beside), "", device=torch.device("meta"))
    names = {case.prefix + name: tensor for name, tensor in model.diffusion_model.state_dict().items()}
    return Built(case, model_config, model, {**names, **beside})


@contextmanager
def no_values() -> Iterator[None]:
    """Lets constructors that read a value of a tensor (ACE-Step 1.5: the size of a codebook) get one from meta."""
    import torch

    item = torch.Tensor.item
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "item", lambda tensor: 1 if tensor.is_meta else item(tensor))
        yield


@pytest.fixture(scope="session")
def vae_names(oracle: ModuleType) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Builds a VAE and gives the names of its file; each once per run."""
    done: dict[str, dict[str, Any]] = {}

    def cached(case: Mapping[str, Any]) -> dict[str, Any]:
        if case["id"] not in done:
            with no_values():
                done[case["id"]] = names_of(case)
        return done[case["id"]]

    return cached


def names_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """The names and meta tensors of one VAE."""
    import comfy.sd  # noqa: F401 -- it loads the parts that some classes name by their path
    import torch

    module, name = case["class"].split(":")
    with torch.device("meta"):
        made = getattr(importlib.import_module(module), name)(**case["arguments"]).to(torch.float16)
    names = dict(made.state_dict())
    keep = case.get("keep", "")
    names = {key[len(keep) :]: tensor for key, tensor in names.items() if key.startswith(keep)}
    for start, becomes in case.get("rename", []):
        names = {becomes + key[len(start) :] if key.startswith(start) else key: t for key, t in names.items()}
    # What a file has and the module keeps to itself.
    for key, shape in case.get("beside", {}).items():
        names[key] = torch.empty(shape, dtype=torch.float16, device="meta")
    return names


@pytest.fixture(scope="session")
def encoder_names(oracle: ModuleType) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Builds a text encoder and gives the names of its file; each once per run."""
    done: dict[str, dict[str, Any]] = {}

    def cached(case: Mapping[str, Any]) -> dict[str, Any]:
        if case["id"] not in done:
            done[case["id"]] = encoder_names_of(case)
        return done[case["id"]]

    return cached


def encoder_names_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """The names and meta tensors of one text encoder."""
    import comfy.ops
    import comfy.sd
    import torch

    module, name = case["class"].split(":")
    cls = getattr(importlib.import_module(module), name)
    if "model_type" in case:
        cls = type(name, (cls,), {"model_type": case["model_type"]})
    config = case["config"]
    if isinstance(config, str):
        config = json.loads((Path(comfy.sd.__file__).parent / config).read_text("utf-8"))
    model = cls(config, dtype=torch.float16, device=torch.device("meta"), operations=comfy.ops.manual_cast)
    names = dict(model.state_dict())
    for start, becomes in case.get("rename", []):
        names = {becomes + key[len(start) :] if key.startswith(start) else key: t for key, t in names.items()}
    return names


@pytest.fixture(scope="session")
def valueless() -> Callable[[], Any]:
    """A context in which a meta tensor has a value."""
    return no_values


@pytest.fixture(scope="session")
def all_cases() -> list[Case]:
    """Every case of the corpus."""
    return CASES


@pytest.fixture(scope="session")
def to_header() -> Callable[[Mapping[str, Any]], dict[str, TensorInfo]]:
    """Turns tensors of torch into the header of a file."""
    return as_header
