"""Public reports that state an input and a verdict, each against the rules; C# is Comfy-Org/ComfyUI."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flag_cases import (
    FP8_FILE,
    GB,
    GIB,
    GTX_1660,
    KL_VAE,
    MIB,
    QWEN,
    RTX_2060,
    RTX_3060,
    RTX_4080,
    RX_7900,
    SDXL,
    SPARK,
    T5,
    WAN,
    holding,
    snap,
)

from headroom.core.flags import Advice, advise
from headroom.core.readings import Device, Failure, LastRun, LoadedModel, Program, Snapshot, WorkflowModel


def ids(snapshot: Snapshot) -> list[str]:
    return [advice.id for advice in advise(snapshot)]


def one(snapshot: Snapshot, rule: str) -> Advice:
    return next(advice for advice in advise(snapshot) if advice.id == rule)


# --- exactly the rules that fit, with flags that go with --cpu ---


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("", []),
        ("--cpu-vae --fp16-vae", ["cpu-vae-fp16"]),
        ("--fp16-vae", ["cpu-vae-fp16"]),
        ("--force-fp32 --fp16-unet", ["force-fp32-low-unet"]),
        ("--force-fp16 --fp32-unet", ["force-fp16-wide-unet"]),
        ("--reserve-vram -1", ["reserve-negative"]),
        ("--reserve-vram nan", ["reserve-nan"]),
        ("--reserve-vram 2", []),
        ("--vram-headroom 2 --fast-disk", ["headroom-static"]),
        ("--vram-headroom -1", ["headroom-static"]),
        ("--async-offload 2 --disable-async-offload", ["async-both"]),
        ("--force-fp16 --fp8_e4m3fn-unet", ["force-fp16-beats-fp8"]),
        ("--fp16-intermediates", ["fp16-intermediates-inf"]),
        ("--enable-dynamic-vram", ["cpu-enable-dynamic"]),
        ("--disable-dynamic-vram --use-split-cross-attention --cache-none --preview-method auto --listen", []),
    ],
)
def test_on_the_cpu_exactly_the_rules_that_fit(argv: str, expected: list[str]) -> None:
    cpu_kl = replace(KL_VAE, dtype="fp32", device="cpu")
    assert ids(snap(f"--cpu {argv}", models=(SDXL, cpu_kl), dynamic_vram=False)) == expected


def test_a_card_that_comfyui_does_not_use_brings_no_rule() -> None:
    """``--cpu`` on a machine with a card, should the readings list it all the same."""
    assert ids(snap("--cpu --force-fp16 --reserve-vram 99", devices=(GTX_1660,), models=(KL_VAE,))) == []


@pytest.mark.parametrize(
    ("device", "host"),
    [
        (replace(RX_7900, total_bytes=8 * GIB), {"platform": "linux"}),
        (replace(RX_7900, driver=None), {"platform": "windows"}),
        (replace(RTX_4080, name="Intel(R) Arc(TM) B580", kind="xpu", capability=None), {"platform": "linux"}),
        (replace(SPARK, name="Apple GPU", kind="mps", capability=None), {"platform": "macos"}),
        (Device(0, "AMD Radeon RX 580", "directml"), {"platform": "windows"}),
        (replace(SPARK, programs=(Program("ollama", 40 * GIB, 7),)), {"platform": "linux", "dynamic_vram": True}),
        (replace(RTX_4080, mig_slice=True, total_bytes=10 * GIB), {"platform": "linux", "dynamic_vram": True}),
    ],
    ids=["AMD", "AMD on Windows", "Intel", "Apple", "DirectML", "unified NVIDIA", "a part of a card"],
)
def test_other_makes_as_they_come_get_no_advice(device: Device, host: dict[str, Any]) -> None:
    """Dynamic VRAM is off there without anybody's fault, and what is unknown of the device brings nothing."""
    parts = {"devices": (device,), "dynamic_vram": False, "versions": {"torch": "2.9.0"}, "models": (SDXL, KL_VAE)}
    assert ids(snap(**(parts | host))) == []


# --- launch flags ---


def test_flag_01_lowvram_is_a_no_op_only_under_dynamic_vram() -> None:
    """PR#13922."""
    assert one(snap("--lowvram"), "lowvram-noop").severity == "info"
    assert "lowvram-noop" not in ids(snap("--lowvram", dynamic_vram=False))
    assert "lowvram-noop" not in ids(snap("--lowvram", dynamic_vram=None))


def test_flag_01_before_0_18_2_lowvram_still_moves_the_text_encoder() -> None:
    """comfy/model_management.py 0.16.3: text_encoder_device does not ask for dynamic VRAM."""
    assert ids(snap("--lowvram", version="0.16.3", models=(T5,))) == ["lowvram-text-encoder"]
    assert ids(snap("--lowvram", version="0.18.2", models=(T5,))) == ["lowvram-noop"]


def test_flag_03_highvram_with_a_model_larger_than_the_card() -> None:
    """Wan 14B fp8, 16.1 GB, on a card of 15 GB."""
    card = replace(RTX_4080, total_bytes=15 * GB)
    advice = one(snap("--highvram", models=(WAN,), devices=(card,)), "resident-too-large")
    assert advice.severity == "problem"
    assert advice.command == "python main.py"
    assert "resident-too-large" in ids(snap("--gpu-only", models=(WAN,), devices=(card,)))
    assert "resident-too-large" not in ids(snap("--highvram", models=(SDXL,), devices=(card,)))


def test_flag_03_gpu_only_counts_the_text_encoder_too() -> None:
    """8 and 6.3 GiB on a card of 16, of which a run can have 14.7: beside both there is no room for sampling."""
    fits_alone = replace(WAN, size_bytes=8 * GIB)
    assert "resident-too-large" not in ids(snap("--highvram", models=(fits_alone, T5)))
    assert "resident-too-large" in ids(snap("--gpu-only", models=(fits_alone, T5)))


def test_flag_03_the_text_encoder_loads_beside_a_model_that_stays() -> None:
    """unet_offload_device is the card with --highvram, so that making room frees nothing."""
    advice = one(snap("--highvram", models=(replace(WAN, size_bytes=9 * GIB), T5)), "resident-too-large")
    assert advice.params["stage"] == "text encoding"
    assert advice.params["need_bytes"] == 9 * GIB + 6419 * MIB


def test_flag_04_enable_wins_over_disable() -> None:
    advice = one(snap("--enable-dynamic-vram --disable-dynamic-vram"), "dynamic-both")
    assert advice.command == "python main.py --enable-dynamic-vram"


def test_flag_10_reserve_vram_is_soft_and_never_without_effect() -> None:
    """C#15666, PR#14480, C#14396: --reserve-vram 2 on a card of 31.5 GB, use still reaches 31.0 GB."""
    card = replace(RTX_4080, total_bytes=int(31.5 * GIB))
    for version in ("0.16.3", "0.24.1", "0.30.0"):
        advice = one(snap("--reserve-vram 2", version=version, devices=(card,)), "reserve-soft")
        assert advice.severity == "info"
        assert "no effect" not in " ".join([advice.title, advice.why, advice.fix]).lower()
    assert advice.change.add == ("--vram-headroom", "2")
    old = one(snap("--reserve-vram 2", version="0.24.1", devices=(card,)), "reserve-soft")
    assert "--vram-headroom" not in old.why + old.fix
    assert not old.change


@pytest.mark.parametrize(
    ("value", "rule"), [("-1", "reserve-negative"), ("nan", "reserve-nan"), ("114", "reserve-too-large")]
)
def test_flag_11_values_that_are_accepted_and_wrong(value: str, rule: str) -> None:
    card = replace(RTX_4080, total_bytes=24 * GIB)
    assert ids(snap(f"--reserve-vram {value}", devices=(card,))) == [rule]
    assert value in one(snap(f"--reserve-vram {value}", devices=(card,)), rule).title


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_flag_11_since_0_27_a_reserve_that_is_no_number_ends_the_start(value: str) -> None:
    """Run with 0.30.0: main.py, int(args.reserve_vram * 1024 ** 3) raises ValueError or OverflowError."""
    assert "stops ComfyUI" in one(snap(f"--reserve-vram {value}"), "reserve-nan").title
    for argv, version in (
        (f"--disable-dynamic-vram --reserve-vram {value}", "0.30.0"),
        (f"--reserve-vram {value}", "0.24.1"),
    ):
        assert "stops ComfyUI" not in one(snap(argv, version=version), "reserve-nan").title


def test_flag_12_a_large_reserve_on_unified_memory_is_meant() -> None:
    """home-ops PR#10086 to 10089: 124 GiB shared, reserve 114 and headroom 8."""
    shared = snap("--reserve-vram 114 --vram-headroom 8", devices=(SPARK,))
    assert all(advice.severity == "info" for advice in advise(shared))
    alone = snap("--reserve-vram 114", devices=(SPARK,))
    assert all(advice.severity == "info" for advice in advise(alone))


def test_flag_12_and_11_no_reserve_is_too_large_for_unified_memory() -> None:
    assert "reserve-too-large" not in ids(snap("--reserve-vram 200", devices=(SPARK,)))
    assert "headroom-too-large" not in ids(snap("--vram-headroom 200", devices=(SPARK,)))


def test_the_default_reserve_of_windows() -> None:
    """comfy/model_management.py: 600 MiB, 100 more above 15 GiB."""
    small = replace(RTX_4080, total_bytes=12 * GIB)
    for card, least in ((small, 600), (RTX_4080, 700)):
        for reserve, expected in ((least - 30, True), (least + 30, False)):
            found = ids(snap(f"--reserve-vram {reserve / 1024}", platform="windows", devices=(card,)))
            assert ("reserve-below-default" in found) is expected


def test_flag_13_what_to_keep_free_on_8_gb_is_what_users_found() -> None:
    """C#4693: 1.2, 2.0 and 2.4 on a card of 8 GB."""
    card = replace(RTX_4080, total_bytes=8 * GIB)
    for spilled, keep in ((0.3, "1.2"), (2.0, "2"), (6.0, "2.4")):
        run = LastRun(spilled_bytes=int(spilled * GIB))
        advice = one(snap(platform="windows", devices=(card,), last_run=run), "sysmem-fallback")
        assert advice.change.add == ("--vram-headroom", keep)
    old = one(snap(platform="windows", version="0.24.1", devices=(card,), last_run=run), "sysmem-fallback")
    assert old.change.add == ("--reserve-vram", "2.4")


def test_flag_15_pairs_name_what_really_happens() -> None:
    low = one(snap("--force-fp32 --fp16-unet"), "force-fp32-low-unet")
    assert low.params["stored"] == "fp16"
    assert "computes in fp32" in low.title
    qwen = WorkflowModel("diffusion", "QwenImage", 20 * GIB)
    kept = snap("--force-fp32 --fp16-unet", devices=(RTX_2060,), workflow_models=(qwen,))
    # Without --force-fp32 it would compute in fp16 there, where Qwen-Image overflows.
    assert "force-fp32-low-unet" not in ids(kept)
    wide = one(snap("--force-fp16 --fp32-unet"), "force-fp16-wide-unet")
    assert (wide.severity, wide.params["dtype"]) == ("info", "fp32")


def test_flag_15_a_flag_that_comfyui_set_itself_is_not_one_that_was_given() -> None:
    """--force-fp16 makes fp16_unet true in the parsed arguments."""
    snapshot = snap("--force-fp16")
    forced = replace(snapshot, host=replace(snapshot.host, args={"force_fp16": True, "fp16_unet": True}))
    assert ids(forced) == []
    raw_only = replace(snapshot, host=replace(snapshot.host, argv=("--force-fp32", "--fp16-unet"), flags=frozenset()))
    assert ids(raw_only) == ["force-fp32-low-unet"]


def test_flag_17_the_16_series_runs_without_a_word_as_long_as_fp16_is_not_forced() -> None:
    """C#884."""
    for name in ("NVIDIA GeForce GTX 1650", "NVIDIA T1000 8GB", "NVIDIA GeForce MX450"):
        card = replace(GTX_1660, name=name)
        assert ids(snap(devices=(card,))) == []
        assert ids(snap("--fp16-unet", devices=(card,))) == []
        assert ids(snap("--force-fp16", devices=(card,))) == ["fp16-16xx"]
    assert ids(snap("--force-fp16", devices=(RTX_2060,))) == []
    # There --fp16-unet stores fp16 and computes in fp32, so what overflows elsewhere does not.
    assert ids(snap("--fp16-unet", devices=(GTX_1660,), models=(QWEN,))) == []
    pascal = replace(GTX_1660, name="NVIDIA GeForce GTX 1080", capability=(6, 1))
    assert ids(snap("--fp16-unet", devices=(pascal,), models=(QWEN,))) == []
    assert ids(snap("--fp16-unet", devices=(pascal,), models=(QWEN,), platform="windows")) == ["fp16-no-bf16-model"]


def test_flag_18_fp16_vae_on_the_cpu() -> None:
    assert ids(snap("--cpu-vae --fp16-vae")) == ["cpu-vae-fp16"]
    assert ids(snap("--cpu-vae --fp32-vae")) == []


def test_flag_20_the_disabled_node() -> None:
    """PR#10783; wanBlockswap #7, #8."""
    assert ids(snap(workflow_nodes=frozenset({"wanBlockSwap", "KSampler"}))) == ["blockswap-node"]
    assert ids(snap(workflow_nodes=frozenset({"WanVideoBlockSwap"}))) == []


def test_fp16_vae_with_sdxl_counts_without_a_vae_that_is_named() -> None:
    """A size or a UNet alone: SDXL's own VAE goes with it, and the help of the flag warns (madebyollin's fp16-fix)."""
    sdxl = (WorkflowModel("diffusion", "SDXL", 6 * GIB),)
    assert ids(snap("--fp16-vae", workflow_models=sdxl)) == ["fp16-vae-overflow"]
    assert ids(snap("--fp16-vae", workflow_models=(replace(sdxl[0], family="Flux"),))) == []
    tiny = replace(KL_VAE, class_name="TAESD")
    assert ids(snap("--fp16-vae", workflow_models=sdxl, models=(tiny,))) == []
    assert ids(snap("--fp16-vae")) == ["fp16-vae-alone"]
    assert ids(snap("--fp16-vae", last_run=LastRun(finite_fp16_decode=True))) == []


def test_flag_21_a_node_that_swaps_beside_dynamic_vram() -> None:
    """smthemex/ComfyUI_UniBlockSwap #8."""
    assert one(snap(workflow_nodes=frozenset({"UniBlockSwapTE"})), "swap-node-dynamic").severity == "warning"


def test_flag_22_disabling_dynamic_vram_is_not_called_wrong_outright() -> None:
    """C#13598: 27252.97 MB, out of memory with dynamic VRAM and fine without."""
    model = replace(WAN, dtype="bf16", size_bytes=int(27252.97 * MIB), dynamic=False)
    advice = one(snap("--disable-dynamic-vram", models=(model,)), "disabled-dynamic-too-large")
    assert advice.severity == "warning"
    assert "Compare" in advice.fix
    assert advice.params["streamed_bytes"] > 11 * GIB


def test_flag_26_on_amd_dynamic_vram_is_off_by_default_so_lowvram_counts() -> None:
    """main.py: ROCm 7.2 and no flag, dynamic VRAM is inactive; with the flag it is tried."""
    amd = {"devices": (RX_7900,), "versions": {"torch": "2.9.0", "rocm": "7.2"}}
    assert ids(snap("--lowvram", dynamic_vram=False, models=(T5,), **amd)) == ["lowvram-text-encoder"]
    assert ids(snap("--lowvram --enable-dynamic-vram", models=(T5,), **amd)) == ["lowvram-noop"]
    tried = one(snap("--fast-disk", dynamic_vram=False, **amd), "rocm-dynamic")
    assert tried.change.add == ("--enable-dynamic-vram",)


def test_flag_30_disable_fast_disk_wins() -> None:
    """In a ComfyUI newer than the flag table: both flags are there because its own parser took them."""
    snapshot = snap()
    host = replace(snapshot.host, version="0.35.0", flags=frozenset({"--fast-disk", "--disable-fast-disk"}))
    assert ids(replace(snapshot, host=host)) == ["fast-disk-both"]


# --- the machine ---


def test_mem_19_what_the_driver_does_not_name_is_said_as_an_estimate() -> None:
    """nvitop #55; NVIDIA/nvidia-docker #1458."""
    device = replace(RTX_4080, programs=(Program("ollama.exe", None, 12),), others_bytes=3 * GIB, others_estimated=True)
    advice = one(snap(platform="windows", devices=(device,)), "other-program")
    assert "about" in advice.title


def test_mem_22_an_idle_card_is_not_another_program() -> None:
    """gpustat #141: 300 to 900 MB."""
    for used in (308 * MIB, 900 * MIB):
        device = replace(RTX_4080, used_bytes=used, driver_bytes=used, others_bytes=used, others_estimated=True)
        assert ids(snap(devices=(device,))) == []
    for total in (6 * GIB, 16 * GIB):
        assert ids(snap(devices=holding(Program("Xorg", 308 * MIB), total_bytes=total))) == []
    # 0.6 GiB is a program on a card of 6 GiB, and nothing to speak of on one of 80.
    assert ids(snap(devices=holding(Program("firefox", 600 * MIB), total_bytes=6 * GIB))) == ["other-program"]
    assert ids(snap(devices=holding(Program("firefox", 600 * MIB), total_bytes=80 * GIB))) == []


def test_mem_24_on_unified_memory_programs_are_not_trusted() -> None:
    """pynvml #63: 5 GB of 60 GB."""
    device = replace(SPARK, programs=(Program("ollama", 5 * GIB),))
    assert ids(snap(devices=(device,))) == []


def test_mem_17_and_18_the_driver_is_gone() -> None:
    """nvidia-container-toolkit #48, #251, #1227; gpustat #147, nvtop #95."""
    lost = replace(RTX_4080, reasons={"used_bytes": "NVML: Unknown Error"})
    assert "container" in one(snap(devices=(lost,)), "nvml-lost").title
    mismatch = snap(devices=(), reasons={"devices": "NVML: Driver/library version mismatch"})
    assert one(mismatch, "driver-mismatch").fix == "Restart the machine."


def test_mem_37_and_ram_22_a_container_s_limit_that_comfyui_does_not_read() -> None:
    """C#14938, PR#15927: memory.max 34359738368 on a host of 62.8e9; pin budget 133 %; --cache-lru is a workaround."""
    snapshot = snap(total_bytes=34359738368, machine_bytes=int(62.8e9), reads_memory_limit=False)
    advice = one(snapshot, "cgroup-unread")
    assert advice.severity == "problem"
    assert advice.change.add == ("--cache-lru", "4")
    assert advice.params["pin_bytes"] / advice.params["limit_bytes"] > 1.3
    assert "cgroup-unread" not in ids(
        snap("--cache-lru 4", total_bytes=2**35, machine_bytes=2**36, reads_memory_limit=False)
    )


def test_mem_39_what_comfyui_itself_holds_is_no_other_program() -> None:
    """C#15274: 90 % of VRAM shown, cached models."""
    device = replace(
        RTX_4080, used_bytes=15 * GIB, own_bytes=14 * GIB, evictable_bytes=10 * GIB, programs=(), others_bytes=0
    )
    assert ids(snap(devices=(device,))) == []


def test_mem_41_fragmentation_is_said_only_after_a_failed_allocation() -> None:
    """C#2982, C#9121, PR#11154: out of memory for 25 MiB with 3.45 GiB free."""
    device = replace(RTX_4080, torch_reserved_bytes=int(13.45 * GIB), torch_allocated_bytes=10 * GIB)
    failed = Failure("out-of-memory", 0.0, memory="vram", devices=(device,))
    assert one(snap(failure=failed), "fragmentation").params["kept_bytes"] == int(13.45 * GIB) - 10 * GIB
    assert ids(snap(devices=(device,))) == []


def test_mem_41_what_comfyui_unloaded_after_the_failure_is_no_fragmentation() -> None:
    """execution.py 0.30.0 unloads all models then: torch keeps their memory as its cache."""
    full = replace(RTX_4080, torch_reserved_bytes=15 * GIB, torch_allocated_bytes=15 * GIB)
    emptied = replace(full, torch_allocated_bytes=0)
    failed = Failure("out-of-memory", 0.0, memory="vram", devices=(full,))
    run = LastRun(error="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 25.00 MiB")
    assert ids(snap(devices=(emptied,), last_run=run, failure=failed)) == []


def test_mem_44_a_second_comfyui_counts_for_itself() -> None:
    """C#3292."""
    assert one(snap(processes=1), "two-comfyui").params["count"] == 1


def test_mem_47_low_residency_alone_is_no_fault() -> None:
    """C#14447: 3.2 GB in use at 720p under dynamic VRAM."""
    model = replace(WAN, resident_bytes=3 * GIB, dynamic=True)
    device = replace(RTX_4080, dynamic_resident_bytes=3 * GIB, used_bytes=int(3.2 * GIB))
    assert ids(snap(models=(model,), devices=(device,))) == []
    run = LastRun(peak_bytes=8 * GIB, streamed_bytes=5 * GIB, finished=True)
    assert one(snap(last_run=run), "half-used").severity == "info"


def test_mem_48_dynamic_vram_is_read_from_the_running_comfyui() -> None:
    """comfy-aimdo #37: the driver model MCDM, nothing in argv."""
    off = snap(platform="windows", dynamic_vram=False, dynamic_vram_reason="comfy-aimdo did not start")
    assert ids(off) == ["aimdo-off"]
    assert one(off, "aimdo-off").why.startswith("comfy-aimdo did not start.")
    assert ids(snap("--lowvram", platform="windows", dynamic_vram=False)) == ["aimdo-off"]


# --- RAM ---


WAN_PAIR = (
    WorkflowModel("diffusion", "WAN21_T2V", int(13.6 * GIB)),
    WorkflowModel("diffusion", "WAN21_T2V", int(13.6 * GIB)),
    WorkflowModel("text encoder", size_bytes=int(6.4 * GIB)),
)


def test_ram_01_two_fp8_models_and_a_text_encoder_in_32_gib() -> None:
    """C#10771, of a ComfyUI without dynamic VRAM. 33.6 GiB, of which models can have 28 in 32 and 34 in 38."""
    advice = one(snap("--disable-dynamic-vram", total_bytes=32 * GIB, workflow_models=WAN_PAIR), "ram-switch")
    assert advice.severity == "problem"
    assert advice.params["room_bytes"] == 28 * GIB, "what `plan` takes off for the system"
    assert advice.change.remove == ("--disable-dynamic-vram",)
    assert "--cache-none" not in advice.command
    assert "ram-switch" in ids(snap("--disable-dynamic-vram", total_bytes=37 * GIB, workflow_models=WAN_PAIR))
    assert "ram-switch" not in ids(snap("--disable-dynamic-vram", total_bytes=38 * GIB, workflow_models=WAN_PAIR))


def test_with_dynamic_vram_mapped_files_ask_for_no_cache_flag() -> None:
    """comfy/utils.py 0.30.0: safetensors are a mapping of the file; --cache-none would only load them again."""
    assert ids(snap(total_bytes=32 * GIB, workflow_models=WAN_PAIR)) == []
    advice = one(snap("--cache-none", total_bytes=32 * GIB, workflow_models=WAN_PAIR), "cache-none-reruns")
    assert advice.command == "python main.py"
    assert "cache-none-reruns" not in ids(snap("--cache-none", version="0.24.1")), "not read there"


def test_high_ram_and_gguf_hold_copies_with_dynamic_vram_too() -> None:
    """ComfyUI PR#14437: --high-ram commits all models to RAM for good."""
    pinned = one(snap("--high-ram", total_bytes=32 * GIB, workflow_models=WAN_PAIR), "ram-switch")
    assert pinned.change.remove == ("--high-ram",)
    files = tuple(replace(model, gguf=True) for model in WAN_PAIR)
    copies = one(snap(total_bytes=32 * GIB, workflow_models=files), "ram-switch")
    assert (copies.command, copies.params["variant"]) == ("", "gguf")
    # Only what cannot be dropped counts: 27.2 GiB of copies fit the 28, beside a text encoder that is mapped.
    assert "ram-switch" not in ids(snap(total_bytes=32 * GIB, workflow_models=(*files[:2], WAN_PAIR[2])))
    mixed = one(snap(total_bytes=31 * GIB, workflow_models=(*files[:2], WAN_PAIR[2])), "ram-switch")
    assert mixed.params["need_bytes"] == 2 * int(13.6 * GIB)


def test_ram_04_the_switch_from_10_to_28_gb_in_32() -> None:
    """KJNodes #632: killed; --cache-none fixed it. On AMD no flag brings dynamic VRAM by default."""
    models = (WorkflowModel("diffusion", size_bytes=10 * GIB), WorkflowModel("diffusion", size_bytes=28 * GIB))
    amd: dict[str, Any] = {
        "devices": (RX_7900,),
        "dynamic_vram": False,
        "total_bytes": 32 * GIB,
        "workflow_models": models,
    }
    advice = one(snap("--cache-lru 2", **amd), "ram-switch")
    assert advice.params["need_bytes"] == 38 * GIB
    assert advice.command == "python main.py --cache-none"
    assert advice.change.remove == ("--cache-lru",)
    assert "every run loads all models and encodes the prompts again" in advice.fix, "ComfyUI PR#7509"
    assert "ram-switch" not in ids(snap("--cache-none", **amd))


def test_swap_is_not_filled_by_results_that_comfyui_lets_go_anyway() -> None:
    """main.py 0.30.0: by default results and pins go while RAM is short, which --cache-none would turn off."""
    full: dict[str, Any] = {"swap_used_bytes": 7 * GIB, "available_bytes": 2 * GIB}
    assert one(snap(**full), "swap-filling").command == ""
    assert one(snap("--cache-lru 4", **full), "swap-filling").command == "python main.py"
    assert one(snap(version="0.18.2", **full), "swap-filling").command == "python main.py --cache-none"


def test_ram_05_exit_code_137_is_named() -> None:
    """YanWenKun/ComfyUI-Docker #123."""
    for rose in (True, False, None):
        run = LastRun(finished=False, node="KSampler", oom_kills_rose=rose)
        assert "137" in one(snap(last_run=run), "last-run-unfinished").why


def test_ram_07_no_swap_is_a_note() -> None:
    """C#7036, C#5177."""
    assert one(snap(total_bytes=32 * GIB, swap_total_bytes=0), "no-swap").severity == "info"
    assert ids(snap(total_bytes=32 * GIB, swap_total_bytes=None)) == []


def test_ram_08_the_pin_limit_of_windows() -> None:
    """C#10542, PR#10597, PR#10638: 64 GB, a model of 38967.89 MB."""
    pinned = int(38967.89 * MIB)
    assert "pinned-high" in ids(snap(platform="windows", total_bytes=64 * GIB, pinned_bytes=pinned))
    assert "pinned-high" not in ids(snap(platform="linux", total_bytes=64 * GIB, pinned_bytes=pinned))


def test_ram_09_pinning_under_wsl() -> None:
    """C#11531."""
    advice = one(snap("--enable-dynamic-vram", platform="wsl"), "wsl-pinned")
    assert (advice.severity, advice.change.add) == ("info", ("--disable-pinned-memory",))


def test_ram_13_error_1455_is_about_the_page_file() -> None:
    """C#8065, C#7550, C#7069."""
    advice = one(snap(platform="windows", last_run=LastRun(error="... (os error 1455)")), "pagefile-1455")
    assert "page file" in advice.fix
    assert not advice.change


def test_ram_17_growth_from_run_to_run() -> None:
    """C#11617, SAM3 #20: 850 MB and 2 GB per run. SWAP-13: more than 5 GB."""
    for growth in (850 * MIB, 2 * GB, 5 * GB):
        assert ids(snap(last_run=LastRun(ram_growth_bytes_per_run=growth))) == ["ram-growth"]
    assert ids(snap(last_run=LastRun(ram_growth_bytes_per_run=100 * MIB))) == []


# --- NaN reports that name flags ---


def test_nan_08_and_09_fp16_on_a_card_without_bf16() -> None:
    """C#10668, C#10751, C#10800, PR#12522; Tongyi-MAI/Z-Image #14, #15. bf16 is not suggested."""
    z_image = replace(QWEN, class_name="Lumina2", family="ZImage")
    for model in (QWEN, z_image):
        advice = one(snap("--fp16-unet", models=(model,), devices=(RTX_2060,)), "fp16-no-bf16-model")
        assert "--fp32-unet" in advice.fix
        assert "bf16-unet" not in advice.fix
        # torch says yes to bf16 on this card, which only means that it emulates it
        emulated = replace(RTX_2060, bf16=True)
        assert "no bf16" in one(snap("--fp16-unet", models=(model,), devices=(emulated,)), "fp16-no-bf16-model").why
    assert "takes bf16" in one(snap("--force-fp16", models=(QWEN,)), "fp16-no-bf16-model").fix


def test_nan_11_sage_attention() -> None:
    """C#9223; QwenLM/Qwen-Image #68. Unscaled fp8 Wan too, scaled not."""
    assert ids(snap("--use-sage-attention", workflow_models=(WorkflowModel("diffusion", "QwenImage"),))) == ["sage-nan"]
    plain = replace(WAN, quantised=False)
    assert ids(snap("--use-sage-attention", models=(plain,))) == ["sage-nan"]
    assert ids(snap("--use-sage-attention", models=(replace(WAN, quantised=True),))) == []


def test_nan_16_xformers_0_0_18() -> None:
    """C#394, C#449."""
    bad = {"torch": "2.8.0", "xformers": "0.0.18.dev1"}
    assert ids(snap(versions=bad)) == ["xformers-0018"]
    assert ids(snap("--disable-xformers", versions=bad)) == []


# --- what a fix may not do ---


def test_a_fix_takes_the_place_of_what_argparse_refuses_beside_it() -> None:
    run = LastRun(finished=False, oom_kills_rose=True)
    advice = one(snap("--cache-classic --port 9000", last_run=run), "last-run-unfinished")
    assert advice.command == "python main.py --port 9000 --cache-none"
    assert advice.params["removed"] == ["--cache-classic"]


def test_a_flag_that_is_given_is_not_suggested_again() -> None:
    run = LastRun(finished=False, oom_kills_rose=True)
    advice = one(snap("--cache-none", last_run=run), "last-run-unfinished")
    assert not advice.change
    assert advice.fix == "Use smaller files, or add RAM or swap."


def test_an_fp8_file_under_a_wider_flag() -> None:
    advice = one(snap("--bf16-unet", workflow_models=(FP8_FILE,)), "fp8-upcast")
    assert (advice.params["after_bytes"], advice.change.remove) == (8 * GIB, ("--bf16-unet",))
    scaled = replace(FP8_FILE, scaled=True)
    assert ids(snap("--bf16-unet", workflow_models=(scaled,))) == []
    assert ids(snap(workflow_models=(scaled,), devices=(RTX_3060,))) == []
    large = replace(FP8_FILE, size_bytes=12 * GIB)
    assert ids(snap(workflow_models=(large,), devices=(RTX_3060,))) == [], "24 GiB would not fit, so it stays fp8"


def test_the_text_encoder_and_the_vae_are_found_by_kind() -> None:
    other = LoadedModel("x", "other", "ControlNet", size_bytes=40 * GIB)
    assert ids(snap("--highvram", models=(other,))) == []
