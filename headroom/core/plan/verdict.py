"""A plan's headline: whether the card holds the run, and whether the RAM holds what has to wait."""

from __future__ import annotations

from .whole import Plan

CARD = {
    "resident": ("fits the card", "all that runs stays on it while it runs"),
    "streams": ("fits the card", "weights are streamed"),
    "may not fit": ("may not fit the card", "the high end of the estimate is more than it has"),
    "does not fit": ("does not fit the card", "even the low end of the estimate is more than it has"),
    "unknown": ("n/a", "the work of a stage is not known"),
}
RAM = {
    "enough": "RAM: enough",
    "reads again": "RAM: a part is read from disk again",
    "reads each step": "RAM: too small, weights come from disk in each step",
    "short": "RAM: short, the system may end ComfyUI",
}
#: The same in a word, for a table.
RAM_SHORT = {"enough": "enough", "reads again": "reads again", "reads each step": "disk, each step", "short": "short"}


def headline(plan: Plan) -> str:
    """``fits the card: weights are streamed; RAM: enough``."""
    word, why = CARD[plan.outcome.verdict]
    card = f"{word} with these settings: {why}" if plan.settings_are_at_fault else f"{word}: {why}"
    return card if plan.ram is None else f"{card}; {RAM[plan.ram.verdict]}"


def ram_word(plan: Plan) -> str:
    """The RAM in a word; "n/a" where it is not said."""
    return "n/a" if plan.ram is None else RAM_SHORT[plan.ram.verdict]
