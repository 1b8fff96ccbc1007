"""Which shapes are a LATENT, what they are called, and what a wrong one is told."""

from __future__ import annotations

import pytest
import torch
from fakes.latents import BareNested

from headroom.core.errors import LatentError, UnknownLayout
from headroom.tensors.layouts import mask_parts, read


@pytest.mark.parametrize(
    ("shape", "said", "kind"),
    [
        ((1, 4, 64, 64), None, "image"),
        ((2, 128, 32, 32), None, "image"),
        ((1, 16, 21, 60, 104), None, "video"),
        ((1, 16, 1, 128, 128), None, "image"),
        ((1, 64, 1024), None, "audio"),
        ((1, 64, 1024), "audio", "audio"),
        ((1, 8, 16, 100), "audio", "audio"),
        ((1, 64, 3072), "hunyuan3dv2", "tokens"),
        ((0, 4, 8, 8), None, "image"),
    ],
)
def test_each_layout_of_comfyui_has_its_name(shape: tuple[int, ...], said: str | None, kind: str) -> None:
    """A video of one frame is an image: Qwen-Image latents are [1, 16, 1, H, W] (ComfyUI #9218)."""
    samples = torch.zeros(shape)
    latent = {"samples": samples} if said is None else {"samples": samples, "type": said}
    layout = read(latent)
    assert not layout.nested
    assert [(stream.index, stream.kind) for stream in layout.streams] == [(0, kind)]
    assert layout.streams[0].tensor is samples


@pytest.mark.parametrize("audio", [(1, 8, 50), (1, 8, 50, 16), (1, 32, 2, 40)])
def test_in_a_nested_latent_the_video_comes_first_and_the_rest_is_audio(audio: tuple[int, ...]) -> None:
    """LTX-2 has [B, C, T, F] for its audio, MiniMax H3 [B, 32, 2, T]."""
    layout = read({"samples": BareNested([torch.zeros(1, 128, 16, 22, 40), torch.zeros(audio)])})
    assert layout.nested
    assert [stream.kind for stream in layout.streams] == ["video", "audio"]
    assert [tuple(stream.tensor.shape) for stream in layout.streams] == [(1, 128, 16, 22, 40), audio]


def test_nested_parts_without_a_video_have_no_name() -> None:
    """TripoSplat: a sequence of tokens and a camera."""
    layout = read({"samples": BareNested([torch.zeros(1, 4096, 32), torch.zeros(1, 1, 5)])})
    assert [stream.kind for stream in layout.streams] == ["tokens", "tokens"]


def test_a_nested_latent_is_rebuilt_as_its_own_type() -> None:
    """A nested latent that became a plain one broke sampling: ComfyUI #13692, PR#13318."""
    parts = [torch.zeros(1, 128, 16, 22, 40), torch.zeros(1, 8, 50)]
    rebuilt = read({"samples": BareNested(parts)}).rebuilt(parts)
    assert type(rebuilt) is BareNested
    assert [tuple(t.shape) for t in rebuilt.unbind()] == [(1, 128, 16, 22, 40), (1, 8, 50)]


@pytest.mark.parametrize(
    ("latent", "words"),
    [
        (None, "is a NoneType, not a LATENT"),
        (torch.zeros(1, 4, 8, 8), "is a Tensor, not a LATENT"),
        ({}, 'has no "samples" (its keys: none)'),
        ({"noise_mask": 1}, 'has no "samples" (its keys: noise_mask)'),
        ({"samples": None}, '"samples" in the LATENT is a NoneType, not a tensor'),
        ({"samples": [torch.zeros(1, 4, 8, 8)]}, '"samples" in the LATENT is a list, not a tensor'),
        ({"samples": BareNested([])}, "nested latent without tensors"),
    ],
)
def test_what_is_no_latent_is_named_for_what_it_is(latent: object, words: str) -> None:
    with pytest.raises(LatentError) as raised:
        read(latent)
    assert words in str(raised.value)
    assert not isinstance(raised.value, UnknownLayout)


@pytest.mark.parametrize("shape", [(), (4,), (4, 64), (1, 1, 1, 4, 64, 64)])
def test_an_unknown_layout_is_told_its_shape_and_the_known_ones(shape: tuple[int, ...]) -> None:
    with pytest.raises(UnknownLayout) as raised:
        read({"samples": torch.zeros(shape)})
    text = str(raised.value)
    assert str(list(shape)) in text
    assert f"{len(shape)}-D" in text
    assert "[batch, channels, frames, height, width] for video" in text


def test_an_unknown_part_of_a_nested_latent_is_named_by_its_index() -> None:
    with pytest.raises(UnknownLayout, match=r"Stream 1 of `samples` has the shape \[8, 50\]"):
        read({"samples": BareNested([torch.zeros(1, 128, 16, 22, 40), torch.zeros(8, 50)])})


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_torchs_own_nested_tensors_are_refused_by_name() -> None:
    nested = torch.nested.nested_tensor([torch.zeros(4, 8, 8), torch.zeros(4, 8, 9)])
    with pytest.raises(UnknownLayout, match=r"torch\.nested"):
        read({"samples": nested})


def test_masks_are_taken_apart_as_the_latent_is() -> None:
    mask = torch.ones(1, 1, 8, 8)
    assert mask_parts({}) == ()
    assert mask_parts({"noise_mask": None}) == ()
    assert mask_parts({"noise_mask": mask}) == (mask,)
    assert mask_parts({"noise_mask": BareNested([mask, mask])}) == (mask, mask)
