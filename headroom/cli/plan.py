"""``headroom plan``: whether a run fits a card, what streams, what waits where, and what to change."""

from __future__ import annotations

import argparse
import os
import re

from ..core.component import Component
from ..core.errors import HeadroomError
from ..core.link import ASSUMED, PCIE_LANE, Link
from ..core.needs import Models, Run
from ..core.plan.as_json import plan_json, tiers_json
from ..core.plan.ask import Ask, part_names
from ..core.plan.card import Card
from ..core.plan.choices import variants_of
from ..core.plan.stages import COMFYUI, LOADERS
from ..core.plan.tiers import TIERS_GIB, make_tiers
from ..core.plan.whole import make_plan
from ..core.siblings import model_files, siblings
from ..core.swap_table import CONVENTIONS, Convention, convention
from ..core.units import GIB
from . import sizes
from .examples import Examples, component_named
from .output import say, say_json
from .plan_print import plan_lines
from .plan_tiers_print import tier_lines

_DESCRIPTION = """
Says whether a run fits: weights from the files' headers, the work of sampling and decode as a range, the largest size
that fits, and what to change. Exit status: 0 it fits, 1 it may not fit, RAM is short, each step reads weights from
disk, or a file has a fault (with --tiers: no card of the list is without), 2 bad input.
"""
_MODEL_HELP = 'one, or two that take turns (Wan 2.2); a file, or an example: "Wan 2.2 14B text to video, fp8"'
#: What a file given for a use must be, where its header says what it is.
KINDS = {
    "MODEL": {"diffusion model", "checkpoint"},
    "--text-encoder": {"text encoder", "checkpoint"},
    "--vae": {"vae", "checkpoint"},
    "--lora": {"lora"},
}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds ``plan``."""
    parser = commands.add_parser("plan", help="say whether a run fits a card", description=_DESCRIPTION)
    files = parser.add_argument_group("files")
    files.add_argument("model", metavar="MODEL", nargs="+", help=_MODEL_HELP)
    files.add_argument("--text-encoder", metavar="FILE", action="append", default=[], help="may be given twice")
    files.add_argument("--vae", metavar="FILE", help="without it the VAE that goes with the model is taken")
    files.add_argument("--lora", metavar="FILE", action="append", default=[], help="may be given several times")
    files.add_argument("--models", metavar="DIR", help="where names are looked up and other quantisations are sought")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--card", "--vram", metavar="SIZE", type=sizes.size, help="the card's memory: 12GiB")
    machine.add_argument("--tiers", metavar="LIST", nargs="?", const="", type=_tiers, help="several cards: 8,12,16,24")
    machine.add_argument("--ram", metavar="SIZE", type=sizes.size, help="the machine's memory: 32GiB")
    machine.add_argument("--gpu", metavar="NAME", help='the card\'s name: "RTX 3060", "RX 7900 XTX"')
    machine.add_argument("--pcie", metavar="GxW", type=_link, default=ASSUMED, help="generation and lanes: 4x16")
    machine.add_argument("--windows", action="store_true", help="ComfyUI runs on Windows, not in WSL")
    machine.add_argument("--reserve", metavar="GIB", type=_gib, help="as --reserve-vram of ComfyUI")
    machine.add_argument("--no-dynamic-vram", action="store_true", help="as --disable-dynamic-vram of ComfyUI")
    run_ = parser.add_argument_group("run")
    run_.add_argument("--size", metavar="WxH", type=sizes.pixels, required=True, help="in pixels: 832x480")
    run_.add_argument("--frames", metavar="N", type=sizes.count, default=1)
    run_.add_argument("--batch", metavar="N", type=sizes.count, default=1)
    run_.add_argument("--cfg", metavar="X", type=_cfg, default=1.0, help="above 1 the negative prompt runs too")
    run_.add_argument("--steps", metavar="N", type=sizes.count, help="to have the copies of the whole sampling too")
    run_.add_argument("--loader", choices=LOADERS, default=COMFYUI, help="whose nodes load the model")
    run_.add_argument("--blocks", metavar="N", type=sizes.whole, help="blocks_to_swap, to see what a setting does")
    run_.add_argument("--prefetch", metavar="N", type=sizes.whole, default=0, help="prefetch_blocks of the Wan wrapper")
    parser.add_argument("--examples", action=Examples)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Makes the plan and prints it."""
    ask = _ask(args)
    if args.tiers is not None:
        tiers = make_tiers(ask, args.tiers)
        if args.json:
            say_json(tiers_json(tiers, ask))
        else:
            say("\n".join(tier_lines(tiers, ask, args.steps)))
        nowhere = all(tier.found for tier in tiers)
        return 1 if nowhere or any(one.broken for _, one in part_names(ask.models)) else 0
    plan = make_plan(ask)
    if args.json:
        say_json(plan_json(plan))
    else:
        say("\n".join(plan_lines(plan, args.steps)))
    return 1 if plan.found else 0


def _ask(args: argparse.Namespace) -> Ask:
    """What is asked for, with every file read.

    Raises:
        HeadroomError: a file cannot be used, or the arguments do not go together.
    """
    _check(args)
    paths = [_found(name, args.models) for name in args.model]
    models = Models(
        diffusion=[_component(path, "MODEL") for path in paths],
        encoders=[_component(_found(name, args.models), "--text-encoder") for name in args.text_encoder],
        vae=None if args.vae is None else _component(_found(args.vae, args.models), "--vae"),
        loras=[_component(_found(name, args.models), "--lora") for name in args.lora],
    )
    if args.loader != COMFYUI:
        _loads(convention(args.loader), models)
    card = Card(args.card or args.tiers[0], args.reserve, args.windows, not args.no_dynamic_vram, args.gpu)
    width, height = args.size
    run_ = Run(width, height, args.frames, args.batch, args.cfg, amd=card.amd)
    pairs = zip(paths, models.diffusion, strict=True)
    others = [siblings(path, one, args.models).found if os.path.exists(path) else () for path, one in pairs]
    return Ask(
        models=models,
        run=run_,
        card=card,
        ram_bytes=args.ram,
        loader=args.loader,
        link=args.pcie,
        blocks=args.blocks,
        prefetch=args.prefetch,
        variants=variants_of(models.diffusion, others),
    )


def _check(args: argparse.Namespace) -> None:
    """Raises HeadroomError where arguments do not go together, so that none is left out in silence."""
    if len(args.model) > 2:
        raise HeadroomError(f"{len(args.model)} models were given; two that take turns are the most.")
    if args.card is None and args.tiers is None:
        raise HeadroomError("Say which card: --card 12GiB, or --tiers for several.")
    if args.card is not None and args.tiers is not None:
        raise HeadroomError("Say one of --card and --tiers: another card has a place in the list, --tiers 8,12,16.")
    if args.prefetch and not any(row.prefetch and row.id == args.loader for row in CONVENTIONS):
        raise HeadroomError("--prefetch is a setting of the Wan wrapper: say so, with --loader wan-wrapper.")
    if args.blocks is not None and args.loader == COMFYUI:
        raise HeadroomError("--blocks is a setting of wrappers: say whose, with --loader wan-wrapper.")


def _loads(tool: Convention, models: Models) -> None:
    """Raises HeadroomError where a tool cannot load a model of the run."""
    for model in models.diffusion:
        why = tool.refusal(model.identity)
        if why:
            raise HeadroomError(f"{model.name} cannot be planned with --loader {tool.id}. {why}")


def _found(name: str, folder: str | None) -> str:
    """The path of a file: as it is given, or the one of that name in the models folder."""
    if folder is None or os.path.exists(name):
        return name
    return next((path for path in model_files(folder, recursive=True) if os.path.basename(path) == name), name)


def _component(path: str, use: str) -> Component:
    """A file for a use.

    Raises:
        HeadroomError: it cannot be read, holds no tensor, or is something else.
    """
    found = component_named(path)
    if not found.formats:
        fault = next((fault.text for fault in found.faults), "It holds no tensor.")
        raise HeadroomError(f"{found.name} cannot be planned with. {fault}")
    kind = found.identity.kind
    if kind != "unknown" and kind not in KINDS[use]:
        wanted = " or ".join(sorted(KINDS[use]))
        raise HeadroomError(f"{found.name} is a {kind} ({found.identity.name}), and {use} wants a {wanted}.")
    return found


def _link(text: str) -> Link:
    found = re.fullmatch(r"(\d)(?:\.0)?\s*[xX]\s*(\d{1,2})", text.strip())
    if not found or int(found[1]) not in PCIE_LANE or int(found[2]) not in (1, 2, 4, 8, 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no PCI Express link: write 4x16 (generation x lanes)")
    return Link(int(found[1]), int(found[2]))


def _tiers(text: str) -> list[int]:
    """Sizes of cards in bytes, the smallest first; 8, 12, 16 and 24 GiB where none is named."""
    if not text:
        return [size * GIB for size in TIERS_GIB]
    return sorted({sizes.size(part) for part in text.strip("[] ").split(",")})


def _gib(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        return sizes.size(text)
    if not 0 <= value < 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is no reserve in GiB: write 1.5")
    return int(value * GIB)


def _cfg(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no cfg: write 6 or 3.5")
    return value
