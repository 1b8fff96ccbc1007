"""Which part of an image, mask or track is bad or odd, and what it is made of, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .image import Area, MediaCheck, Medium, Odd, OddKind, Span
from .latent_words import LONGEST_LIST
from .ranges import compact, named
from .units import number, value, with_unit

Level = Literal["info", "warn"]

NOUNS: dict[Medium, str] = {"image": "image", "mask": "mask", "audio": "track"}
#: Worst first: how grave it is, and what the title says of one item and of several.
KINDS: dict[OddKind, tuple[Level, str, str]] = {
    "black": ("warn", "is all black", "are all black"),
    "constant": ("warn", "is constant", "are constant"),
    "range": ("warn", "is not within 0 to 1", "are not within 0 to 1"),
    "black area": ("warn", "has a black area", "have black areas"),
    "mostly black": ("info", "is mostly black", "are mostly black"),
    "one colour": ("info", "is one colour", "are one colour each"),
    "silent": ("info", "is silent", "are silent"),
    "mostly silent": ("info", "is mostly silent", "are mostly silent"),
}
MOST_PLACES = 3
_FORMER_NAN = "A {noun} that was NaN looks like this once it has been through {what}."
#: What stands below, two sentences at most.
WHY: dict[OddKind, str] = {
    "black": "Nothing in it is NaN or Inf. " + _FORMER_NAN.format(noun="picture", what="an 8-bit file"),
    "constant": "Nothing in it is NaN or Inf. " + _FORMER_NAN.format(noun="track", what="a 16-bit file"),
    "range": "Nodes behind it may clip these values or build on them.",
    "black area": "It is exactly 0.0 and not NaN. A tile that failed looks like this, and so does a part meant black.",
    "mostly black": "It is not NaN. A decode that failed in part looks like this, and so does a dark picture.",
    "one colour": "Nothing in it is NaN or Inf.",
    "silent": "Every sample is exactly 0.0, and none is NaN or Inf.",
    "mostly silent": "These samples are exactly 0.0, and none is NaN or Inf.",
}


def subject(medium: Medium, items: Sequence[int], total: int) -> str:
    """Items at the start of a sentence: "The image", "All 4 images", "Images 1 and 3 of 4", "40 of 81 images"."""
    noun = NOUNS[medium]
    if total == 1:
        return "The audio" if medium == "audio" else f"The {noun}"
    if len(items) == total:
        return f"All {total} {noun}s"
    if len(compact(items)) > LONGEST_LIST:
        return f"{len(items)} of {total} {noun}s"
    return capital(named(noun, items, total))


def bad_part(check: MediaCheck) -> str:
    """What is bad: "Images 1 and 3 of 4 are NaN", "The audio holds NaN and Inf"."""
    counts = [bad.counts for bad in check.bad]
    words = [name for name, here in (("NaN", any(c.nan for c in counts)), ("Inf", any(c.inf for c in counts))) if here]
    whole = all(c.nan == c.total for c in counts)
    one = len(counts) == 1
    verb = ("is" if one else "are") if whole else ("holds" if one else "hold")
    return f"{subject(check.medium, check.bad_items, check.items)} {verb} {' and '.join(words)}"


def odd_part(check: MediaCheck) -> str:
    """The worst that is odd: "Finite, but image 2 of 4 is all black"."""
    kind = worst(check.odd)
    some = [odd for odd in check.odd if odd.kind == kind]
    who = subject(check.medium, [odd.item for odd in some], check.items)
    does = KINDS[kind][1 if len(some) == 1 else 2]
    if len(some) == 1 and len(some[0].areas) > 1:
        does = f"has {len(some[0].areas)} black areas"
    return f"Finite, but {who[0].lower()}{who[1:]} {does}"


def worst(odd: Sequence[Odd]) -> OddKind:
    """The gravest kind among at least one."""
    here = {one.kind for one in odd}
    return next(kind for kind in KINDS if kind in here)


def odd_lines(check: MediaCheck) -> list[str]:
    """One line for each place or value, with all the items that share it."""
    lines: dict[str, list[int]] = {}
    for odd in check.odd:
        for detail in _details(odd, check.shape):
            lines.setdefault(detail, []).append(odd.item)
    return [capital(f"{line} of {items_named(check, items)}") for line, items in lines.items()]


def items_named(check: MediaCheck, items: Sequence[int]) -> str:
    """Items inside a sentence: "the image", "image 2", "images 0-80"."""
    if check.items == 1:
        return "the audio" if check.medium == "audio" else f"the {NOUNS[check.medium]}"
    return named(NOUNS[check.medium], items)


def _details(odd: Odd, shape: Sequence[int]) -> list[str]:
    """What the title leaves out, each as the begin of "... of image 2"."""
    values = [value(number_) for number_ in odd.values]
    if odd.kind == "black area":
        return [area(place, "black", shape) for place in odd.areas]
    if odd.kind == "range":
        return [f"{values[0]} to {values[1]} are the values"]
    if odd.kind == "one colour":
        return [f"{', '.join(values)} is the colour"]
    if odd.kind == "constant":
        # The channels of a track mostly stand at the same value.
        at = f"{', '.join(dict.fromkeys(values))} is the value"
        return [f"{at} {spans(odd.spans)}" if odd.spans else at]
    if odd.kind == "mostly silent":
        return [f"silent {spans(odd.spans)}, {share(odd.share or 0.0)}"] if odd.spans else []
    return [f"exactly 0.0 in {share(odd.share or 0.0)}"] if odd.kind == "mostly black" else []


def area(place: Area, kind: str, shape: Sequence[int]) -> str:
    """A rectangle and its share of an image [B, H, W, ...]: "a black area of 512×512 px at x 512, y 0, 25 %"."""
    part = share(place.width * place.height / (shape[1] * shape[2]))
    return f"a {kind} area of {with_unit(f'{place.width}×{place.height}', 'px')} at x {place.x}, y {place.y}, {part}"


def spans(some: Sequence[Span]) -> str:
    """Stretches of a track: "from 1.20 to 1.25 s", "from 0.00 to 1.00 s and 3 more"."""
    parts = [f"{number(span.start, 2)} to {with_unit(number(span.end, 2), 's')}" for span in some[:MOST_PLACES]]
    more = f" and {len(some) - MOST_PLACES} more" if len(some) > MOST_PLACES else ""
    return f"from {', '.join(parts)}{more}"


def share(part: float) -> str:
    """A share as a percentage; one decimal below 10 %."""
    percent = 100 * part
    if 0 < percent < 0.05:
        return with_unit("<0.1", "%")
    return with_unit(number(percent, 0 if percent >= 10 else 1), "%")


def made_of(check: MediaCheck) -> str:
    """Size, dtype and device on one line: "4 images, 1024×768, 3 ch, fp32, cpu" (width first)."""
    noun = NOUNS[check.medium]
    items = f"{check.items} {noun}{'' if check.items == 1 else 's'}"
    if check.medium == "audio":
        rate = check.sample_rate
        length = check.shape[2]
        size = [with_unit(number(length / rate, 2), "s") + f" at {with_unit(str(rate), 'Hz')}"] if rate else []
        words = [items, f"{check.shape[1]} ch", *(size or [f"{length:,} samples"])]
    else:
        words = [items, f"{check.shape[2]}×{check.shape[1]}", *(f"{channels} ch" for channels in check.shape[3:])]
    return ", ".join([*words, check.dtype, check.device])


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
