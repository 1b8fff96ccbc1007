"""Whose the memory of a GPU is, by the public cases."""

from __future__ import annotations

from headroom.core.device_memory import NO_LIST, OTHER_NAMESPACE, SHARED, UNLISTED, Usage, believable_free, split
from headroom.core.readings import Program

GIB = 2**30
MIB = 2**20
ME = 4242


def test_what_other_programs_hold_is_their_sum_where_the_driver_says_it():
    """12 in use: 8 by this process (7.5 by torch and a context), 3 and 0.5 by two others, 0.5 by the driver."""
    processes = [Program("python", 8 * GIB, ME), Program("firefox", GIB // 2, 7), Program("ollama", 3 * GIB, 9)]
    found = split(12 * GIB, GIB // 2, 15 * GIB // 2, processes, ME)
    assert found == Usage(
        own=8 * GIB,
        others=7 * GIB // 2,
        estimated=False,
        programs=(Program("ollama", 3 * GIB, 9), Program("firefox", GIB // 2, 7)),
    )


def test_without_sizes_per_program_the_rest_is_an_estimate():
    """MEM-19, nvitop #55: usedGpuMemory None -> total used minus what torch reserves, labelled an estimate."""
    processes = [Program("dwm.exe", None, 7), Program("python.exe", None, ME)]
    found = split(10 * GIB, None, 6 * GIB, processes, ME)
    assert (found.own, found.others, found.estimated) == (6 * GIB, 4 * GIB, True)
    assert found.programs == (Program("dwm.exe", None, 7),)


def test_an_estimate_is_never_negative_when_this_process_is_not_in_the_list():
    """MEM-20, nvidia-docker #179, pynvml #36: torch holds 6 GiB, the driver's moment-older count says 5."""
    found = split(5 * GIB, 0, 6 * GIB, [Program("x", 5 * GIB, 31337)], ME)
    assert (found.others, found.estimated, found.programs) == (0, True, None)
    assert found.reasons["programs"] == OTHER_NAMESPACE


def test_in_a_container_this_process_is_not_shown_as_another_program():
    """MEM-20: pid 31337 is this very process under the machine's number; 9 - 6 = 3 GiB are others."""
    found = split(9 * GIB, 0, 6 * GIB, [Program("x", 6 * GIB, 31337), Program("y", 3 * GIB, 31400)], ME)
    assert (found.own, found.others, found.programs) == (6 * GIB, 3 * GIB, None)


def test_an_empty_list_in_a_container_hides_no_other_program():
    """MEM-21: "External (other containers/host)"."""
    found = split(9 * GIB, 1 * GIB, 6 * GIB, [], ME)
    assert (found.others, found.estimated) == (2 * GIB, True)


def test_programs_of_other_containers_are_not_lost_when_the_list_is_empty():
    """MEM-20, MEM-21: 20 GiB in use, nobody listed, nothing of it ours."""
    found = split(20 * GIB, 1 * GIB, 0, [], ME)
    assert (found.others, found.estimated, found.programs) == (19 * GIB, True, ())
    assert found.reasons["programs"] == UNLISTED


def test_a_process_that_uses_no_gpu_sees_the_others_as_listed():
    found = split(3 * GIB, 0, 0, [Program("blender", 3 * GIB, 9)], ME)
    assert (found.own, found.others, found.estimated) == (0, 3 * GIB, False)


def test_an_idle_card_has_no_other_program():
    """MEM-22, gpustat #141: 308 MB in use on an idle card are the driver's."""
    found = split(308 * MIB, 308 * MIB, 0, [], ME)
    assert (found.others, found.programs) == (0, ())


def test_the_drivers_part_is_not_other_programs_where_there_is_no_list():
    """MEM-22: 900 MB of driver, 100 of something else."""
    found = split(1000 * MIB, 900 * MIB, 0, None, ME)
    assert (found.others, found.estimated, found.reasons) == (100 * MIB, True, {"programs": NO_LIST})


def test_memory_shared_with_the_machine_is_not_divided():
    """MEM-24, pynvml #63: 5 GB of 60 shown per process."""
    found = split(60 * GIB, None, 50 * GIB, [Program("python", 5 * GIB, ME)], ME, unified=True)
    assert found == Usage(50 * GIB, None, None, None, {"programs": SHARED, "others_bytes": SHARED})


def test_what_is_not_known_stays_unknown():
    assert split(None, None, 1 * GIB, None, ME).others is None
    assert split(1 * GIB, None, None, None, ME).others is None
    assert split(None, None, None, None, ME).reasons["others_bytes"] == "the memory in use is not known"


def test_free_memory_of_the_whole_card_beside_a_tensor_is_not_believed():
    """MEM-25, unsloth #8403: ROCm on Windows."""
    assert not believable_free(16 * GIB, 16 * GIB, 2 * GIB)
    assert believable_free(16 * GIB, 16 * GIB, 0)
    assert believable_free(14 * GIB, 16 * GIB, 2 * GIB)
    assert believable_free(None, 16 * GIB, 2 * GIB)
