// @ts-check
/** 服务器说明“为什么没有数值”的原因；没有译文的按英文显示。以空格结尾的是开头部分，其后的内容原样保留。 */

export default {
  "the NVIDIA driver does not answer; it is asked again": "NVIDIA 驱动没有响应，将再次询问",
  "torch has not opened this device yet": "torch 尚未打开此设备",
  "this process has nothing on this device yet, and a look would take memory of it":
    "本进程尚未使用此设备，读取本身会占用它的显存",
  "torch says that all of it is free while it holds some (ROCm on Windows)":
    "torch 占用着显存却报告全部空闲（Windows 上的 ROCm）",
  "DirectML does not tell; ComfyUI itself assumes 1 GiB": "DirectML 不提供；ComfyUI 自己按 1 GiB 计",
  "Intel's runtime does not tell what other programs hold in this version of torch":
    "此版本 torch 的 Intel 运行时不提供其他程序的占用",
  "this version of torch does not tell": "此版本的 torch 不提供",
  "the driver lists the machine's process ids, which are not those of this container":
    "驱动列出的是宿主机的进程号，与此容器内的不同",
  "the driver lists no processes here": "驱动在此环境不列出进程",
  "more is in use than the listed programs hold: other containers, or the machine outside of this one":
    "已用量多于所列程序之和：其他容器或宿主机也在使用",
  "its memory is the machine's RAM, which no driver counts per program": "它的显存就是系统内存，驱动不按程序统计",
  "the driver no longer knows this card": "驱动已不认识此显卡",
  "this card does not tell": "此显卡不提供",
  "not permitted here": "此处没有权限",
  "the driver finds nothing of that kind": "驱动没有找到此项",
  "the NVIDIA driver is not loaded": "NVIDIA 驱动未加载",
  "there is no NVIDIA driver here": "此处没有 NVIDIA 驱动",
  "the NVIDIA driver is too old to tell": "NVIDIA 驱动太旧，不提供",
  "the driver has lost the card": "驱动已失去此显卡",
  "NVML: driver/library version mismatch: the driver was updated, restart the machine":
    "NVML：驱动与库版本不一致：驱动已更新，请重启机器",
  "the driver answers with an unknown error": "驱动返回未知错误",
  "the Python package nvidia-ml-py is not installed": "未安装 Python 包 nvidia-ml-py",
  "the driver does not list this card": "驱动没有列出此显卡",
  "this process has a part of the card (MIG), and the driver does not say which":
    "本进程使用显卡的一个分区（MIG），驱动没有说明是哪一个",
  "NVML: Unknown Error; in a container that is a GPU taken away, as systemctl daemon-reload does: restart the container":
    "NVML：Unknown Error；在容器里表示 GPU 被收走了（例如 systemctl daemon-reload 之后）：请重启容器",
  "the card must be reset": "显卡需要复位",
  "another package named pynvml stands in place of nvidia-ml-py: pip uninstall pynvml nvidia-ml-py, then pip install nvidia-ml-py":
    "另一个名为 pynvml 的包占了 nvidia-ml-py 的位置：先 pip uninstall pynvml nvidia-ml-py，再 pip install nvidia-ml-py",
  "the installed pynvml has no such function; nvidia-ml-py has": "已安装的 pynvml 没有此函数，nvidia-ml-py 有",
  "the installed pynvml is older than nvidia-ml-py and asks otherwise": "已安装的 pynvml 比 nvidia-ml-py 旧，查询方式不同",
  "the Python package pynvml cannot be loaded: ": "无法加载 Python 包 pynvml：",
  "the binding to NVML failed: ": "调用 NVML 失败：",
  "torch has no memory figures for ": "torch 不提供此类设备的内存数值：",
  "CUDA's order of the cards is not known before torch has opened them": "torch 打开显卡之前无法知道 CUDA 的显卡顺序",
  "the driver lists no such card": "驱动没有列出这样的显卡",
  "the driver lists no card": "驱动没有列出任何显卡",
  "the memory in use is not known": "已用显存未知",
  "what this process holds is not known": "本进程占用的显存未知",
  "comfy-aimdo is not installed": "没有安装 comfy-aimdo",
  "the library of comfy-aimdo did not load": "comfy-aimdo 的库没有加载成功",
  "comfy-aimdo did not start on this card": "comfy-aimdo 没能在这张显卡上启动",
  "ComfyUI starts it by itself only on NVIDIA cards": "ComfyUI 只在 NVIDIA 显卡上自动启用",
  "ComfyUI does not start it by itself under WSL": "ComfyUI 在 WSL 下不会自动启用",
  "it needs PyTorch 2.8 or newer; this is ": "需要 PyTorch 2.8 或更新版本；当前是 ",
};
