/* Plays libnvidia-ml.so.1 for the real nvidia-ml-py. Only what Headroom asks for, with made-up cards.
 *
 * The scenario is the first word of the file that HEADROOM_FAKE_NVML names; it is read at every call, so that it can
 * change while the process runs. Structures are those of nvml.h; the field order is checked by the real binding.
 *
 *   healthy            one card with a list of processes, this one among them
 *   two_cards          a small and a large one, in the order of the bus, which is not CUDA's
 *   idle               nothing runs; the driver's own part is in use; no power sensor
 *   driver_not_loaded, mismatch, unknown     nvmlInit fails with 9, 18, 999
 *   gb10               memory "not supported": it is the machine's RAM
 *   mig, mig_denied    a partitioned card: its memory "no permission"; parts can be read, or cannot
 *   lost               the card has fallen off the bus; stays so until the library is started again
 *   bad_name           a name that is not UTF-8 (WSL, drivers 555.85 and 555.99)
 *   no_process_memory  sizes per process "not available" (Windows, WSL)
 *   host_pids          process ids of the machine, seen from a container
 *   old_driver         before 510: no second version of the memory query, no third one of the process lists
 *   power_once         the power sensor fails once
 *   slow               the memory query takes 0.7 seconds
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define NOT_AVAILABLE (~0ULL)

enum {
    OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, FUNCTION_NOT_FOUND = 13, GPU_IS_LOST = 15, MISMATCH = 18, UNKNOWN = 999
};

/* Above the largest process id that Linux gives. */
enum { OLLAMA = 4200001, FIREFOX = 4200002, OUTSIDE = 4200010 };

typedef struct {
    const char *name, *uuid, *bus;
    unsigned long long total, reserved, allocated;
    unsigned busy, bandwidth, celsius, milliwatts, generation, width;
    int major, minor;
} card_t;

typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned gpu, memory; } utilization_t;
typedef struct { unsigned version; int sensor, celsius; } temperature_t;
typedef struct { char old_bus[16]; unsigned domain, bus, device, id, subsystem; char id_text[32]; } pci_t;

static const card_t RTX_4090 = {"NVIDIA GeForce RTX 4090", "GPU-bbbb2222-0000-0000-0000-000000000002", "00000000:41:00.0",
                                24 * GIB, 512 * MIB, 12 * GIB, 87, 44, 61, 320500, 4, 16, 8, 9};
static const card_t RTX_3060 = {"NVIDIA GeForce RTX 3060", "GPU-aaaa1111-0000-0000-0000-000000000001", "00000000:01:00.0",
                                12 * GIB, 256 * MIB, 2 * GIB, 5, 1, 40, 30000, 3, 8, 8, 6};
static const card_t GB10 = {"NVIDIA GB10", "GPU-ffff6666-0000-0000-0000-000000000006", "0000000F:01:00.0",
                            0, 0, 0, 12, 0, 45, 15000, 5, 1, 12, 1};
static const card_t A100 = {"NVIDIA A100-SXM4-40GB", "GPU-cccc3333-0000-0000-0000-000000000003", "00000000:81:00.0",
                            40 * GIB, 512 * MIB, 9 * GIB, 0, 0, 33, 60000, 4, 16, 8, 0};
static const card_t MIG_PART = {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "MIG-dddd4444-0000-0000-0000-000000000004", "",
                                5 * GIB, 256 * MIB, 1 * GIB, 0, 0, 0, 0, 0, 0, 8, 0};

static int started, lost, power_failed, generation;

static int is(const char *scenario) {
    char word[64] = "healthy";
    const char *path = getenv("HEADROOM_FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file) {
        if (fscanf(file, "%63s", word) != 1) strcpy(word, "healthy");
        fclose(file);
    }
    return strcmp(word, scenario) == 0;
}

static int mig(void) { return is("mig") || is("mig_denied"); }

static unsigned count(void) { return is("two_cards") ? 2 : 1; }

/* A handle holds the start of the library that it comes from, and the card's number or 64 for a part. */
static void *handle_of(unsigned index) { return (void *)(uintptr_t)(((unsigned)generation << 8) | (index + 1)); }

static int open_handle(void *handle, const card_t **card, unsigned *index) {
    uintptr_t value = (uintptr_t)handle;
    if (!started) return UNINITIALIZED;
    if (is("lost")) lost = 1;
    if (lost) return GPU_IS_LOST;
    if ((value >> 8) != (uintptr_t)generation) return INVALID_ARGUMENT;
    *index = (unsigned)(value & 0xff) - 1;
    if (*index == 64) *card = &MIG_PART;
    else if (mig()) *card = &A100;
    else if (is("gb10")) *card = &GB10;
    else if (is("two_cards") && *index == 0) *card = &RTX_3060;
    else *card = &RTX_4090;
    return OK;
}

#define ENTER \
    const card_t *card; \
    unsigned index; \
    int status = open_handle(handle, &card, &index); \
    if (status) return status; \
    (void)card, (void)index

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    if (is("driver_not_loaded")) return DRIVER_NOT_LOADED;
    if (is("mismatch")) return MISMATCH;
    if (is("unknown")) return UNKNOWN;
    if (started++ == 0) {
        generation++;
        lost = 0;
    }
    return OK;
}

/* As torch starts it (torch/cuda/__init__.py 2.14.1, _raw_device_count_nvml). */
int nvmlInit(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    if (!started) return UNINITIALIZED;
    started--;
    return OK;
}

const char *nvmlErrorString(int code) { (void)code; return "an error of the fake driver"; }

int nvmlSystemGetDriverVersion(char *out, unsigned length) {
    if (!started) return UNINITIALIZED;
    snprintf(out, length, "%s", is("old_driver") ? "470.256.02" : "580.95.05");
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *out) {
    if (!started) return UNINITIALIZED;
    if (is("unknown")) return UNKNOWN;
    *out = count();
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    if (!started) return UNINITIALIZED;
    if (is("lost")) lost = 1;
    if (lost) return GPU_IS_LOST;
    if (index >= count()) return INVALID_ARGUMENT;
    *out = handle_of(index);
    return OK;
}

int nvmlDeviceGetName(void *handle, char *out, unsigned length) {
    ENTER;
    snprintf(out, length, "%s", is("bad_name") ? "\xf8\xa4\x01NVIDIA GeForce RTX 4090" : card->name);
    return OK;
}

int nvmlDeviceGetUUID(void *handle, char *out, unsigned length) {
    ENTER;
    snprintf(out, length, "%s", card->uuid);
    return OK;
}

int nvmlDeviceGetPciInfo_v3(void *handle, pci_t *out) {
    ENTER;
    memset(out, 0, sizeof *out);
    snprintf(out->id_text, sizeof out->id_text, "%s", card->bus);
    return OK;
}

static int memory_status(unsigned index) {
    if (is("slow")) usleep(700000);
    if (is("gb10")) return NOT_SUPPORTED;
    if (mig() && index != 64) return NO_PERMISSION;
    return OK;
}

int nvmlDeviceGetMemoryInfo(void *handle, memory_t *out) {
    ENTER;
    if ((status = memory_status(index))) return status;
    unsigned long long allocated = is("idle") ? 0 : card->allocated;
    out->total = card->total;
    out->used = card->reserved + allocated;
    out->free = card->total - out->used;
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2_t *out) {
    ENTER;
    if (is("old_driver")) return FUNCTION_NOT_FOUND;
    if ((status = memory_status(index))) return status;
    out->total = card->total;
    out->reserved = card->reserved;
    out->used = is("idle") ? 0 : card->allocated;
    out->free = card->total - card->reserved - out->used;
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, utilization_t *out) {
    ENTER;
    if (mig()) return NOT_SUPPORTED;
    out->gpu = card->busy;
    out->memory = card->bandwidth;
    return OK;
}

int nvmlDeviceGetTemperatureV(void *handle, temperature_t *out) {
    ENTER;
    if (is("old_driver")) return FUNCTION_NOT_FOUND;
    out->celsius = (int)card->celsius;
    return OK;
}

int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *out) {
    ENTER;
    (void)sensor;
    *out = card->celsius;
    return OK;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned *out) {
    ENTER;
    if (is("idle")) return NOT_SUPPORTED;
    if (is("power_once") && !power_failed++) return UNKNOWN;
    *out = card->milliwatts;
    return OK;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *handle, unsigned *out) {
    ENTER;
    *out = card->generation;
    return OK;
}

int nvmlDeviceGetCurrPcieLinkWidth(void *handle, unsigned *out) {
    ENTER;
    *out = card->width;
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    ENTER;
    *major = card->major;
    *minor = card->minor;
    return OK;
}

static int processes(void *handle, unsigned *length, process_t *out, const process_t *listed, unsigned number) {
    ENTER;
    if (is("idle") || is("two_cards")) number = 0;
    if (out == NULL || *length < number) {
        *length = number;
        return number ? INSUFFICIENT_SIZE : OK;
    }
    for (unsigned i = 0; i < number; i++) {
        out[i] = listed[i];
        if (is("no_process_memory")) out[i].used = NOT_AVAILABLE;
    }
    *length = number;
    return OK;
}

static int compute_processes(void *handle, unsigned *length, process_t *out) {
    process_t listed[] = {{is("host_pids") ? OUTSIDE : (unsigned)getpid(), 8 * GIB, 0, 0}, {OLLAMA, 3 * GIB, 0, 0}};
    return processes(handle, length, out, listed, 2);
}

static int graphics_processes(void *handle, unsigned *length, process_t *out) {
    /* The driver lists a process that does both in both lists. */
    process_t listed[] = {{FIREFOX, 512 * MIB, 0, 0}, {OLLAMA, 3 * GIB, 0, 0}};
    return processes(handle, length, out, listed, 2);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *length, process_t *out) {
    return is("old_driver") ? FUNCTION_NOT_FOUND : compute_processes(handle, length, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *length, process_t *out) {
    return is("old_driver") ? FUNCTION_NOT_FOUND : graphics_processes(handle, length, out);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *length, process_t *out) {
    return compute_processes(handle, length, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(void *handle, unsigned *length, process_t *out) {
    return graphics_processes(handle, length, out);
}

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned length) {
    if (!started) return UNINITIALIZED;
    if (pid == OLLAMA) snprintf(out, length, "/usr/local/bin/ollama runner --model /home/alice/secret");
    else if (pid == FIREFOX) snprintf(out, length, "/usr/lib/firefox/firefox");
    else return NOT_FOUND;
    return OK;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    ENTER;
    if (!mig()) return NOT_SUPPORTED;
    *current = *pending = 1;
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *out) {
    ENTER;
    *out = mig() ? 7 : 0;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned part, void **out) {
    ENTER;
    if (is("mig_denied")) return NO_PERMISSION;
    if (part != 0) return NOT_FOUND;
    *out = handle_of(64);
    return OK;
}
