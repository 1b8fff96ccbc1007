"""Finds each of torch's devices among the driver's cards, and picks what the driver says of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...core.device_join import Listed, Match, Seen, join
from ...core.readings import Program
from .fields import Memory
from .nvidia import Card, Part
from .torch_devices import TorchDevice


@dataclass(frozen=True)
class Joined:
    """What the driver says of one device: of its card, or of its part of one."""

    card: Card
    in_slice: bool = False

    def refused(self, reason: str) -> Joined:
        """The same where the driver does not answer at all."""
        return replace(self, card=Card(reasons={"device": reason}))


def join_cards(
    devices: Sequence[TorchDevice], cards: Sequence[Card], environment: Mapping[str, str] = os.environ
) -> tuple[tuple[Joined, ...], tuple[int, ...]]:
    """For each device its card, and the places of the cards that are no device's."""
    visible, order = environment.get("CUDA_VISIBLE_DEVICES"), environment.get("CUDA_DEVICE_ORDER")
    listed = [Listed(card.uuid, card.pci, card.name, tuple(part.uuid or "" for part in card.parts)) for card in cards]
    seen = [Seen()] * (max((device.index for device in devices), default=-1) + 1)
    for device in devices:
        seen[device.index] = Seen(device.uuid, device.pci)
    matches = join(seen, listed, visible, order)
    words = [] if visible is None else [word.strip().upper() for word in visible.split(",")]
    found = []
    for device in devices:
        named = device.index < len(words) and words[device.index].startswith("MIG-")
        found.append(_joined(matches[device.index], cards, named or " MIG " in (device.name or "")))
    taken = {matches[device.index].card for device in devices}
    return tuple(found), tuple(index for index in range(len(cards)) if index not in taken)


def _joined(match: Match, cards: Sequence[Card], named: bool) -> Joined:
    if match.card is None:
        return Joined(Card(reasons={"device": match.reason or "the driver does not list this card"}), named)
    card, in_slice = cards[match.card], match.in_slice or named
    if not in_slice:
        return Joined(card)
    if match.slice is None:
        why = "this process has a part of the card (MIG), and the driver does not say which"
        return Joined(_of_part(card, None, None, {"total_bytes": why, "programs": why}), True)
    part: Part = card.parts[match.slice]
    return Joined(_of_part(replace(card, name=part.name or card.name), part.memory, part.processes, part.reasons), True)


def _of_part(
    card: Card, memory: Memory | None, processes: Sequence[Program] | None, reasons: Mapping[str, str]
) -> Card:
    """The card with the figures of a part; what it does not have of its own (temperature) stays the card's."""
    kept = {name: why for name, why in card.reasons.items() if name not in {"total_bytes", "programs"}}
    return replace(card, memory=memory, processes=processes, shared_memory=False, reasons={**kept, **reasons})
