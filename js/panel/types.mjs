// @ts-check
/** The server's answers as types: the fields of headroom/core/readings.py that the panel uses. Nothing runs here. */

/**
 * @typedef {object} Device
 * @property {number} index
 * @property {string} name
 * @property {string} kind
 * @property {string | null} uuid
 * @property {string | null} pci
 * @property {boolean} unified
 * @property {number | null} total_bytes
 * @property {number | null} used_bytes
 * @property {number | null} free_bytes
 * @property {number | null} driver_bytes
 * @property {number | null} own_bytes
 * @property {number | null} others_bytes
 * @property {number | null} torch_allocated_bytes
 * @property {number | null} torch_reserved_bytes
 * @property {number | null} evictable_bytes
 * @property {number | null} spilled_bytes
 * @property {{ name: string, used_bytes: number | null, pid: number | null }[] | null} programs
 * @property {number | null} utilisation_percent
 * @property {number | null} temperature_celsius
 * @property {string | null} driver
 * @property {Record<string, string>} reasons
 *
 * @typedef {object} Ram
 * @property {number | null} total_bytes
 * @property {number | null} machine_bytes
 * @property {number | null} available_bytes
 * @property {number | null} own_bytes
 * @property {number | null} pinned_bytes
 * @property {number | null} file_cache_bytes
 * @property {string | null} limit_source
 * @property {number | null} swap_total_bytes
 * @property {number | null} swap_used_bytes
 * @property {number | null} cpu_percent
 * @property {Record<string, string>} reasons
 *
 * @typedef {object} LoadedModel
 * @property {string | null} id
 * @property {string | null} name
 * @property {string} kind
 * @property {string} class_name
 * @property {string | null} dtype
 * @property {number | null} size_bytes
 * @property {number | null} resident_bytes
 * @property {string | null} device
 * @property {boolean | null} dynamic
 * @property {number | null} lora_patches
 *
 * @typedef {object} Advice
 * @property {string} id
 * @property {"problem" | "warning" | "info"} severity
 * @property {number} rank
 * @property {string} title
 * @property {string} why
 * @property {string} fix
 * @property {string} command
 * @property {string} check
 * @property {string} source
 * @property {string} link
 * @property {Record<string, any>} params
 *
 * @typedef {object} Snapshot
 * @property {number} taken_at
 * @property {Record<string, any>} host
 * @property {Device[]} devices
 * @property {Device[]} unused_devices
 * @property {Ram} ram
 * @property {LoadedModel[]} models
 * @property {Record<string, any> | null} last_run
 * @property {{ id: string, type: string } | null} [running_node]
 * @property {Record<string, any> | null} [failure]
 * @property {Advice[]} [advice]
 */

export {};
