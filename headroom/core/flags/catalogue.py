"""All rules, from the modules by theme.

To add one: an entry in its module and its two snapshots in tests/core/flags/flag_cases.py.
"""

from . import (
    contradictions,
    dynamic_off,
    flag_against_model,
    last_run,
    machine,
    no_effect,
    precision,
    ram,
    ram_switch,
    values,
)

RULES = (
    *no_effect.RULES,
    *dynamic_off.RULES,
    *contradictions.RULES,
    *values.RULES,
    *flag_against_model.RULES,
    *precision.RULES,
    *machine.RULES,
    *ram.RULES,
    *ram_switch.RULES,
    *last_run.RULES,
)
