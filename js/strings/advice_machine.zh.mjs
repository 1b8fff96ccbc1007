// @ts-check
/** Chinese texts of the rules about models and machine: flag_against_model, precision, machine, ram, last_run. */

const NOT_BLACK = "出图不再是黑图。";
const SMALLER = "使用更小的模型文件，或增加内存。";
const FEWER = "使用更小的模型文件、关闭其他程序，或增加内存。";
const PAGE_FILE = "系统 > 高级 > 性能 > 虚拟内存";
const SYSMEM = "管理 3D 设置 > CUDA - Sysmem Fallback Policy，选择 Prefer No Sysmem Fallback";
const CLOSE = "不需要的话就关闭它。";
const OLLAMA = "停止它的模型；请求里把 `keep_alive` 设为 0，它会立即释放。";
const SERVER = "运行 ComfyUI 时先停掉它。";
const SECOND = "如果是第二个 ComfyUI，就给每个分配一部分显存；否则停掉它。";
const BROWSER = "在它的设置里关闭硬件加速，或关闭浏览器。";

/** How the last run ended: by cause, with node and RAM as far as they are known. */
const LESS = "这样不保留任何节点的结果，留在内存里的更少；代价是每次运行都会重新执行所有节点。";
const NODE = "上一次运行停在 `{node}`，没有完成";
const HELD = "该节点开始时 ComfyUI 占用 {total_bytes} 内存中的 {ram_bytes}。";
const OOM = "内核的内存不足计数增加了：系统因内存不足结束了 ComfyUI（退出码 137）。";
const PLAIN = "可能的原因：内存不足（退出码 137）、驱动崩溃，或被手动停止。";
const LOOK = "查看 ComfyUI 日志的最后几行，并在下次运行时留意内存。";
const ENOUGH = "使用更小的模型文件，或增加内存或交换空间。";

function endings() {
  /** @type {Record<string, import("./advice.zh.mjs").Words>} */
  const found = {};
  // Only an end for lack of RAM has a flag to add, and so something to say where that flag is not there.
  for (const [cause, why, fix, otherwise] of [["oom", OOM, LESS, ENOUGH], ["plain", PLAIN, LOOK, null]]) {
    for (const [node, title] of [["", undefined], ["-node", NODE]]) {
      const words = { ...(title && { title }), fix: fix ?? "", otherwise };
      found[`${cause}${node}`] = { ...words, why: why ?? "" };
      found[`${cause}${node}-ram`] = { ...words, why: HELD + why };
    }
  }
  return found;
}

/** @type {Record<string, import("./advice.zh.mjs").Texts>} */
export const MACHINE_RULES = {
  // flag_against_model
  "resident-too-large": {
    title: "{flag}：{stage}需要 {need_bytes}，而显卡的 {card_bytes} 中一次运行可用 {room_bytes}",
    why: "它让 {weights_bytes} 权重常驻显卡，{stage}还至少需要 {beside_bytes}。它关闭的动态显存本可以按需加载权重。",
    check: "运行不再以显存不足结束，显存占用低于 {card_bytes}。",
  },
  "resident-may-not-fit": {
    title: "{flag}：{stage}可能需要 {need_bytes}，而显卡的 {card_bytes} 中一次运行可用 {room_bytes}",
    why: "它让 {weights_bytes} 权重常驻显卡，{stage}最多还需要 {beside_bytes}。它关闭的动态显存本可以按需加载权重。",
    check: "运行不再以显存不足结束，显存占用低于 {card_bytes}。",
  },
  "novram-needless": {
    title: "`--novram` 每一步都把 {weights_bytes} 复制到显卡，而其实全部放得下",
    why: "权重和工作内存共需 {need_bytes}，显卡有 {card_bytes}。该参数不让任何权重留在显卡上。",
    check: "每步耗时减少。",
    variants: {
      seconds: {
        why: "权重和工作内存共需 {need_bytes}，显卡有 {card_bytes}。该参数不让任何权重留在显卡上，以这张卡的 PCIe 链路，每步约多花 {step_seconds}。",
      },
    },
  },
  "disabled-dynamic-too-large": {
    title: "`--disable-dynamic-vram`：每一步要复制 {weights_bytes} 中的 {streamed_bytes}",
    why: "没有动态显存时，模型的固定一部分按运行前的估算留在内存里；这里大约放得下 {room_bytes}。",
    fix: "比较两次运行：激活值很大时，固定拆分有时反而不会失败。",
    check: "第二次运行的每步耗时。",
    variants: {
      seconds: {
        why: "没有动态显存时，模型的固定一部分按运行前的估算留在内存里；这里大约放得下 {room_bytes}，其余部分每步约多花 {step_seconds}。",
      },
    },
  },
  "fp32-doubles": {
    title: "{flag} 让模型变成 {after_bytes}；16 位只需 {before_bytes}",
    why: "显卡有 {card_bytes}：16 位放得下，fp32 放不下，而且计算更慢。",
    check: "加载后的模型大小减半，每步耗时减少。",
    variants: {
      "text-encoder": { why: "显卡有 {card_bytes}：16 位放得下，fp32 放不下。{flag} 还会把文本编码器移到 CPU。" },
    },
  },
  "fp8-upcast": {
    title: "{file_bytes} 的 fp8 文件在这里变成 {after_bytes}",
    why: "这张显卡不能用 fp8 计算，所以只要放得下，ComfyUI 就在显存和内存中把它转成 16 位。",
    fix: "这样所有扩散模型都以 fp8 存储，包括文件本身不是 fp8 的。",
    otherwise: "使用更小的文件，或带缩放的 fp8（scaled fp8）文件。",
    check: "加载后的模型与文件一样大。",
    variants: {
      flag: {
        title: "{flag} 把 {file_bytes} 的 fp8 文件变成 {after_bytes}",
        why: "该参数决定怎么存储，所以 ComfyUI 加载时在显存和内存中都会把文件展宽。",
        fix: "显卡能用 fp8 计算，或 16 位放不下时，ComfyUI 就会保留 fp8。",
        otherwise: null,
      },
    },
  },
  "cpu-vae-slow": {
    title: "使用了 `--cpu-vae`，而需要 {need_bytes} 的解码在 {card_bytes} 的显卡上放得下",
    why: "解码在 CPU 上要几秒到几分钟，在显卡上不到一秒。",
    check: "解码只需原来的一小部分时间。",
  },
  "split-attention-estimate": {
    title: "{flag} 让 ComfyUI 对运行的估算变成 {factor} 倍",
    why: "ComfyUI 为它使用另一个公式，所以会卸载更多模型，留在显卡上的权重更少。运行实际需要多少是另一回事。",
    check: "每步耗时，以及日志里被卸载的模型变少。",
  },
  "half-used": {
    title: "上一次运行的峰值是 {card_bytes} 中的 {peak_bytes}，却复制了 {streamed_bytes} 权重",
    why: "可以让更多权重留在显卡上。占用低本身不是问题：动态显存会为更大的图留出空间。",
    fix: "比较两次运行的每步耗时。有些教程建议把 `--reserve-vram` 设为负值来欺骗估算，这可能导致显存不足。",
    otherwise: "改动之前，先用另一种图像尺寸比较每步耗时。",
    check: "第二次运行的每步耗时和显存峰值。",
    variants: { static: { why: "ComfyUI 的估算比实际需要的大。可以让更多权重留在显卡上。" } },
  },
  // precision
  "fp16-16xx": {
    title: "`--force-fp16` 在 {gpu} 上会输出黑图或绿图",
    why: "GTX 16 系列的 fp16 有缺陷，除非被这个参数禁止，ComfyUI 会改用 fp32 计算。",
    check: NOT_BLACK,
  },
  "fp16-no-bf16-model": {
    title: "{flag} 让 {family} 用 fp16 计算，会溢出",
    why: "它的数值超出 fp16 的范围，出图是黑的。这张显卡不支持 bf16。",
    fix: "这样 ComfyUI 用 fp32 计算、16 位存储。`--fp32-unet` 效果相同，但占用加倍。",
    check: NOT_BLACK,
    variants: {
      bf16: {
        why: "它的数值超出 fp16 的范围，出图是黑的。这张显卡支持 bf16。",
        fix: "这样 ComfyUI 会自动使用 bf16。",
      },
    },
  },
  "xformers-0018": {
    title: "xformers 0.0.18 超过一定尺寸会输出黑图",
    why: "这是该版本的缺陷；ComfyUI 在启动日志里有提示，并且只在 VAE 中避开它。",
    fix: "也可以安装其他版本的 xformers。",
    otherwise: "安装其他版本的 xformers。",
    check: NOT_BLACK,
  },
  "fp16-vae-overflow": {
    title: "`--fp16-vae` 与 {family} 同用可能输出黑图",
    why: "原版 SDXL VAE 的数值超出 fp16 的范围，fp16-fix 版 VAE 不会。只看文件头分不出是哪一个。",
    fix: "也可以使用 fp16-fix 版 VAE，显卡支持 bf16 时也可以用 `--bf16-vae`。",
    check: NOT_BLACK,
  },
  "fp16-vae-alone": {
    title: "`--fp16-vae` 与某些 VAE 同用可能输出黑图",
    why: "ComfyUI 自己对该参数的说明就这么写。原版 SDXL VAE 就是其中之一：它的数值超出 fp16 的范围。",
    fix: "这样 ComfyUI 会自行选用 bf16 或 fp32。如果没有出现黑图，也可以保留该参数。",
    check: NOT_BLACK,
  },
  "sage-nan": {
    title: "`--use-sage-attention` 与 {family} 同用已知会输出黑图",
    why: "有人针对这个模型报告过；去掉该参数后，同一工作流就正常了。",
    check: NOT_BLACK,
  },
  "fp16-intermediates-inf": {
    title: "`--fp16-intermediates` 会把超过 65504 的值变成 Inf",
    why: "潜空间（latent）和图像以 fp16 在节点之间传递，fp16 到此为止。它能节省节点之间的内存。",
    fix: "如果没有出现黑图，可以保留。",
    check: "采样器后的“Latent 检查”节点没有发现 Inf。",
  },
  // machine
  "driver-mismatch": {
    title: "NVIDIA 驱动已更新，但旧的部分仍在运行",
    why: "驱动的库和内核部分版本不同，所以读不到显卡的任何信息。",
    fix: "重启电脑。",
    check: "`nvidia-smi` 能列出显卡。",
  },
  "nvml-lost": {
    title: "容器失去了 GPU",
    why: "宿主机上执行 `systemctl daemon-reload` 会让运行中的容器失去设备。已加载的还能继续，但读不到信息，只重启 ComfyUI 会找不到显卡。",
    fix: "重启容器。",
    check: "容器里的 `nvidia-smi` 能列出显卡。",
  },
  "other-program": {
    title: "{program} 在 GPU {device} 上占用 {used_bytes}",
    why: "其他程序在那里共占用 {others_bytes}。ComfyUI 用于权重和运行的显存就少这么多。",
    check: "面板里“其他程序”一行的数值下降。",
    variants: {
      ollama: { fix: OLLAMA },
      "ollama-windows": { fix: OLLAMA },
      server: { fix: SERVER },
      "server-windows": { fix: SERVER },
      python: { fix: SECOND },
      "python-windows": { fix: SECOND },
      browser: { fix: BROWSER },
      "browser-windows": { fix: BROWSER },
      other: { fix: CLOSE },
      "other-windows": { fix: CLOSE },
      "no-pid": { fix: CLOSE },
      unnamed: {
        title: "其他程序在 GPU {device} 上占用约 {used_bytes}",
        why: "这里的驱动不说明是哪些程序：这是除去 ComfyUI 和驱动之后剩下的部分。",
        fix: "查看任务管理器“详细信息”里的“专用 GPU 内存”列，或运行 `nvidia-smi`。",
      },
    },
  },
  "fast-disk-rotating": {
    title: "使用了 `--fast-disk`，而模型放在机械硬盘上",
    why: "该参数会重新从硬盘读取权重，而不是留在内存里；这种硬盘只有 0.2 GB/s。",
    check: "每步耗时减少。",
  },
  "two-comfyui": {
    title: "这台机器上还有其他 ComfyUI 进程：{count} 个",
    why: "每个进程都加载自己的模型，并按整张显卡和全部内存来计算；什么都不共享。",
    fix: "这样会给其他进程留出份额。有多张显卡时，用 `--cuda-device` 给每个进程各分一张。",
    otherwise: "给每个进程各分一张显卡。",
    check: "两个进程同时运行任务时的显存占用。",
  },
  // ram
  "cgroup-unread": {
    title: "ComfyUI 按 {machine_bytes} 内存计算，但只能用 {limit_bytes}",
    why: "{comfyui} 不读取容器的限制。超过限制时 Linux 会结束进程（退出码 137）。",
    otherwise: "给容器更多内存，或加载更小的文件。",
    check: "连续三次运行，本进程的内存低于 {limit_bytes}。",
    variants: {
      pins: {
        why: "{comfyui} 不读取容器的限制：仅锁页内存就可能达到 {pin_bytes}。超过限制时 Linux 会结束进程（退出码 137）。",
      },
    },
  },
  "ram-switch": {
    title: "在两个模型之间切换可能需要 {need_bytes}，而模型可用的内存有 {room_bytes}",
    why: "没有动态显存时，模型在内存里是副本：读取 {new_bytes} 的新模型时，{old_bytes} 的旧模型和文本编码器还在内存里。放不下时，系统会结束 ComfyUI。",
    fix: "这样最后一个使用某模型的节点运行之后，该模型就会释放。代价：每次运行都要重新加载所有模型、重新编码提示词。",
    otherwise: ENOUGH,
    check: "两个模型都能加载，ComfyUI 继续运行。",
    variants: {
      static: {
        fix: "有动态显存时，权重留在文件里，系统会按需丢弃并重新读取。",
        otherwise: null,
      },
      pinned: {
        why: "`--high-ram` 锁页权重后不再释放：{old_bytes} 的旧模型和文本编码器与 {new_bytes} 的新模型同时在内存里。放不下时，系统会使用交换空间或结束 ComfyUI。",
        fix: "这样内存不足时 ComfyUI 会释放锁页的权重，需要时再读取。",
        otherwise: null,
      },
      gguf: {
        why: "GGUF 文件的权重在内存里是副本：读取 {new_bytes} 的新模型时，{old_bytes} 的旧模型和文本编码器还在内存里。放不下时，系统会结束 ComfyUI。",
        fix: "使用 .safetensors 文件，有动态显存时它的权重留在文件里；或增加内存或交换空间。",
        otherwise: null,
      },
    },
  },
  "swap-filling": {
    title: "交换空间已用 {swap_bytes} 中的 {used_bytes}，内存只剩 {free_bytes}",
    why: "两者都满时，系统会结束一个程序，通常是占用最大的那个。",
    fix: "这样前面节点的结果就不会留在内存里；代价是每次运行都会重新执行所有节点。",
    otherwise: FEWER,
    check: "连续三次运行，交换空间的占用保持平稳。",
    variants: {
      released: {
        why: "两者都满时，系统会结束一个程序，通常是占用最大的那个。内存不足时，ComfyUI 已经会释放结果和锁页的权重。",
        fix: FEWER,
        otherwise: null,
      },
      kept: {
        fix: "这样内存不足时 ComfyUI 会释放结果和锁页的权重。",
        otherwise: null,
      },
    },
  },
  "cache-none-reruns": {
    title: "`--cache-none` 让每次运行都重新加载所有模型、重新编码所有提示词",
    why: "有动态显存时，权重留在文件里，系统会自行丢弃。默认情况下 ComfyUI 在内存不足时也会释放结果，而该参数关闭了这一点。",
    fix: "如果不用它时大视频的结果会占满内存，就保留它。",
    check: "同一工作流的第二次运行从采样开始。",
  },
  "pinned-high": {
    title: "{ram_bytes} 内存中有 {pinned_bytes} 被锁页",
    why: "锁页内存不能换出，也不能给其他程序使用，而且系统对它有上限。",
    otherwise: SMALLER,
    check: "没有任务运行时，内存占用会下降。",
  },
  "wsl-pinned": {
    title: "ComfyUI 可能锁页 WSL 的 {ram_bytes} 内存中的 {pin_bytes}",
    why: "WSL 下即使还有几 GiB 空闲，锁页也可能失败并直接结束进程，而且无法捕获。",
    fix: "只有 ComfyUI 以 AcceleratorError 结束时才需要。",
    otherwise: "在 `.wslconfig` 里给 WSL 更多内存。",
    check: "同样的运行结束时没有 AcceleratorError。",
  },
  "no-swap": {
    title: "{ram_bytes} 内存，没有交换空间",
    why: "读取大模型时会短暂需要更多内存；没有交换空间，系统就会结束 ComfyUI。",
    fix: "添加一个交换文件。",
    check: "`swapon --show` 能列出它。",
    variants: {
      windows: {
        fix: `让 Windows 管理页面文件：${PAGE_FILE}。`,
        check: "任务管理器显示的已提交内存大于物理内存。",
      },
    },
  },
  // last_run
  "last-run-unfinished": {
    title: "上一次运行没有完成就结束了",
    why: PLAIN,
    otherwise: null,
    check: "同一工作流能运行到结束。",
    variants: endings(),
  },
  "pagefile-1455": {
    title: "Windows 无法为模型分配内存：os error 1455",
    why: "页面文件太小，在已加载内容之外放不下要读取的文件。与显存无关。",
    fix: `增大页面文件：${PAGE_FILE}。`,
    check: "模型能加载。",
  },
  "sysmem-fallback": {
    title: "上一次运行有 {spilled_bytes} 放在了系统内存里",
    why: "显卡的 {card_bytes} 放不下的部分，Windows 驱动会移到内存而不报错，一步就要几分钟。",
    fix: `或者在 NVIDIA 控制面板（驱动 546.01 起）里：${SYSMEM}。`,
    otherwise: `增大已设置的值，或者在 NVIDIA 控制面板（驱动 546.01 起）里：${SYSMEM}。`,
    check: "运行时任务管理器里的“共享 GPU 内存”保持平稳。",
  },
  "ram-growth": {
    title: "内存每次运行增加 {growth_bytes}",
    why: "有东西没有释放：某个节点，或 ComfyUI 的缓存。",
    fix: "这样每次运行都会重新执行所有节点。如果内存仍在增加，就是某个节点没有释放：隔一段时间重启 ComfyUI，并用二分法找出该节点。",
    otherwise: "隔一段时间重启 ComfyUI，并用二分法找出没有释放的节点。",
    check: "连续五次运行，本进程的内存保持平稳。",
    variants: {
      runs: { why: "有东西没有释放：某个节点，或 ComfyUI 的缓存。照这个速度，大约再运行 {runs} 次内存就满了。" },
    },
  },
  fragmentation: {
    title: "torch 保留着 {kept_bytes}，但失败的那次分配用不上",
    why: "除了正在使用的 {allocated_bytes}，它还持有一些单块都太小的碎片。",
    fix: "释放后再运行；把图像或分块稍微改小也可能放得下。",
    check: "同一工作流能运行到结束。",
  },
};
