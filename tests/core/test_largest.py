"""The largest run that fits, against needs that are worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from core.test_blocks import wan

from headroom.core.budget import Stage
from headroom.core.component import component_of
from headroom.core.families.identity import Latent
from headroom.core.largest import MOST_SIDE, Largest, fits, largest
from headroom.core.needs import Models, Run, latent_shape
from headroom.core.offload import Role
from headroom.core.tensorinfo import ModelFile

MIB = 2**20
WAN = Models([component_of(ModelFile("wan", "safetensors", wan(layers=2)))])


def byte_per_pixel(models: Models, run: Run, room_bytes: int) -> list[tuple[Role, Stage]]:
    """Work of 1 byte per pixel and latent frame; weights that can leave."""
    frames = (run.frames - 1 + 3) // 4 + 1
    work = run.width * run.height * frames
    return [("diffusion", Stage("Sampling", "m", 8 * MIB, work // 2, work, least_weights_bytes=MIB))]


def test_the_most_frames_at_a_size() -> None:
    """1024x1024 is 1 MiB a latent frame, 20 MiB less 1 of weights hold 19 latent frames: 73 frames."""
    found = largest(WAN, Run(1024, 1024, 81), 20 * MIB, byte_per_pixel)
    assert found.frames == 18 * 4 + 1


def test_the_largest_size_with_the_frames_that_were_asked_for() -> None:
    """21 latent frames (81) in 19 MiB: 948,708 pixels each; 974 a side, of which 960 is a multiple of 16."""
    found = largest(WAN, Run(1024, 1024, 81), 20 * MIB, byte_per_pixel)
    assert found.size == (960, 960)
    assert 960 * 960 * 21 <= 19 * MIB < 976 * 976 * 21


@pytest.mark.parametrize(
    ("room", "size"),
    [
        # The longer side is a multiple of 16, the other the nearest one: 832 x 480 is 52 x 30.
        (MIB + 832 * 480, (832, 480)),
        (MIB + 832 * 480 - 1, (816, 464)),
        (MIB + 16 * 16, (16, 16)),
        (MIB + 16 * 16 - 1, None),
    ],
)
def test_the_shape_is_kept(room: int, size: tuple[int, int] | None) -> None:
    found = largest(WAN, Run(832, 480), room, byte_per_pixel)
    assert found == Largest(None, size)


def test_there_is_an_end_to_the_search() -> None:
    found = largest(WAN, Run(1024, 1024, 81), 10**15, byte_per_pixel)
    assert found.size == (MOST_SIDE, MOST_SIDE)
    assert found.frames == 499 * 4 + 1


def test_it_agrees_with_trying_every_size() -> None:
    room = 7 * MIB
    tried = [side for side in range(16, 4096, 16) if side * side * 6 + MIB <= room]
    assert largest(WAN, Run(64, 64, 21), room, byte_per_pixel).size == (tried[-1], tried[-1])


def test_what_only_may_fit_does_not_count() -> None:
    run = Run(1024, 1024, 1)
    assert fits(WAN, run, 2 * MIB, stages_of=byte_per_pixel)
    assert not fits(WAN, run, 2 * MIB - 1, stages_of=byte_per_pixel)


def test_an_unknown_model_and_sound_have_no_largest() -> None:
    from core.test_blocks import tensor

    unknown = component_of(ModelFile("x", "safetensors", {"a.0.w": tensor("a.0.w", (8,))}))
    assert largest(Models([unknown]), Run(64, 64), 10**12, byte_per_pixel) == Largest(None, None)
    assert largest(Models([]), Run(64, 64), 10**12, byte_per_pixel) == Largest(None, None)
    song = replace(WAN.diffusion[0].identity, latent=Latent("ACEAudio", 8, 1, 8, 4096))
    sound = replace(WAN.diffusion[0], identity=song)
    assert largest(Models([sound]), Run(64, 64), 10**12, byte_per_pixel) == Largest(None, None)
    assert latent_shape(Latent("ACEAudio", 8, 1, 8, 4096), Run(64, 64)) == (1, 8, 8)


def test_where_the_work_is_not_known_nothing_surely_fits() -> None:
    def unknown(models: Models, run: Run, room_bytes: int) -> list[tuple[Role, Stage]]:
        return [("diffusion", Stage("Sampling", "m", MIB, None, None))]

    assert largest(WAN, Run(64, 64, 9), 10**12, unknown) == Largest(None, None)
