// @ts-check
/**
 * Chinese texts of what to do about a run that failed: headroom/core/failure_fixes, failure_fixes_other.
 * Our nodes are called as locales/zh/nodeDefs.json calls them.
 */

/** @type {Record<string, string>} */
export const FIXES_ZH = {
  // the card was full
  "start-without": "启动 ComfyUI 时去掉 {flags}：这样显卡放满时模型会移出。",
  "safe-decode": "这里改用“VAE 解码（安全）”节点：它会分块解码，保证放得下。",
  "safe-encode": "这里改用“VAE 编码（安全）”节点：它会分块编码，保证放得下。",
  "unload-idle": "在这个节点之前加一个“释放内存”节点：{models} 在这里没有用到，却一直占着显卡。",
  "close-program": "关闭 {program}，或让它释放占用的显存。",
  "close-programs": "关闭其他占用显卡的程序；驱动没有说明是哪些。",
  "block-swap": "增大 WanVideo Block Swap 节点里的 `blocks_to_swap`。",
  "smaller-batch": "批量从 {batch} 改为 {smaller}，多运行几次。",
  "keep-free": "启动 ComfyUI 时加上 {flag}：留在显卡上的权重变少，每一步会更慢。",
  "smaller-size": "把宽和高改为现在的 {step}/{of}，视频则按同样的比例缩短。",
  // the RAM was full
  "page-file": "增大 Windows 的页面文件：系统 > 高级 > 性能 > 虚拟内存。这与显存无关。",
  "container-limit": "给容器的内存要超过 {limit_bytes}。",
  "cache-none": "启动 ComfyUI 时加上 {flag}：这样不会在内存里保留节点的结果，代价是每次运行都会重新执行所有节点。",
  "smaller-file": "改用 {model} 的 fp8 或 GGUF 文件。",
  "add-swap": "增加交换空间；现在只有 {swap_bytes}。",
  "ram-smaller": "关闭其他程序，或减小图像尺寸、帧数或批量。",
  // NaN
  "nan-flags": "启动 ComfyUI 时去掉 {flags}：已知它在某些模型上会产生 NaN。",
  "nan-safe-vae": "这里改用“VAE 解码（安全）”或“VAE 编码（安全）”节点：出现 NaN 的部分会用更宽的 dtype 重做。",
  "nan-model-guard": "在采样器之前加一个“模型检查”节点：它会指出第一个出错的采样步，并可以用 fp32 重新采样。",
  "nan-locate": "在每个采样器之后加一个“Latent 检查”节点，找出第一个 NaN 来自哪里。",
};
