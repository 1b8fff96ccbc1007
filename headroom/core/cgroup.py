"""Memory limits that Linux puts on this process's control groups: version 1 and 2, up the whole tree.

A container's limit is in no other place: psutil and ComfyUI before PR#15927 see the machine's RAM (ComfyUI #14938:
32 GiB allowed, 58 GiB seen, killed). Every file is looked for under ``root``, so that a made-up tree can be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

UNLIMITED = 2**60
"""Version 1 says "no limit" with 9223372036854771712."""


@dataclass(frozen=True)
class Limits:
    """The tightest limits on this process; sizes in bytes, None where there is none or the system does not say."""

    source: str
    """``cgroup v2`` or ``cgroup v1``."""
    limit_bytes: int
    available_bytes: int | None
    """Left below the limits, counting the file cache that the kernel gives back by itself."""
    file_cache_bytes: int | None = None
    swap_limit_bytes: int | None = None
    swap_used_bytes: int | None = None


@dataclass(frozen=True)
class _Mount:
    kind: str
    root: str
    point: str


@dataclass(frozen=True)
class _Level:
    """One group on the way up."""

    limit: int | None
    used: int | None
    cache: int | None
    swap_limit: int | None
    swap_used: int | None

    @property
    def available(self) -> int | None:
        """None without a limit or a count."""
        if self.limit is None or self.used is None:
            return None
        return max(0, self.limit - max(0, self.used - (self.cache or 0)))


def read_limits(root: Path = Path("/")) -> Limits | None:
    """The limits on this process; None where no group has one, and on systems without control groups."""
    for mount, path in _memory_groups(root):
        levels = [_level_v2(group) if mount.kind == "cgroup2" else _level_v1(group) for group in _up(root, mount, path)]
        limited = [level for level in levels if level.limit is not None]
        if limited:
            return _tightest("cgroup v2" if mount.kind == "cgroup2" else "cgroup v1", levels, limited)
    return None


def _tightest(source: str, levels: list[_Level], limited: list[_Level]) -> Limits:
    available = [level.available for level in limited if level.available is not None]
    swaps = [level for level in levels if level.swap_limit is not None]
    swap = min(swaps, key=lambda level: level.swap_limit or 0, default=None)
    return Limits(
        source=source,
        limit_bytes=min(level.limit for level in limited if level.limit is not None),
        available_bytes=min(available, default=None),
        file_cache_bytes=levels[0].cache,
        swap_limit_bytes=swap and swap.swap_limit,
        swap_used_bytes=swap and swap.swap_used,
    )


def _memory_groups(root: Path) -> Iterator[tuple[_Mount, str]]:
    """The mount that holds each memory hierarchy, and this process's group in it."""
    mounts = list(_mounts(root))
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            found = [mount for mount in mounts if mount.kind == "cgroup2"]
        elif "memory" in controllers.split(","):
            found = [mount for mount in mounts if mount.kind == "cgroup" and _is_memory(root, mount)]
        else:
            continue
        for mount in found:
            yield mount, path


def _is_memory(root: Path, mount: _Mount) -> bool:
    return (_inside(root, mount.point) / "memory.limit_in_bytes").exists()


def _mounts(root: Path) -> Iterator[_Mount]:
    """Every mounted hierarchy; a line is ``id parent dev root point options ... - type source options``."""
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.partition(" ")[0]
        if len(fields) > 4 and kind in {"cgroup", "cgroup2"}:
            yield _Mount(kind, _unescaped(fields[3]), _unescaped(fields[4]))


def _unescaped(path: str) -> str:
    """The kernel writes a space in a path as ``\\040``."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\134", "\\")):
        path = path.replace(code, character)
    return path


def _up(root: Path, mount: _Mount, path: str) -> Iterator[Path]:
    """This process's group and all above it that the mount shows.

    A container without a namespace of its own has the machine's path in /proc and only its own part mounted.
    """
    inner = path
    if mount.root != "/" and (path == mount.root or path.startswith(f"{mount.root}/")):
        inner = path[len(mount.root) :]
    top = _inside(root, mount.point)
    parts = [part for part in inner.split("/") if part not in {"", "."}]
    if ".." in parts or not top.joinpath(*parts).is_dir():
        parts = []
    for depth in range(len(parts), -1, -1):
        yield top.joinpath(*parts[:depth])


def _inside(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _level_v2(group: Path) -> _Level:
    return _Level(
        limit=_size(group / "memory.max"),
        used=_size(group / "memory.current"),
        cache=_stat(group, "inactive_file"),
        swap_limit=_size(group / "memory.swap.max"),
        swap_used=_size(group / "memory.swap.current"),
    )


def _level_v1(group: Path) -> _Level:
    """``hierarchical_memory_limit`` also counts the groups above that a container cannot see."""
    limits = (_size(group / "memory.limit_in_bytes"), _below_unlimited(_stat(group, "hierarchical_memory_limit")))
    limit = min((size for size in limits if size is not None), default=None)
    used = _size(group / "memory.usage_in_bytes")
    both, both_used = _size(group / "memory.memsw.limit_in_bytes"), _size(group / "memory.memsw.usage_in_bytes")
    return _Level(
        limit=limit,
        used=used,
        cache=_stat(group, "total_inactive_file"),
        swap_limit=None if both is None or limit is None else max(0, both - limit),
        swap_used=None if both_used is None or used is None else max(0, both_used - used),
    )


def _size(path: Path) -> int | None:
    """A file's number; None for "max", for version 1's huge number, and where there is no such file."""
    text = _text(path).strip()
    return _below_unlimited(int(text)) if text.isdigit() else None


def _below_unlimited(size: int | None) -> int | None:
    return None if size is None or size >= UNLIMITED else size


def _stat(group: Path, name: str) -> int | None:
    for line in _text(group / "memory.stat").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
