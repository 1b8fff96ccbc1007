"""What is sampled beside a picture: the host counts it, and with its channels."""

from __future__ import annotations

import pytest

from headroom.core.activation import TOGETHER_MARGIN, activation_need
from headroom.core.families.common import LATENTS
from headroom.core.needs import Models, Run, latent_shape, settled, stages, step_of
from headroom.core.presets import preset_component, preset_named
from headroom.core.sampled import frames_made, latent_frames, sampled

GIB = 2**30
MIB = 2**20


def together(format_: str, run: Run) -> tuple[tuple[int, ...], ...]:
    """All latents of a run."""
    latent = LATENTS[format_]
    return sampled(latent, latent_shape(latent, run), run.frames)


@pytest.mark.parametrize(
    ("format_", "run", "shapes"),
    [
        # 121 frames at 25 a second are 4.84 s of sound at 25 latents a second.
        ("LTXAV", Run(1280, 720, 121), ((1, 128, 16, 23, 40), (1, 8, 121, 16))),
        ("LTXAV", Run(768, 512, 97, batch=2), ((2, 128, 13, 16, 24), (2, 8, 97, 16))),
        # 124 = 5 + 7 x 17 frames are 2 + 7 x 5 latent ones; 124 / 24 s at 40 a second are 206.7.
        ("MiniMaxH3AV", Run(1344, 768, 124), ((1, 24, 37, 48, 84), (1, 32, 2, 207))),
        # One frame more makes a cycle of 17: 141 / 24 x 40 = 235.
        ("MiniMaxH3AV", Run(1344, 768, 125), ((1, 24, 42, 48, 84), (1, 32, 2, 235))),
        ("MiniMaxH3AV", Run(1344, 768, 1), ((1, 24, 2, 48, 84), (1, 32, 2, 8))),
        ("TripoSplat", Run(512, 512), ((1, 8192, 16), (1, 1, 5))),
        ("Wan21", Run(832, 480, 81), ((1, 16, 21, 60, 104),)),
    ],
)
def test_what_a_run_samples(format_: str, run: Run, shapes: tuple[tuple[int, ...], ...]) -> None:
    assert together(format_, run) == shapes


@pytest.mark.parametrize(
    ("format_", "frames", "latents", "made"),
    [
        ("Wan21", 81, 21, 81),
        ("Wan21", 82, 22, 85),
        ("MiniMaxH3AV", 124, 37, 124),
        ("MiniMaxH3AV", 125, 42, 141),
        # SeedVR2's VAE takes four frames together, although its latent format does not say so.
        ("SeedVR2", 21, 6, 21),
    ],
)
def test_frames_are_rounded_as_the_family_does(format_: str, frames: int, latents: int, made: int) -> None:
    """A plan says "125 frames are counted as 141"."""
    assert (latent_frames(LATENTS[format_], frames), frames_made(LATENTS[format_], frames)) == (latents, made)


def test_ltx_2_in_8_gib_streams_its_weights_twice_a_step() -> None:
    """Without the sound the host's number was 129 times too low, and both prompts seemed to go together.

    128 x 16 x 23 x 40 values of picture and 8 x 121 x 16 of sound, of two prompts, two bytes, a hundredth, 0.077 MiB.
    """
    preset = preset_named("example: LTX-2 19B, fp8")
    assert preset is not None
    model, run = preset_component(preset), Run(1280, 720, 121, cfg=4)
    step = step_of(model, run)
    assert step is not None
    wanted = activation_need(model.identity, step).reserved_by_host_bytes
    assert wanted is not None
    assert wanted == pytest.approx(2 * (1_884_160 + 15_488) * 2 * 0.01 * 0.077 * MIB, abs=1)
    assert wanted / GIB == pytest.approx(5.71, abs=0.01)
    # 5.71 GiB, half as much again, are 8.57: more than what 8 GiB leave.
    room = int(6.95 * GIB)
    assert wanted * TOGETHER_MARGIN > room
    assert settled(model, run, room).together is False
    assert stages(Models([model]), run, room)[0][1].passes == 2
