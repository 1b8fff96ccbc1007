"""Model Guard in the real ComfyUI: the first bad step is named at that step, and a restart gives the fp32 picture."""

from __future__ import annotations

import numpy as np
import pytest

SEED = 11


def loader(name="tiny_sd20", dtype="bf16"):
    """A model that computes in ``dtype``; on a CPU the host itself never picks a narrow one."""
    return {
        "load": {"class_type": "UNETLoader", "inputs": {"unet_name": f"{name}.safetensors", "weight_dtype": "default"}},
        "typed": {"class_type": "ModelComputeDtype", "inputs": {"model": ["load", 0], "dtype": dtype}},
        "cond": {"class_type": "LotusConditioning", "inputs": {}},
        "zero": {"class_type": "ConditioningZeroOut", "inputs": {"conditioning": ["cond", 0]}},
        "empty": {"class_type": "EmptyLatentImage", "inputs": {"width": 32, "height": 32, "batch_size": 1}},
    }


def ksampler(prompt, model, steps=8, cfg=2.0, sampler="euler", **more):
    """KSampler and a look at what it gives."""
    inputs = {
        "model": [model, 0], "positive": ["cond", 0], "negative": ["cond", 0], "latent_image": ["empty", 0],
        "seed": SEED, "steps": steps, "cfg": cfg, "sampler_name": sampler, "scheduler": "normal", "denoise": 1.0,
    }  # fmt: skip
    prompt["sample"] = {"class_type": "KSampler", "inputs": {**inputs, **more}}
    return seen(prompt)


def seen(prompt, output=0):
    """Adds the bits of the sampled latent."""
    prompt["bits"] = {"class_type": "TestLatentBits", "inputs": {"samples": ["sample", output]}}
    return prompt


def bad(prompt, **fault):
    """Puts a model that goes bad between the loader and the guard."""
    given = {"step": 3, "items": "", "always": False, **fault}
    prompt["bad"] = {"class_type": "TestBadModel", "inputs": {"model": ["typed", 0], **given}}
    return prompt


def guard(prompt, model="bad", mode="stop the run"):
    """The node under test."""
    prompt["guard"] = {"class_type": "HeadroomModelGuard", "inputs": {"model": [model, 0], "mode": mode}}
    return prompt


def values(run) -> list[float]:
    """The sampled latent's values."""
    assert run.status == "success", run.error.get("exception_message")
    return [float.fromhex(word) for word in run.outputs["bits"]["text"][0].split()]


TRUTHS: dict[tuple, list[float]] = {}


def truth(server, **sampler) -> list[float]:
    """The same sampling with a model that computes in fp32 from the start and nothing in between; made once each."""
    key = tuple(sorted(sampler.items()))
    if key not in TRUTHS:
        TRUTHS[key] = values(server.run(ksampler(loader(dtype="fp32"), "typed", **sampler)))
    return TRUTHS[key]


def third_sigma() -> float:
    """The third of 8 steps of SD's "normal" schedule, from its definition: betas scaled-linear 0.00085 to 0.012 over
    1000 timesteps, steps evenly spread over the timesteps 999 to 0, log sigma interpolated between them."""
    betas = np.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2
    kept = np.cumprod(1 - betas)
    logs = np.log(np.sqrt((1 - kept) / kept))
    return float(np.exp(np.interp(999 - 2 * 999 / 7, np.arange(1000), logs)))


# ---- stop ----


def test_step_3_of_8_is_named_with_its_sigma_and_the_queue_lives_on(server):
    run = server.run(ksampler(guard(bad(loader())), "guard"))
    assert run.status == "error"
    assert run.error["node_id"] == "sample"
    message = run.error["exception_message"]
    assert message.startswith(f"Step 3 of 8, sigma {third_sigma():.2f}: the latent is NaN. SD20, bf16, "), message
    report = run.report("guard")
    assert report["level"] == "error"
    assert report["facts"]["runs"][0]["fault"]["step"] == 3
    assert report["facts"]["runs"][0]["evaluations"] == 3, "it ended there and not after step 8"
    values(server.run(ksampler(loader(), "typed", steps=2)))


def test_the_bad_items_of_a_batch_are_named(server):
    prompt = ksampler(guard(bad(loader(), items="1,2")), "guard")
    prompt["empty"]["inputs"]["batch_size"] = 4
    assert "items 1 and 2 of 4 are NaN" in server.run(prompt).error["exception_message"]


def test_a_clean_sampling_is_bit_for_bit_what_it_was_and_says_so(server):
    plain = values(server.run(ksampler(loader(), "typed")))
    run = server.run(ksampler(guard(loader(), "typed"), "guard"))
    assert values(run) == plain
    report = run.report("guard")
    assert (report["level"], report["title"]) == ("ok", "Clean: 8 steps")
    assert report["facts"]["runs"][0]["evaluations"] == 8
    assert run.outputs["guard"]["headroom"][0]["title"] == "Watching every step", "until a sampler ran"


# ---- restart ----


def test_a_restart_ends_with_the_picture_of_an_fp32_run(server):
    run = server.run(ksampler(guard(bad(loader()), mode="restart in a wider dtype"), "guard"))
    assert values(run) == truth(server)
    report = run.report("guard")
    assert report["title"] == "Finished in fp32; bf16 was bad at step 3 of 8"
    assert [entry["dtype"] for entry in report["facts"]["runs"]] == ["bf16", "fp32"]
    assert all(entry["seconds"] > 0 for entry in report["facts"]["runs"]), "what it cost is told"


def test_a_model_that_really_overflows_in_fp16_is_stopped_at_its_first_step(server):
    """No wrapper: activations beyond 65504, as Qwen-Image's on cards without bf16 (ComfyUI #10668, #10751)."""
    prompt = loader("tiny_sd20_overflow", dtype="fp16")
    run = server.run(ksampler(guard(prompt, "typed"), "guard", steps=3))
    assert run.status == "error"
    assert run.error["exception_message"].startswith("Step 1 of 3, sigma 14.61: the latent is NaN. SD20, fp16, ")


def test_a_model_that_really_overflows_in_fp16_is_restarted_in_fp32(server):
    prompt = guard(loader("tiny_sd20_overflow", dtype="fp16"), "typed", mode="restart in a wider dtype")
    run = server.run(ksampler(prompt, "guard", steps=3))
    full = server.run(ksampler(loader("tiny_sd20_overflow", dtype="fp32"), "typed", steps=3))
    assert values(run) == values(full)
    without = values(server.run(ksampler(loader("tiny_sd20_overflow", dtype="fp16"), "typed", steps=3)))
    assert all(value != value for value in without), "unguarded it ends in NaN, with status success"


def test_a_restart_that_is_bad_too_stops(server):
    run = server.run(ksampler(guard(bad(loader(), always=True), mode="restart in a wider dtype"), "guard"))
    assert run.status == "error"
    message = run.error["exception_message"]
    assert "SD20, fp32, " in message
    assert "The first run, in bf16, was bad at step 3 of 8." in message


def test_fp32_has_nothing_wider_to_restart_in(server):
    prompt = guard(bad(loader(dtype="fp32"), always=True), mode="restart in a wider dtype")
    assert (
        "No restart: fp32 is the widest dtype there is."
        in server.run(ksampler(prompt, "guard")).error["exception_message"]
    )


def test_the_next_run_without_the_guard_has_its_own_dtype_back(server):
    before = values(server.run(ksampler(loader(), "typed", seed=SEED + 1)))
    values(server.run(ksampler(guard(bad(loader()), mode="restart in a wider dtype"), "guard", seed=SEED + 2)))
    server.post("/free", {"free_memory": True})
    assert values(server.run(ksampler(loader(), "typed", seed=SEED + 1))) == before


def test_the_model_that_came_in_is_unchanged(server):
    def state(prompt, after):
        prompt["state"] = {"class_type": "TestModelState", "inputs": {"model": ["typed", 0], "after": [after, 0]}}
        return prompt

    plain = state(loader(), "empty")
    prompt = state(ksampler(guard(bad(loader()), mode="restart in a wider dtype"), "guard"), "sample")
    before, after = (server.run(p).outputs["state"]["text"][0] for p in (plain, prompt))
    assert before == after


def test_off_is_the_very_model_that_came_in(server):
    prompt = ksampler(guard(loader(), "typed", mode="off"), "guard")
    prompt["state"] = {"class_type": "TestModelState", "inputs": {"model": ["guard", 0]}}
    run = server.run(prompt)
    assert "headroom" not in run.outputs["state"]["text"][0]
    assert values(run)


def test_two_guards_in_a_row_watch_once(server):
    prompt = guard(loader(), "typed")
    prompt["second"] = {"class_type": "HeadroomModelGuard", "inputs": {"model": ["guard", 0]}}
    run = server.run(ksampler(prompt, "second"))
    ends = [data for name, data in run.events if name == "headroom.report"]
    assert [data["node"] for data in ends] == ["second"]


# ---- samplers and guiders ----


@pytest.mark.parametrize(
    ("sampler", "evaluation"),
    [("euler", 3), ("heun", 4), ("dpm_2", 5), ("dpmpp_2m", 3), ("uni_pc", 3), ("dpmpp_sde", 5), ("ddim", 3)],
)
def test_samplers_that_call_the_model_several_times_per_step_count_by_sigma(server, sampler, evaluation):
    """heun looks at the next sigma already in step 2; dpm_2 and dpmpp_sde look between the steps."""
    run = server.run(ksampler(guard(bad(loader())), "guard", sampler=sampler))
    fault = run.report("guard")["facts"]["runs"][0]["fault"]
    assert (fault["step"], fault["steps"], fault["evaluation"]) == (3, 8, evaluation)


@pytest.mark.parametrize("cfg", [1.0, 2.0])
def test_cfg_1_is_watched_and_restarted_too(server, cfg):
    run = server.run(ksampler(guard(bad(loader()), mode="restart in a wider dtype"), "guard", cfg=cfg))
    assert values(run) == truth(server, cfg=cfg)


@pytest.mark.parametrize("sampler", ["euler_ancestral", "dpmpp_sde", "uni_pc"])
def test_a_restart_uses_the_same_noise_in_samplers_that_add_some(server, sampler):
    run = server.run(ksampler(guard(bad(loader()), mode="restart in a wider dtype"), "guard", sampler=sampler))
    assert values(run) == truth(server, sampler=sampler)


def advanced(prompt, model):
    """KSamplerAdvanced, steps 2 to 6 of 8: it counts inside its own range."""
    prompt["sample"] = {
        "class_type": "KSamplerAdvanced",
        "inputs": {
            "model": [model, 0], "positive": ["cond", 0], "negative": ["cond", 0], "latent_image": ["empty", 0],
            "add_noise": "enable", "noise_seed": SEED, "steps": 8, "cfg": 2.0, "sampler_name": "euler",
            "scheduler": "normal", "start_at_step": 2, "end_at_step": 6, "return_with_leftover_noise": "enable",
        },
    }  # fmt: skip
    return seen(prompt)


def with_sigmas(prompt, model):
    """A sampler and a schedule of 4 steps for the custom samplers."""
    prompt["euler"] = {"class_type": "KSamplerSelect", "inputs": {"sampler_name": "euler"}}
    prompt["sigmas"] = {
        "class_type": "BasicScheduler",
        "inputs": {"model": [model, 0], "scheduler": "normal", "steps": 4, "denoise": 1.0},
    }
    return prompt


def custom(prompt, model):
    """SamplerCustom."""
    inputs = {
        "model": [model, 0], "add_noise": True, "noise_seed": SEED, "cfg": 2.0, "positive": ["cond", 0],
        "negative": ["cond", 0], "sampler": ["euler", 0], "sigmas": ["sigmas", 0], "latent_image": ["empty", 0],
    }  # fmt: skip
    prompt = with_sigmas(prompt, model)
    prompt["sample"] = {"class_type": "SamplerCustom", "inputs": inputs}
    return seen(prompt)


def guided(guider, **inputs):
    """SamplerCustomAdvanced with a guider; ``MODEL`` among the inputs stands for the model."""

    def build(prompt, model):
        prompt = with_sigmas(prompt, model)
        prompt["noise"] = {"class_type": "RandomNoise", "inputs": {"noise_seed": SEED}}
        given = {name: [model, 0] if value == "MODEL" else value for name, value in inputs.items()}
        prompt["guider"] = {"class_type": guider, "inputs": given}
        prompt["sample"] = {
            "class_type": "SamplerCustomAdvanced",
            "inputs": {
                "noise": ["noise", 0], "guider": ["guider", 0], "sampler": ["euler", 0], "sigmas": ["sigmas", 0],
                "latent_image": ["empty", 0],
            },
        }  # fmt: skip
        return seen(prompt)

    return build


COND = ["cond", 0]
SAMPLERS = {
    "KSamplerAdvanced": advanced,
    "SamplerCustom": custom,
    "CFGGuider": guided("CFGGuider", model="MODEL", positive=COND, negative=COND, cfg=2.0),
    "BasicGuider": guided("BasicGuider", model="MODEL", conditioning=COND),
    "DualCFGGuider": guided(
        "DualCFGGuider", model="MODEL", cond1=COND, cond2=COND, negative=COND, cfg_conds=2.0, cfg_cond2_negative=2.0,
        style="regular",
    ),
    "DualCFGGuider nested": guided(
        "DualCFGGuider", model="MODEL", cond1=COND, cond2=COND, negative=COND, cfg_conds=2.0, cfg_cond2_negative=2.0,
        style="nested",
    ),
    "PerpNegGuider": guided(
        "PerpNegGuider", model="MODEL", positive=COND, negative=COND, empty_conditioning=["zero", 0], cfg=2.0,
        neg_scale=1.0,
    ),
    "DualModelGuider": guided(
        "DualModelGuider", model="MODEL", model_negative="MODEL", positive=COND, negative=COND, cfg=2.0
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_node_and_guider_is_stopped_and_restarted(server, name):
    build = SAMPLERS[name]
    stopped = server.run(build(guard(bad(loader())), "guard"))
    fault = stopped.report("guard")["facts"]["runs"][0]["fault"]
    assert (stopped.status, fault["step"], fault["steps"]) == ("error", 3, 4)
    again = server.run(build(guard(bad(loader()), mode="restart in a wider dtype"), "guard"))
    full = server.run(build(loader(dtype="fp32"), "typed"))
    assert values(again) == values(full)


def test_a_cached_guard_watches_every_new_sampling(server):
    """The node is cached, its closures live on: a new seed is watched, and a restart happens again."""
    for seed in (SEED + 5, SEED + 6):
        run = server.run(ksampler(guard(bad(loader()), mode="restart in a wider dtype"), "guard", seed=seed))
        assert run.report("guard")["title"].startswith("Finished in fp32")
