"""Several sizes of card side by side, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.disk import DISKS
from ..core.largest import MOST_SIDE, Largest
from ..core.offload_notices import CACHE_NONE_COST
from ..core.plan.ask import Ask
from ..core.plan.tiers import Tier, claim_about, ram_told
from ..core.plan.verdict import ram_word
from ..core.plan.words import card_words, run_words
from ..core.planning_words import gibs, seconds, span
from .plan_print import assumed, model_lines
from .plan_ram_print import switch_lines
from .tables import paragraph, table


def tier_lines(tiers: Sequence[Tier], ask: Ask, steps: int | None = None) -> Iterator[str]:
    """The whole table; with ``steps`` also what so many steps take to copy."""
    yield f"{ask.models.diffusion[0].identity.name}: {run_words(ask)}"
    yield ""
    yield from model_lines(ask)
    yield ""
    rows: list[list[str]] = [["Card", *(card_words(tier.plan.ask) for tier in tiers)]]
    rows.append(["  usable", *(gibs(tier.plan.ask.card.room_bytes) for tier in tiers)])
    rows.append(["  verdict", *(_plain(tier.plan.outcome.verdict) for tier in tiers)])
    if ask.ram_bytes is not None:
        rows.append([f"  RAM of {gibs(ask.ram_bytes)}", *(ram_word(tier.plan) for tier in tiers)])
    rows.append(["  streams per step, GiB", *(_copied(tier) for tier in tiers)])
    rows.append(["  which takes about", *(_time(tier, 1) for tier in tiers)])
    if steps is not None:
        rows.append([f"  {steps} steps take about", *(_time(tier, steps) for tier in tiers)])
    rows.append([f"  largest at {_frames(ask)}", *(_size(tier.plan.largest) for tier in tiers)])
    if ask.frames > 1:
        rows.append([f"  frames at {ask.run.width}x{ask.run.height}", *(_count(tier.plan.largest) for tier in tiers)])
    rows.append(["  take", *(tier.take.format if tier.take else "none" for tier in tiers)])
    rows.append(["  with it", *(_plain(tier.take_outcome.verdict) if tier.take_outcome else "" for tier in tiers)])
    yield from table(rows)
    yield from _notes(tiers, ask)
    yield from _ram(tiers)
    yield ""
    yield from assumed(ask, one_card=False, ram=ram_told(tiers))


def _notes(tiers: Sequence[Tier], ask: Ask) -> Iterator[str]:
    yield ""
    yield from paragraph("take: of what is there, the largest that stays on the card, else what streams least.", "", "")
    for one in ask.variants:
        yield from paragraph(f"{one.format}: {' and '.join(one.names)}, {gibs(one.largest_bytes)}", "  ", "      ")
    if any(not tier.plan.copies_from_ram for tier in tiers):
        yield from paragraph(f"n/a for a time: RAM cannot hold what is copied. From disk: {_disks()}.", "", "")
    about = claim_about(ask)
    if about and any(tier.claim for tier in tiers):
        said = "; ".join(f"{card_words(tier.plan.ask)}: {tier.claim}" for tier in tiers if tier.claim)
        yield from paragraph(f"A guide claims for {about}, without a measurement: {said}.", "", "")


def _ram(tiers: Sequence[Tier]) -> Iterator[str]:
    """The switch of models, and why RAM is too small beside the first card for which it is."""
    ram = tiers[0].plan.ram
    if ram is not None and ram.switch is not None:
        yield ""
        yield from (line.removeprefix("  ") for line in switch_lines(ram))
    bad = next((tier for tier in tiers if tier.plan.ram_found), None)
    if bad is not None and bad.plan.ram is not None:
        flags = "".join(f" Start ComfyUI with {flag}. {CACHE_NONE_COST}" for flag in bad.plan.ram.offload.flags)
        yield ""
        yield from paragraph(f"RAM, with the card of {card_words(bad.plan.ask)}: {bad.plan.ram.reason}{flags}", "", "")


def _disks() -> str:
    return ", ".join(disk.words for disk in DISKS)


def _plain(verdict: str) -> str:
    return "n/a" if verdict == "unknown" else verdict


def _copied(tier: Tier) -> str:
    found = tier.plan.outcome
    if found.copied_bytes is None:
        return "n/a"
    return span(*found.copied_bytes) if found.copied_bytes[1] else "none"


def _time(tier: Tier, steps: int) -> str:
    found = tier.plan.outcome
    if found.copied_bytes is None or found.copy_seconds is None:
        return "n/a"
    if not found.copied_bytes[1]:
        return ""
    low, high = found.copy_seconds
    return seconds(low * steps, high * steps) if tier.plan.copies_from_ram else "n/a"


def _frames(ask: Ask) -> str:
    return f"{ask.frames} frames" if ask.frames > 1 else "1 picture"


def _size(most: Largest) -> str:
    if most.size is None:
        return "none"
    return f"{most.size[0]}x{most.size[1]}{'+' if max(most.size) >= MOST_SIDE else ''}"


def _count(most: Largest) -> str:
    return "none" if most.frames is None else str(most.frames)
