"""What the three planning nodes do: readings and models in, a result for the report out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..core import choices
from ..core.budget import Holders, Role, Stage, StageBudget, beside, budget, headroom_bytes, holders
from ..core.budget_report import BudgetResult
from ..core.component import Component
from ..core.errors import HeadroomError
from ..core.needs import Models, Run, parts, stages
from ..core.offload import plan_offload
from ..core.offload_report import OffloadResult
from ..core.plan.stages import Setup, setup_stages, swap_asks
from ..core.readings import Snapshot
from ..core.room import EVERY_ROLE, Room, room_of
from ..core.swap import SwapPlan, knee, plan_swap, swap_exactly
from ..core.swap_report import SwapResult
from ..core.swap_table import WAN_WRAPPER, convention
from ..core.units import GIB
from . import connected, model_files
from .loaded_models import read_models
from .ram import private_bytes
from .snapshot import take

GGUF_NOTE = "GGUF: some loaders keep a second copy or swap nothing (ComfyUI-WanVideoWrapper #1873): take it as a guess."
RAM_UNREAD = "How much RAM is free is not known."
RAM_UNREAD_TYPE = "How much RAM is free is not known; type it in as `ram_gib`."
ALL_IN_RAM = "ComfyUI runs on the CPU: all weights stay in RAM, so that they count together."
NO_TARGET = 'With "use at most (GiB)" say how much: `target_gib` is 0.'
TWO_ROWS = "It has {rows[0]} and {rows[1]} blocks of two kinds; for a tool that asks for both: {first} and {second}."
SHARED_SWAP = (
    "The card's memory is the RAM here: a swapped block takes the same memory, so that swapping frees nothing."
)
UNKNOWN_WORK = "What a step needs beside the weights is not known for this model; only weights are counted."


def budget_now(model: Any, clip: Any, vae: Any, latent: Any) -> BudgetResult:
    """What is connected against what the card has now; against the RAM where ComfyUI runs on the CPU."""
    snapshot, room = _now()
    roles: list[tuple[Role, Stage]] = []
    if clip is not None:
        roles.append(("text encoder", connected.encoding(clip)))
    if model is not None:
        roles.append(("diffusion", connected.sampling(model, latent, room.attention, room.static)))
    if vae is not None:
        roles.append(("vae", connected.decoding(vae, latent, room.amd)))
    found = [stage for _, stage in roles]
    who, room = _holders(snapshot, room, sum(stage.weights_bytes for stage in found))
    if who is None or room.room_bytes is None:
        return BudgetResult(room, None, [], None)
    counted = [stage if stage.high_bytes is not None else replace(stage, high_bytes=0) for stage in found]
    together = beside(roles, room.staying)
    return BudgetResult(
        room=room,
        holders=who,
        stages=_budgets(roles, room),
        headroom_bytes=headroom_bytes(who.available_bytes, counted, together),
        at_most=any(stage.high_bytes is None for stage in found),
        notes=[room.stays_because] if any(together) else [],
    )


def _budgets(roles: Sequence[tuple[Role, Stage]], room: Room) -> list[StageBudget]:
    """Every stage against the room that is left beside the models that never leave."""
    together = zip(roles, beside(roles, room.staying), strict=True)
    return [
        budget(stage, (room.room_bytes or 0) - other, room.link, room.streams, room.keeps)
        for (_, stage), other in together
    ]


def _holders(snapshot: Snapshot, room: Room, connected_bytes: int) -> tuple[Holders | None, Room]:
    """Who holds the card, and its room; on the CPU who holds the RAM.

    There the connected models lie in RAM already: they count as what can go, so that they are not needed twice.
    """
    card = next((one for one in snapshot.devices if one.kind != "cpu"), None)
    if card is not None:
        return holders(card, _evictable().get(card.index)), room
    ram = next((one for one in snapshot.devices if one.kind == "cpu"), None)
    if ram is None:
        return None, room
    who = holders(ram, min(connected_bytes, ram.own_bytes or 0))
    room = replace(room, staying=EVERY_ROLE, stays_because=ALL_IN_RAM, why_not=RAM_UNREAD)
    return who, replace(room, card="RAM", room_bytes=who.available_bytes, streams=False)


def block_swap(
    model: Component,
    run: Run,
    *,
    loader: str,
    target: str,
    target_bytes: int,
    vram_bytes: int,
    lora_bytes: int,
    prefetch: int,
    seconds_per_step: float,
) -> SwapResult:
    """How many blocks have to leave the card.

    Args:
        loader: one of ``choices.LOADERS``.
        target: one of ``choices.TARGETS``; ``target_bytes`` goes with it.
        vram_bytes: the card to plan for; 0: the one that is there.
        seconds_per_step: a step without any swap, as measured; 0: not known.

    Raises:
        HeadroomError: a target without its size.
    """
    if target == choices.USE_AT_MOST and not target_bytes:
        raise HeadroomError(NO_TARGET)
    _, room = _now(vram_bytes)
    run = replace(run, attention=room.attention, amd=room.amd, static=room.static)
    # ComfyUI's own loader has no setting for blocks: the numbers are then those of the Wan wrapper.
    wrapper = WAN_WRAPPER if loader == choices.OWN_LOADER else convention(loader)
    setup = Setup(room.room_bytes or 0, wrapper.id, room.link, prefetch)
    models = Models([model])
    if loader == choices.OWN_LOADER:
        found = dict(stages(models, run, room.room_bytes))
    else:
        found = dict(setup_stages(models, run, setup))
    sampling = found["diffusion"]
    sampling = replace(sampling, weights_bytes=sampling.weights_bytes + lora_bytes)
    refused = "" if loader == choices.OWN_LOADER else wrapper.refusal(model.identity)
    if refused:
        return SwapResult(model, room, None, None, None, sampling, refused=refused)
    notes = [GGUF_NOTE] if model.gguf else []
    notes += [UNKNOWN_WORK] if sampling.high_bytes is None else []
    if room.room_bytes is None:
        return SwapResult(model, room, None, None, None, sampling, notes=notes)
    ask = replace(
        swap_asks(models, run, setup)[0],
        room_bytes=_target(room.room_bytes, target, target_bytes),
        lora_bytes=lora_bytes,
        compute_seconds=seconds_per_step or None,
    )
    at_target = replace(room, room_bytes=ask.room_bytes)
    (streams,) = _budgets([("diffusion", sampling)], at_target) if loader == choices.OWN_LOADER else [None]
    (decode,) = _budgets([("vae", found["vae"])], room)
    if room.unified:
        return SwapResult(model, room, swap_exactly(ask, 0), streams, decode, sampling, None, [*notes, SHARED_SWAP])
    plan = plan_swap(ask)
    return SwapResult(model, room, plan, streams, decode, sampling, knee(ask), [*notes, *_two_rows(model, plan)])


def _two_rows(model: Component, plan: SwapPlan) -> list[str]:
    """Tools that know two kinds of blocks ask for a number of each: what the one number means for them."""
    rows = [stack.count for stack in model.blocks.of("main")]
    if len(rows) != 2 or not plan.blocks_swapped:
        return []
    gone = plan.blocks_swapped
    first = max(0, gone - rows[1]) if plan.ask.convention.end == "last" else min(gone, rows[0])
    return [TWO_ROWS.format(rows=rows, first=first, second=gone - first)]


def offload(models: Models, run: Run, vram_bytes: int, ram_bytes: int) -> OffloadResult:
    """Where each model should run and wait; sizes of 0 stand for what is there."""
    _, room = _now(vram_bytes, ram_bytes)
    if room.room_bytes is None:
        return OffloadResult(room, None, [])
    if room.ram_bytes is None:
        return OffloadResult(replace(room, why_not=RAM_UNREAD_TYPE), None, [])
    run = replace(run, attention=room.attention, amd=room.amd, static=room.static)
    placed = parts(models, run, room.room_bytes, maps=bool(room.dynamic))
    found = _budgets(stages(models, run, room.room_bytes), room)
    notes = [room.stays_because] if room.staying else []
    return OffloadResult(room, plan_offload(placed, room.machine()), found, notes)


def component_for(name: str, patcher: Any) -> Component:
    """The model of a planning node: the file or preset of that name, or the connected one.

    Raises:
        HeadroomError: there is no such file, it is broken or of another kind, or neither a file nor a model is given.
    """
    if patcher is not None:
        return connected.model_component(patcher)
    if name == choices.NO_FILE:
        raise HeadroomError("Neither a file is chosen nor a model connected: choose one in `model_file`.")
    return model_files.found("diffusion", name)


def components(kind: str, names: Sequence[str]) -> list[Component]:
    """The files or presets of these names, without those that say "none"."""
    return [model_files.found(kind, name) for name in names if name != choices.NONE]


def _now(vram_bytes: int = 0, ram_bytes: int = 0) -> tuple[Snapshot, Room]:
    """The machine at this moment.

    Never a shared reading: what has been loaded since would be both free in it and evictable by ``_evictable``.
    """
    snapshot = take(fresh=True)
    return snapshot, room_of(snapshot, vram_bytes, ram_bytes, _evictable(), private_bytes())


def _evictable() -> dict[int, int]:
    """By the card's index: between two nodes every loaded model can go. What lies in RAM is none of a card's."""
    _, held = read_models(False)
    found = {name: part.evictable for name, part in held.items() if not name.startswith("cpu")}
    return {int(name.partition(":")[2] or 0): size for name, size in found.items()}


def _target(room_bytes: int, target: str, target_bytes: int) -> int:
    if target == choices.USE_AT_MOST:
        return min(room_bytes, target_bytes)
    if target == choices.LEAVE_FREE:
        return max(0, room_bytes - target_bytes)
    return room_bytes


def gib_bytes(value: float) -> int:
    """A widget's GiB as bytes."""
    return int(value * GIB)
