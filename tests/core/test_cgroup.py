"""Memory limits read from made-up control-group trees; sizes are the ones in the public threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from headroom.core.cgroup import Limits, read_limits

GIB = 2**30
NONE_V1 = "9223372036854771712\n"
"""What version 1 holds without a limit: the largest signed number, rounded down to a page."""
V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    """These files under a made-up root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def v2(root: Path, groups: dict[str, dict[str, str]], path: str = "/", mounts: str = V2_MOUNT) -> Path:
    """A tree of version 2: the files of each group, and the group that this process is in."""
    files = {"proc/self/cgroup": f"0::{path}\n", "proc/self/mountinfo": mounts}
    for group, texts in groups.items():
        files |= {f"sys/fs/cgroup{group.rstrip('/')}/{name}": text for name, text in texts.items()}
    return tree(root, files)


def test_a_container_of_32_gib_has_32_gib(tmp_path: Path):
    """MEM-37, ComfyUI #14938, PR#15927: 34359738368 allowed on a machine of 62.8e9 bytes."""
    root = v2(tmp_path, {"/": {"memory.max": "34359738368\n", "memory.current": "10737418240\n"}})
    assert read_limits(root) == Limits("cgroup v2", 34359738368, 23622320128)


def test_the_word_max_is_no_limit(tmp_path: Path):
    """MEM-37: "max" -> the machine's RAM."""
    assert read_limits(v2(tmp_path, {"/": {"memory.max": "max\n", "memory.current": "10737418240\n"}})) is None


def test_the_huge_number_of_version_1_is_no_limit(tmp_path: Path):
    """MEM-37: a v1 file with 9223372036854771712 -> the machine's RAM."""
    files = {
        "proc/self/cgroup": "9:name=systemd:/\n4:memory:/\n0::/\n",
        "proc/self/mountinfo": V1_MOUNT,
        "sys/fs/cgroup/memory/memory.limit_in_bytes": NONE_V1,
        "sys/fs/cgroup/memory/memory.stat": f"hierarchical_memory_limit {NONE_V1}",
    }
    assert read_limits(tree(tmp_path, files)) is None


def test_the_tightest_of_all_groups_above_counts(tmp_path: Path):
    """systemd's MemoryMax on a slice limits the service in it, whose own file says max."""
    root = v2(
        tmp_path,
        {
            "/user.slice/comfy.service": {"memory.max": "max\n", "memory.current": str(6 * GIB)},
            "/user.slice": {"memory.max": str(16 * GIB), "memory.current": str(15 * GIB)},
            "/": {"memory.max": str(64 * GIB), "memory.current": str(60 * GIB)},
        },
        path="/user.slice/comfy.service",
    )
    assert read_limits(root) == Limits("cgroup v2", 16 * GIB, 1 * GIB)


def test_what_is_left_is_the_least_of_all_levels_not_that_of_the_smallest_limit(tmp_path: Path):
    """Its own group allows 8 GiB and uses 1; the one above allows 10 and other members use nearly all of it."""
    root = v2(
        tmp_path,
        {
            "/pod/me": {"memory.max": str(8 * GIB), "memory.current": str(1 * GIB)},
            "/pod": {"memory.max": str(10 * GIB), "memory.current": str(9 * GIB)},
        },
        path="/pod/me",
    )
    assert read_limits(root) == Limits("cgroup v2", 8 * GIB, 1 * GIB)


def test_file_cache_that_the_kernel_gives_back_counts_as_left(tmp_path: Path):
    """After reading a model file the group is full of cache; 32 - (30 - 18) = 20 GiB are left."""
    stat = f"anon 1\nfile {20 * GIB}\ninactive_file {18 * GIB}\nactive_file {2 * GIB}\n"
    root = v2(tmp_path, {"/": {"memory.max": str(32 * GIB), "memory.current": str(30 * GIB), "memory.stat": stat}})
    assert read_limits(root) == Limits("cgroup v2", 32 * GIB, 20 * GIB, file_cache_bytes=18 * GIB)


def test_a_group_over_its_limit_has_nothing_left(tmp_path: Path):
    root = v2(tmp_path, {"/": {"memory.max": str(8 * GIB), "memory.current": str(9 * GIB)}})
    assert read_limits(root) == Limits("cgroup v2", 8 * GIB, 0)


def test_a_limit_without_a_count_leaves_what_is_left_unknown(tmp_path: Path):
    assert read_limits(v2(tmp_path, {"/": {"memory.max": str(8 * GIB)}})) == Limits("cgroup v2", 8 * GIB, None)


def test_the_swap_of_a_container_is_limited_too(tmp_path: Path):
    """``docker run --memory-swap``; 0 means that it may not swap at all."""
    files = {"memory.max": str(8 * GIB), "memory.current": "0", "memory.swap.max": "0\n", "memory.swap.current": "0\n"}
    found = read_limits(v2(tmp_path, {"/": files}))
    assert found == Limits("cgroup v2", 8 * GIB, 8 * GIB, swap_limit_bytes=0, swap_used_bytes=0)


def test_a_container_of_version_1_sees_only_its_own_part(tmp_path: Path):
    """/proc has the machine's path, the mount begins at the container's group, and its files lie at the top."""
    mount = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    stat = f"total_inactive_file {1 * GIB}\nhierarchical_memory_limit {4 * GIB}\n"
    files = {
        "proc/self/cgroup": "4:memory:/docker/abc\n",
        "proc/self/mountinfo": mount,
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str(6 * GIB),
        "sys/fs/cgroup/memory/memory.usage_in_bytes": str(3 * GIB),
        "sys/fs/cgroup/memory/memory.memsw.limit_in_bytes": str(5 * GIB),
        "sys/fs/cgroup/memory/memory.memsw.usage_in_bytes": str(3 * GIB),
        "sys/fs/cgroup/memory/memory.stat": stat,
    }
    found = read_limits(tree(tmp_path, files))
    # The group above, which is not shown, allows only 4 GiB; 4 - (3 - 1) = 2 are left, and 5 - 4 = 1 of swap.
    assert found == Limits("cgroup v1", 4 * GIB, 2 * GIB, 1 * GIB, 1 * GIB, 0)


def test_both_versions_at_once_read_the_one_that_has_memory(tmp_path: Path):
    """The hybrid set-up of older distributions: version 2 is mounted, but has no memory controller."""
    files = {
        "proc/self/cgroup": "4:memory:/a\n0::/a\n",
        "proc/self/mountinfo": V1_MOUNT + V2_MOUNT.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified "),
        "sys/fs/cgroup/unified/a/cgroup.procs": "",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": NONE_V1,
        "sys/fs/cgroup/memory/a/memory.limit_in_bytes": str(2 * GIB),
        "sys/fs/cgroup/memory/a/memory.usage_in_bytes": str(1 * GIB),
    }
    found = read_limits(tree(tmp_path, files))
    assert found == Limits("cgroup v1", 2 * GIB, 1 * GIB)


@pytest.mark.parametrize("path", ["/../../other", "/gone/away"])
def test_a_group_that_is_not_shown_falls_back_to_the_top_of_the_mount(tmp_path: Path, path: str):
    """The kernel writes /.. for a process outside the namespace that the mount belongs to."""
    root = v2(tmp_path, {"/": {"memory.max": str(8 * GIB), "memory.current": "0"}}, path=path)
    assert read_limits(root) == Limits("cgroup v2", 8 * GIB, 8 * GIB)


def test_a_mount_point_with_a_space_in_it_is_found(tmp_path: Path):
    mount = "31 23 0:28 / /mnt/my\\040groups rw - cgroup2 cgroup2 rw\n"
    files = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": mount,
        "mnt/my groups/memory.max": str(8 * GIB),
    }
    assert read_limits(tree(tmp_path, files)) == Limits("cgroup v2", 8 * GIB, None)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/\n"},
        {"proc/self/cgroup": "rubbish", "proc/self/mountinfo": "rubbish\n\n"},
        {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": V2_MOUNT, "sys/fs/cgroup/memory.max": "soon\n"},
    ],
)
def test_a_system_without_control_groups_has_no_limit(tmp_path: Path, files: dict[str, str]):
    """Windows, macOS, and kernels whose files say something unknown."""
    assert read_limits(tree(tmp_path, files)) is None


def test_the_real_tree_of_this_machine_can_be_read():
    """Whatever it says, it is a size or nothing."""
    found = read_limits()
    assert found is None or found.limit_bytes > 0
