// @ts-check
/** Chinese texts of the rules about flags alone: headroom/core/flags no_effect, dynamic_off, contradictions, values. */

const KEEP = "如果想保留的是另一个参数，就改为去掉这一个。";
const OVERRULED = "ComfyUI 的行为不变：该参数本来就被覆盖了。";
const STARTED = '启动日志出现 "DynamicVRAM support detected and enabled"。';
const NO_FLAG = "较新的版本有参数可以试用，当前版本没有。";
const STARTS = "ComfyUI 能正常启动。";
const UNCHANGED = "显存占用与之前一样。";

/** @type {Record<string, import("./advice.zh.mjs").Texts>} */
export const FLAG_RULES = {
  // no_effect
  "lowvram-noop": {
    title: "`--lowvram` 在这里不起作用",
    why: "动态显存已启用，{comfyui} 此时会忽略该参数。权重本来就会按需移动。",
    check: "每步耗时和显存占用与之前一样。",
    variants: { headroom: { fix: "要为其他程序留出显存，ComfyUI 的参数是 `--vram-headroom`。" } },
  },
  "lowvram-text-encoder": {
    title: "`--lowvram` 让 {text_encoder_bytes} 的文本编码器在 CPU 上运行",
    why: "在 {comfyui} 中该参数只有这一个作用。每次修改提示词都要多等几秒，扩散模型并不会因此变小。",
    check: "修改提示词后，文本编码比之前快。",
  },
  "headroom-static": {
    title: "在这里不起作用：{flags}",
    why: "动态显存没有启用，{comfyui} 只有在启用时才读取这类参数。",
    check: UNCHANGED,
  },
  "reserve-soft": {
    title: "`--reserve-vram {value}` 只是软限制：占用仍可达到 {card_bytes}",
    why: "在动态显存下它只是一个预算，不计运行中的激活值，也不计其他程序。`--vram-headroom` 才是严格的限制。",
    check: "运行任务时显存占用低于 {limit_bytes}。",
    variants: {
      "no-headroom": {
        why: "在动态显存下它只是一个预算，不计运行中的激活值，也不计其他程序。{comfyui} 没有严格的限制参数。",
        otherwise: "如果其他程序一直需要 {value} GiB，请设置更大的值。",
      },
    },
  },
  "novram-overruled": {
    title: "`--enable-dynamic-vram` 覆盖了 `--novram`",
    why: "动态显存仍然启用，所以权重在放得下的范围内留在显存里，文本编码器也在显卡上运行。",
    check: UNCHANGED,
  },
  "async-gguf": {
    title: "`--async-offload` 对 `{model}` 不起作用",
    why: "ComfyUI-GGUF 自己复制权重，不使用 ComfyUI 的流。ComfyUI 也不会锁页这些权重：它只锁页自己的张量类型。",
    check: "每步耗时与之前一样。",
    variants: { unnamed: { title: "`--async-offload` 对 GGUF 模型不起作用" } },
  },
  "blockswap-node": {
    title: "节点 `wanBlockSwap` 不起作用",
    why: "ComfyUI 用一个空节点替换了它，并自己逐层移动权重。",
    fix: "删除该节点。WanVideoWrapper 的 `WanVideoBlockSwap` 是另一个节点，它是有效的。",
    check: "显存占用和每步耗时与之前一样。",
  },
  "swap-node-dynamic": {
    title: "`{node}` 在动态显存启用时做块交换",
    why: '两者移动的是同一批权重；曾有 32 GiB 显卡在权重只有 5.2 GiB 时以 "VBAR OOM" 结束。',
    fix: "更好的办法：移除该节点。",
    otherwise: "移除该节点。",
    check: '运行结束时没有 "VBAR OOM"。',
  },
  "force-fp16-vae": {
    title: "`--force-fp16` 不影响这个 VAE：它以 {dtype} 运行",
    why: "除非 VAE 自己的参数另有指定，ComfyUI 只用 bf16 或 fp32 运行这类 VAE。",
    fix: "保持不变即可：这类 VAE 用 fp16 可能输出黑图。",
    check: '日志中的 "VAE load device" 一行会写出 dtype。',
    variants: { unknown: { title: "`--force-fp16` 不影响 VAE" } },
  },
  // dynamic_off
  "wsl-dynamic": {
    title: "动态显存未启用，因为这是 WSL",
    why: "{comfyui} 在 WSL 下不启用它，而是按估算拆分模型。",
    fix: "可以试用并比较两次运行；如果运行失败就改回来。",
    otherwise: NO_FLAG,
    check: STARTED,
  },
  "rocm-dynamic": {
    title: "动态显存未启用，因为这是 AMD 显卡",
    why: "{comfyui} 只在 NVIDIA 上自动启用它；较新的版本从 ROCm 7.14 起也会启用。现在模型按估算拆分。",
    fix: "可以试用并检查出图：有人报告 gfx1201 上重新加载后权重出错。",
    otherwise: NO_FLAG,
    check: STARTED,
  },
  "torch-dynamic": {
    title: "动态显存未启用，因为 torch 是 {torch}",
    why: "它需要 torch 2.8 或更新版本。现在 ComfyUI 按估算拆分模型，估算可能偏差很大。",
    fix: "用 ComfyUI 自己的 Python 更新 torch。",
    check: STARTED,
  },
  "aimdo-off": {
    title: "动态显存没有启动",
    why: "没有参数把它关掉，torch 也足够新，所以是缺少 comfy-aimdo，或者它没能接入驱动。",
    fix: '在启动日志里查找 "aimdo"；Windows 上处于 MCDM 模式的显卡无法使用。',
    check: STARTED,
    variants: { reason: { why: "{reason}。模型改为按估算拆分。" } },
  },
  "aimdo-old": {
    title: "comfy-aimdo {have} 不认识 {flags}",
    why: "需要 comfy-aimdo {need} 或更新版本。遇到旧版本时 {comfyui} 会直接丢掉该参数，不作提示。",
    fix: "在 ComfyUI 的文件夹里，用它自己的 Python 安装它要求的版本。",
    check: "`python -m pip show comfy-aimdo` 显示 {need} 或更新版本。",
  },
  // contradictions
  "cpu-enable-dynamic": {
    title: "`--cpu` 与 `--enable-dynamic-vram` 同用会让 ComfyUI 无法启动",
    why: "comfy-aimdo 需要设备编号，而 CPU 没有：`init_devices` 报 TypeError。",
    check: STARTS,
  },
  "dynamic-both": {
    title: "`--enable-dynamic-vram` 覆盖了 `--disable-dynamic-vram`",
    why: "ComfyUI 最先判断第一个参数，所以会尝试启用动态显存。",
    fix: KEEP,
    check: OVERRULED,
  },
  "dynamic-highvram": {
    title: "`--enable-dynamic-vram` 覆盖了 {second}",
    why: "动态显存只加载当前层需要的部分，从不整体加载模型，而 {second} 要求整体加载。",
    fix: KEEP,
    check: OVERRULED,
  },
  "async-both": {
    title: "`--disable-async-offload` 覆盖了 `--async-offload`：流的数量为 0",
    why: "ComfyUI 先按第一个参数设置流的数量，再因第二个参数设为 0。",
    fix: KEEP,
    check: OVERRULED,
  },
  "force-fp32-low-unet": {
    title: "{first} 加 {second}：模型以 {stored} 存储，以 fp32 计算",
    why: "{second} 决定怎么存，{first} 决定怎么算：这是最慢的组合。{first} 还会让 VAE 用 fp32、文本编码器在 CPU 上运行。",
    fix: "如果显卡确实需要 fp32，就改为去掉 {second}。",
    check: '日志出现 "model weight dtype"，并且是 "manual cast: None"。',
  },
  "force-fp16-wide-unet": {
    title: "{first} 加 {second}：模型以 {dtype} 运行",
    why: "ComfyUI 先看 {second}。{first} 仍会影响文本编码器的设备和部分 VAE。",
    fix: "如果本意如此，保持不变即可。",
    check: '日志中的 "model weight dtype" 会写出是哪一种。',
    variants: {
      fp32: { why: "ComfyUI 先看 {second}。这是在不支持 bf16 的显卡上运行 Qwen-Image 的已知办法，耗时是 2 到 5 倍。" },
    },
  },
  "force-fp16-beats-fp8": {
    title: "{first} 覆盖了 {second}：模型占用加倍",
    why: "ComfyUI 因 {first} 把模型设为 fp16，并且先判断 fp16 再判断 fp8，fp8 参数就失效了。",
    check: "加载后的模型大小减半。",
    variants: { size: { title: "{first} 覆盖了 {second}：加载了 {now_bytes}，而 fp8 只需 {fp8_bytes}" } },
  },
  "cpu-vae-fp16": {
    title: "`--fp16-vae` 在 CPU 上同样生效",
    why: "{cpu} 本来会让 VAE 用 fp32，但 `--fp16-vae` 优先。在 CPU 上 fp16 很慢，旧版 torch 根本不支持，超过 65504 的值还会变成 Inf。",
    check: '日志出现 "VAE load device: cpu" 和 "dtype: torch.float32"。',
  },
  "highvram-no-smart-memory": {
    title: "与 {first} 同用时，`--disable-smart-memory` 不会释放显存",
    why: "ComfyUI 每次任务后会卸载所有模型，但有 {first} 时，扩散模型卸载到的地方就是显卡本身。",
    fix: "如果想在任务后腾出显存，就改为去掉 {first}。",
    check: "第二次任务开始时不用重新加载模型。",
  },
  "fast-disk-both": {
    title: "`--disable-fast-disk` 覆盖了 `--fast-disk`",
    why: "ComfyUI 最后才看第二个参数。",
    fix: KEEP,
    check: OVERRULED,
  },
  "fast-disk-high-ram": {
    title: "`--high-ram` 抵消了 `--fast-disk` 的大部分作用",
    why: "`--fast-disk` 会重新从硬盘读取权重而不锁页；加上 `--high-ram`，权重又被锁页。",
    fix: "内存充足的机器上，改为去掉 `--fast-disk`。",
    check: "两次运行后内存占用更低。",
  },
  // values
  "reserve-nan": {
    title: "`--reserve-vram {text}` 让所有显存估算都变成 {text}",
    why: "解析器把它当成数字。之后与空闲显存的任何比较都不成立，所以什么都不会被卸载。",
    check: "启动日志没有报错，显存不足时模型会被卸载。",
    variants: {
      start: {
        title: "`--reserve-vram {text}` 会让 ComfyUI 无法启动",
        why: "解析器把它当成数字，{comfyui} 随后在 main.py 里换算成字节时失败。",
        check: STARTS,
      },
    },
  },
  "headroom-refused": {
    title: "`--vram-headroom {text}` 会让 ComfyUI 无法启动",
    why: '解析器把它当成数字，而 comfy-aimdo 拒绝它："must be non-negative"。',
    check: STARTS,
  },
  "reserve-negative": {
    title: "`--reserve-vram {value}` 让 ComfyUI 以为显存比实际的多",
    why: "解析器会接受它，ComfyUI 于是只为运行留出 {least_bytes}，而不是 0.8 GiB 加预留量。已有因此显存不足（OOM）的例子。",
    check: "运行不再以显存不足结束；每步耗时几乎不变。",
    variants: {
      cpu: {
        why: "解析器会接受它。ComfyUI 在 CPU 上运行时没有影响，但在显卡上会有。",
        check: "在 CPU 上没有任何变化。",
      },
    },
  },
  "reserve-too-large": {
    title: "`--reserve-vram {value}` 超过了显卡的 {card_bytes}",
    why: "没有给权重留下空间，所以每一步都要把全部权重重新复制到显卡。",
    check: "每步耗时减少，显存占用增加。",
  },
  "headroom-too-large": {
    title: "`--vram-headroom {value}` 等于整张显卡的 {card_bytes}",
    why: "ComfyUI 必须一直空出这么多显存，所以没有权重能留在显卡上。",
    check: "每步耗时减少，显存占用增加。",
  },
  "cache-ram-too-large": {
    title: "`--cache-ram {value}` 超过了这台机器的 {ram_bytes} 内存",
    why: "可用内存低于该值时 ComfyUI 会丢弃缓存的结果，而这里永远低于它。每次运行都从头开始。",
    check: "同一工作流第二次运行时，会跳过没有改动的节点。",
  },
  "high-ram-small": {
    title: "在只有 {ram_bytes} 内存的机器上使用 `--high-ram`",
    why: "ComfyUI 会不限量地锁页模型权重，并且不再为腾出内存而释放缓存的结果。",
    check: "连续三次运行，内存占用低于 {ram_bytes}。",
    variants: { models: { title: "使用了 `--high-ram`，而模型要占 {ram_bytes} 内存中的 {models_bytes}" } },
  },
  "reserve-below-default": {
    title: "`--reserve-vram {value}` 低于 ComfyUI 默认预留的 {default_bytes}",
    why: "Windows 驱动会把放不下的部分移到系统内存而不报错，一步就要几分钟。",
    check: "运行时任务管理器里的“共享 GPU 内存”保持平稳。",
  },
};
