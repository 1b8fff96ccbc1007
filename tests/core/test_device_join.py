"""Which card each of torch's devices is, with the driver's order against CUDA's."""

from __future__ import annotations

import pytest

from headroom.core.device_join import UNKNOWN_ORDER, Listed, Match, Seen, join, plain_pci, visible_cards

A = Listed("GPU-aaaa1111-0000-0000-0000-000000000001", "00000000:01:00.0", "NVIDIA GeForce RTX 3060")
B = Listed("GPU-bbbb2222-0000-0000-0000-000000000002", "00000000:41:00.0", "NVIDIA GeForce RTX 4090")
UUID_A, UUID_B = "aaaa1111-0000-0000-0000-000000000001", "bbbb2222-0000-0000-0000-000000000002"
#: A partitioned A100 with two parts, as the driver lists it.
MIG = Listed(
    "GPU-cccc3333-0000-0000-0000-000000000003",
    "00000000:81:00.0",
    "NVIDIA A100-SXM4-40GB",
    ("MIG-dddd4444-0000-0000-0000-000000000004", "MIG-eeee5555-0000-0000-0000-000000000005"),
)


def cards(*matches: Match) -> list[int | None]:
    return [match.card for match in matches]


def test_cudas_fastest_first_against_the_order_on_the_bus():
    """MEM-14, tensorflow #32881: CUDA order [B, A], driver's order [A, B], CUDA_VISIBLE_DEVICES=1 -> A, by UUID."""
    assert join([Seen(UUID_A)], [A, B], visible="1") == (Match(0),)
    assert cards(*join([Seen(UUID_B), Seen(UUID_A)], [A, B])) == [1, 0]


def test_a_uuid_beats_a_number_that_points_elsewhere():
    """pytorch #86539: number 1 would be B in the driver's order."""
    assert cards(*join([Seen(UUID_A)], [A, B], visible="1", order="PCI_BUS_ID")) == [0]


def test_without_a_uuid_the_place_on_the_bus_counts():
    """torch before 2.4 has no UUID; pynvml #28."""
    assert cards(*join([Seen(pci="0000:41:00.0"), Seen(pci="0000:01:00.0")], [A, B])) == [1, 0]


def test_a_driver_that_lists_no_uuids_is_joined_by_the_bus():
    old_a, old_b = Listed(pci=A.pci, name=A.name), Listed(pci=B.pci, name=B.name)
    assert cards(*join([Seen(UUID_B, "0000:41:00.0")], [old_a, old_b])) == [1]


def test_two_cards_on_one_bus_address_of_two_machines_are_told_apart():
    """A UUID that is listed nowhere is another card, whatever the address says."""
    found = join([Seen("ffff9999-0000-0000-0000-000000000009", "0000:01:00.0")], [A, B])
    assert found == (Match(None, reason="the driver does not list this card"),)


def test_before_torch_has_opened_cards_of_two_kinds_the_order_is_unknown():
    """A guess would show the wrong card's figures."""
    found = join([Seen(), Seen()], [A, B])
    assert [match.card for match in found] == [None, None]
    assert found[0].reason == UNKNOWN_ORDER


@pytest.mark.parametrize(
    ("listed", "visible", "order", "expected"),
    [
        ([A, B], "0,1", "PCI_BUS_ID", [0, 1]),
        ([B, A], "0,1", "PCI_BUS_ID", [1, 0]),
        ([A, B], "1", "PCI_BUS_ID", [1]),
        ([A, A], None, None, [0, 1]),
        ([A, A], "1,0", None, [1, 0]),
        ([A], None, None, [0]),
        ([A, B], f"GPU-{UUID_B}", None, [1]),
        ([A, B], " GPU-bbbb2222 , GPU-aaaa ", None, [1, 0]),
        ([A, B], "", None, []),
        ([A, B], "-1", None, []),
        ([A, A], "0,7,1", None, [0]),
        ([A, A], "0,-1,1", None, [0]),
        ([A, B], "GPU-99,0", None, []),
        ([A, A], "GPU-aaaa,1", None, []),
    ],
)
def test_cuda_visible_devices_in_all_its_forms(
    listed: list[Listed], visible: str | None, order: str | None, expected: list[int]
):
    """A word that names no card, or more than one, ends the list; so CUDA does it."""
    assert cards(*visible_cards(listed, visible, order)) == expected


@pytest.mark.parametrize(
    ("visible", "match"),
    [
        (MIG.slices[1], Match(1, 1, in_slice=True)),
        ("MIG-eeee5555", Match(1, 1, in_slice=True)),
        (f"MIG-{MIG.uuid}/1/0", Match(1, in_slice=True)),
        (MIG.uuid, Match(1, in_slice=True)),
    ],
)
def test_a_part_of_a_partitioned_card_is_known_by_its_name(visible: str, match: Match):
    """MEM-16: by its UUID, by the form that drivers before 470 have, and by the card alone."""
    assert visible_cards([A, MIG], visible, None) == (match,)
    # torch gives the card's own UUID for a part of it.
    assert join([Seen("cccc3333-0000-0000-0000-000000000003")], [A, MIG], visible) == (match,)


def test_a_part_is_also_known_by_its_own_uuid():
    assert join([Seen("eeee5555-0000-0000-0000-000000000005")], [A, MIG]) == (Match(1, 1, in_slice=True),)


def test_the_only_part_of_a_card_needs_no_name():
    one = Listed(MIG.uuid, MIG.pci, MIG.name, MIG.slices[:1])
    assert visible_cards([one], None, None) == (Match(0, 0, in_slice=True),)


def test_without_a_driver_nothing_is_joined():
    assert join([Seen(UUID_A)], []) == (Match(None, reason="the driver lists no card"),)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("00000000:41:00.0", "0000:41:00.0"),
        ("0000:c1:00.0", "0000:c1:00.0"),
        ("00010000:C1:1F.7", "10000:c1:1f.7"),
        ("01:00.0", "0000:01:00.0"),
        ("0000:01:00", "0000:01:00.0"),
        ("nonsense", None),
        ("a:b:c:d", None),
        ("x:y:z.0", None),
        (None, None),
    ],
)
def test_a_pci_address_has_one_form(text: str | None, plain: str | None):
    assert plain_pci(text) == plain
