"""The parts of a page: elements that escape what they hold, tables, numbers for people.

Html marks text that is markup; everything else that goes into an element is escaped.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any, TypeAlias

EMPTY_ELEMENTS = {"br", "img", "link", "meta"}
FEW_ROWS = 24  # of a table that is not folded away
MOST_ROWS = 1000
LONG = 18  # texts of cells that would be torn apart on a phone
ROUNDING = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}


class Html(str):
    """Markup. `numeric` cells of tables are flush right; `value` is what a table sorts them by."""

    numeric = False
    value: float | None = None


class Number(Html):
    numeric = True

    def __new__(cls, shown: str, value: object = None) -> Number:
        made = super().__new__(cls, shown)
        if isinstance(value, (int, float)):
            made.value = value
        return made


#: What an element holds: Html as it is, anything else escaped, a list its items, None nothing.
Content: TypeAlias = Any
#: Names of numbers that matter, and what stands below each.
Facts: TypeAlias = list[tuple[str, Content]]


@dataclass
class Parts:
    """What a page says of a run, in the order in which it stands there."""

    facts: Facts = field(default_factory=list)
    first: list[Content] = field(default_factory=list)  #: what to act on, above the figures
    after: list[Content] = field(default_factory=list)  #: tables, below the figures
    theory: list[Content] = field(default_factory=list)  #: what theorems say


def text(value: Content) -> Html:
    """What is not Html is escaped; None is nothing, a list its items one after the other."""
    if isinstance(value, Html):
        return value
    if isinstance(value, (list, tuple)):
        return Html("".join(map(text, value)))
    return Html("" if value is None else html.escape(str(value)))


def tag(name: str, /, *children: Content, **attributes: object) -> Html:
    """<name attributes>children</name>. class_ is class, aria_label aria-label; None leaves an attribute out,
    True gives it no value."""
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{given}>" + ("" if name in EMPTY_ELEMENTS else f"{text(children)}</{name}>"))


def number(value: Any, digits: int = 4, rounding: str = "nearest") -> Html:
    """A number as people read it: 1,797; 0.01346; 1.08 x 10^41 (with a real exponent). `digits` significant ones;
    digits before the point are never dropped. `rounding`: nearest, down or up, for bounds. None is a dash."""
    if value is None or isinstance(value, (str, Html)):
        return text(value) if value not in (None, "") else Number("–")
    if isinstance(value, bool):
        return Html("yes" if value else "no")
    if isinstance(value, int) and abs(value) < 10**12:
        return Number(f"{value:,}", value)
    if not math.isfinite(value):
        return Number({math.inf: "∞", -math.inf: "−∞"}.get(value, "not a number"), value)
    exact = Decimal(repr(float(value)))  # the shortest decimal that is this double: 0.01 is 0.01
    if exact == 0:
        return Number("0", 0)
    exponent = exact.adjusted()
    plain = -4 <= exponent < 7
    digits = max(digits, exponent + 1) if plain else min(digits, 3)
    rounded = exact.quantize(Decimal(1).scaleb(exponent - digits + 1), rounding=ROUNDING[rounding])
    if plain:
        shown = f"{rounded:,f}"
        return Number((shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", "−"), value)
    mantissa = f"{rounded.scaleb(-rounded.adjusted()):f}".rstrip("0").rstrip(".").replace("-", "−")
    return Number(power(mantissa, rounded.adjusted()), value)


def power(mantissa: str, exponent: int) -> Html:
    """A number with a power of ten, as it is written by hand."""
    ten = f"10<sup>{exponent}</sup>".replace("-", "−")
    return Html(ten if mantissa == "1" else f"{mantissa} × {ten}")


def percent(fraction: float | None) -> Html:
    return Number("–") if fraction is None else Number(f"{number(100 * fraction, 3)} %", fraction)


def record(sample: Content) -> Number:
    """The number of a sample: a name, so without commas."""
    return Number(text(sample), sample)


def label(said: Content) -> Html:
    """A label as it was given; flush right and sorted as a number where it is one."""
    try:
        return Number(text(said), float(said))
    except (TypeError, ValueError):
        return text(said)


def at_least(value: float | None, digits: int = 4) -> Html:
    """A lower bound that is positive, rounded down; a dash for none."""
    return Number(f"≥ {number(value, digits, 'down')}", value) if value else Number("–")


def at_most(value: float | None, digits: int = 3) -> Html:
    """An upper bound, rounded up."""
    return number(value, digits, "up")


def words(status: str | None) -> Html:
    """A name of the command's results, in words."""
    return text(str(status or "").replace("_", " "))


def table(header: list[str], rows: list[list[Content]], caption: str | None = None) -> Html:
    """A table that scrolls inside its box; columns of numbers are flush right, empty ones are left out."""
    cells = [[number(cell) for cell in row] for row in rows]
    kept = [k for k in range(len(header)) if any(row[k] not in ("", "–") for row in cells)]
    right = {k for k in kept if all(row[k].numeric for row in cells)}
    lines: list[list[Any]] = [header, *cells]
    long = {k for k in kept if max(len(plain(row[k])) for row in lines) > LONG}

    def look(k: int) -> list[str]:
        return ["n"] * (k in right) + ["long"] * (k in long)

    def line(row: list[Any], name: str, **scope: str) -> Html:
        return tag("tr", [tag(name, row[k], class_=" ".join(look(k)) or None, data_value=_sorted_by(row[k]), **scope)
                          for k in kept])

    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption) if caption else None,
            tag("thead", line(header, "th", scope="col")),
            tag("tbody", [line(row, "td") for row in cells]),
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption or f"table of {', '.join(plain(header[k]) for k in kept)}",
    )


def folded(header: list[str], rows: list[list[Content]], always: bool = False) -> Html:
    """A table, folded away if it is long, of the first rows if it is too long."""
    shown, count = table(header, rows[:MOST_ROWS]), len(rows)
    which = f"All {count:,}" if count <= MOST_ROWS else f"{MOST_ROWS:,} of {count:,}; result.json has all"
    return details(which, shown) if always or count > FEW_ROWS else shown


def _sorted_by(cell: Content) -> str | None:
    """As the page's script reads a number."""
    value = cell.value if isinstance(cell, Html) else None
    return None if value is None else repr(value).replace("inf", "Infinity")


def plain(markup: str) -> str:
    """Its text alone, formulas as they are read aloud."""
    if not isinstance(markup, Html):
        return markup
    named = re.sub(r'<math[^>]*alttext="([^"]*)".*?</math>', r"\1", markup)
    return html.unescape(re.sub(r"<[^>]*>", "", named))


def facts(pairs: Facts) -> Html:
    """Names and values; what has no value (None, no text, a dash) is left out."""
    known = [(name, number(value)) for name, value in pairs if value is not None]
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in known if value not in ("", "–")]
    return tag("dl", rows, class_="facts") if rows else Html("")


def typed(words: list[str]) -> Html:
    """What is typed in a shell. Lines end between words, and not between an option and its value."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("-") and " " not in parts[-1] and not word.startswith("--"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return tag("pre", [[tag("code", part), " "] for part in parts], class_="command")


def details(summary: str, *children: Content) -> Html:
    return tag("details", tag("summary", summary), *children)
