"""Which card of the driver's list each of torch's devices is: by UUID, by PCI address, by CUDA_VISIBLE_DEVICES.

The driver lists cards by their place on the bus, CUDA by default the fastest first and only the visible ones, so the
same number means another card (tensorflow #32881). Where nothing tells, there is no match rather than a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNKNOWN_ORDER = "CUDA's order of the cards is not known before torch has opened them"


@dataclass(frozen=True)
class Listed:
    """A card as the driver lists it."""

    uuid: str | None = None
    pci: str | None = None
    name: str | None = None
    slices: Sequence[str] = ()
    """UUIDs of the parts of a partitioned card (MIG)."""


@dataclass(frozen=True)
class Seen:
    """One of torch's devices, as far as torch says what it is."""

    uuid: str | None = None
    pci: str | None = None


@dataclass(frozen=True)
class Match:
    """The card that a device is; ``card`` is its place in the driver's list."""

    card: int | None
    slice: int | None = None
    """Its part of the card, by its place among the parts."""
    in_slice: bool = False
    """It is a part of the card, also where it is not known which."""
    reason: str | None = None
    """Why there is no card."""


def join(
    seen: Sequence[Seen], listed: Sequence[Listed], visible: str | None = None, order: str | None = None
) -> tuple[Match, ...]:
    """A match for each of torch's devices.

    Args:
        visible: CUDA_VISIBLE_DEVICES; None where it is not set.
        order: CUDA_DEVICE_ORDER.
    """
    chosen = visible_cards(listed, visible, order, len(seen))
    return tuple(_match(device, listed, chosen[i] if i < len(chosen) else None) for i, device in enumerate(seen))


def visible_cards(
    listed: Sequence[Listed], visible: str | None, order: str | None, wanted: int | None = None
) -> tuple[Match, ...]:
    """The cards that CUDA shows, in its order, from the environment alone.

    As CUDA does it: a word that names no card ends the list. ``wanted`` devices are known to be there: with fewer
    cards found the last ones have no match.
    """
    if visible is None:
        count = len(listed) if wanted is None else wanted
        words = [str(index) for index in range(count)]
    else:
        words = [word.strip() for word in visible.split(",")]
    found = []
    for word in words:
        match = _named(word, listed, order)
        if match is None:
            break
        found.append(match)
    return tuple(found)


def plain_uuid(text: str | None) -> str | None:
    """A UUID without the driver's ``GPU-`` or ``MIG-``, which torch leaves out."""
    if not text:
        return None
    return text.strip().lower().removeprefix("gpu-").removeprefix("mig-")


def plain_pci(text: str | None) -> str | None:
    """A PCI address with a domain of four digits: the driver writes eight, sysfs four."""
    parts = (text or "").strip().lower().split(":")
    if len(parts) == 2:
        parts.insert(0, "0")
    if len(parts) != 3:
        return None
    domain, bus, rest = parts
    device, _, function = rest.partition(".")
    try:
        return f"{int(domain, 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{int(function or '0', 16):x}"
    except ValueError:
        return None


def _match(device: Seen, listed: Sequence[Listed], chosen: Match | None) -> Match:
    uuid, pci = plain_uuid(device.uuid), plain_pci(device.pci)
    for index, card in enumerate(listed):
        parts = [plain_uuid(part) for part in card.slices]
        if uuid is not None and uuid in parts:
            return Match(index, parts.index(uuid), in_slice=True)
    for index, card in enumerate(listed):
        same_uuid = uuid is not None and plain_uuid(card.uuid) == uuid
        # A card without a UUID (an old driver) or torch without one: its place on the bus is as good.
        unclear = uuid is None or card.uuid is None
        if same_uuid or (unclear and pci is not None and plain_pci(card.pci) == pci):
            return chosen if chosen is not None and chosen.card == index else _whole(index, listed)
    if uuid is not None and any(card.uuid for card in listed):
        return Match(None, reason="the driver does not list this card")
    return chosen or Match(None, reason="the driver lists no such card" if listed else "the driver lists no card")


def _named(word: str, listed: Sequence[Listed], order: str | None) -> Match | None:
    """The card that a word of CUDA_VISIBLE_DEVICES names; None where it names none and CUDA stops reading."""
    if word.isdigit():
        return _numbered(int(word), listed, order)
    lowered = word.lower()
    if lowered.startswith("mig-gpu-"):
        # The form before driver 470: MIG-GPU-<UUID of the card>/<instance>/<instance>.
        card = _with_uuid(plain_uuid(lowered[4:].partition("/")[0]), [plain_uuid(card.uuid) for card in listed])
        return None if card is None else Match(card, in_slice=True)
    if lowered.startswith("mig-"):
        for index, card in enumerate(listed):
            part = _with_uuid(plain_uuid(lowered), [plain_uuid(part) for part in card.slices])
            if part is not None:
                return Match(index, part, in_slice=True)
        return None
    card = _with_uuid(plain_uuid(lowered), [plain_uuid(card.uuid) for card in listed]) if "gpu-" in lowered else None
    return None if card is None else _whole(card, listed)


def _whole(card: int, listed: Sequence[Listed]) -> Match:
    """A card named as such; of a partitioned one CUDA gives a part, which is known where there is only one."""
    parts = len(listed[card].slices)
    return Match(card, 0 if parts == 1 else None, in_slice=parts > 0)


def _with_uuid(beginning: str | None, uuids: Sequence[str | None]) -> int | None:
    """The only one that begins so: CUDA takes an abbreviation as long as it is unique."""
    found = [index for index, uuid in enumerate(uuids) if beginning and uuid and uuid.startswith(beginning)]
    return found[0] if len(found) == 1 else None


def _numbered(number: int, listed: Sequence[Listed], order: str | None) -> Match | None:
    if number >= len(listed):
        return None
    if order == "PCI_BUS_ID":
        ranked = sorted(range(len(listed)), key=lambda index: plain_pci(listed[index].pci) or "")
        return _whole(ranked[number], listed)
    # Among cards of one kind the fastest first is the order on the bus.
    if len({card.name for card in listed}) == 1 and listed[0].name is not None:
        return _whole(number, listed)
    if len(listed) == 1:
        return _whole(0, listed)
    return Match(None, reason=UNKNOWN_ORDER)
