"""The page of one run."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

from .. import figures
from ..figures.run import Run
from . import answer, sections
from .captions import CAPTIONS
from .document import chart, document
from .elements import Content, Html, details, facts, tag, text, typed
from .maths import worded

MOST_VALUES = 200  # of a list under "all values"


def page(run: Run) -> str:
    """The page of a run as text. Raises figures.RunError for values that are not what the command writes."""
    try:
        return _page(run)
    except figures.RunError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise figures.RunError(f"{run.folder}: not as zeroloss writes it: {error!r}") from error


def _page(run: Run) -> str:
    first, _ = answer.conclusion(run)
    return document(f"{run.kind} {run.data}: {first}", body(run))


def body(run: Run) -> Content:
    """All of the page but its head: the conclusion and what to act on, figures, tables, theorems, how it was made."""
    first, rest = answer.conclusion(run)
    parts = sections.of(run)
    drawn = figures.of(run)
    origin = [tag("h2", "How this was made"), _origin(run)]
    return [
        tag("header", tag("p", f"zeroloss {run.kind}", f" · {run.data}" if run.data else "", class_="kind"),
            tag("h1", worded(first)), [tag("p", worded(line)) for line in rest], answer.next_step(run)),
        facts(parts.facts) if parts.facts else None,
        parts.first, _figures(run, drawn), parts.after, _theory(parts.theory), origin,
        tag("noscript", tag("p", "The script of this page is switched off: figures are not drawn.")) if drawn else None]


def _theory(said: list[Content]) -> Content:
    shown = text(said)
    return [tag("h2", "What theory says"), shown] if shown else None


def _figures(run: Run, drawn: figures.Figures) -> Content:
    charts = [chart(figure, *heading(run.kind, figure)) for figure in drawn.values()]
    title = tag("h2", "Figures" if len(charts) > 1 else "Figure")
    return [title, tag("div", charts, class_="figures")] if charts else None


def heading(kind: str, figure: figures.Figure) -> tuple[str, str]:
    """Heading and caption of a figure of this kind of run."""
    known = CAPTIONS.get(kind, {})
    first, caption = known.get(figure.name) or known.get(figure.name.split("-")[0]) or (figure.title, "")
    return first, caption.replace("{title}", figure.title)


def _origin(run: Run) -> Content:
    """The command, its options, data and machine, and every value with all digits."""
    manifest = run.manifest
    data, machine = (manifest.get(key) or {} for key in ("data", "machine"))
    finished = str(manifest.get("finished") or "")[:16].replace("T", " ")
    return [
        command([str(word) for word in manifest.get("command") or []]),
        facts([("finished", f"{finished} UTC" if finished else None), ("seconds", manifest.get("seconds")),
               ("largest memory", _bytes(manifest.get("peak_bytes"))), ("zeroloss", manifest.get("version")),
               ("processor", machine.get("processor")), ("threads", machine.get("threads")),
               ("claims", _checked(run))]),
        [details(heading, facts([(key, _flat(value)) for key, value in values.items()]))
         for heading, values in (("Options", manifest.get("options") or {}), ("Data", data), ("Machine", machine))
         if values],
        details("All values, all digits", tag("pre", json.dumps(_shortened(run.result), indent=1, ensure_ascii=False)))]


def _checked(run: Run) -> str | None:
    """What zeroloss-check found of the run's claims, if they are still those that it read; nothing without claims."""
    claims = run.folder / "claims.json"
    if not claims.is_file():
        return None
    checked = run.json("checked.json")
    if checked.get("claims_sha256") != hashlib.sha256(claims.read_bytes()).hexdigest():
        return "not checked; zeroloss check decides them again, by another program"
    counts = [(checked.get(key) or 0, said) for key, said in
              (("holds", "checked"), ("does_not_hold", "do not hold"), ("not_decided", "not decided"))]
    found = ", ".join(f"{count} {said}" for count, said in counts if count)
    finished = str(checked.get("finished"))[:16].replace("T", " ")
    return (f"{found}: zeroloss-check {checked.get('version')} with FLINT {checked.get('flint')}, {finished} UTC, "
            f"{checked.get('seconds'):.2g} s")


def command(words: list[str]) -> Html | None:
    """What to type in a shell to do it again; a single word is the call of a Python session."""
    if len(words) < 2:
        return tag("pre", words) if words else None
    name = Path(words[0]).name.replace("zeroloss-torch", "zeroloss")  # which zeroloss becomes where LibTorch works
    program = name.replace("zeroloss-", "zeroloss ").split()  # runs of zeroloss-conv are from before
    return typed([*program, *map(shlex.quote, words[1:])])


def _flat(value: Any) -> str | None:
    if isinstance(value, dict):
        return ", ".join(f"{key} {said}" for key, item in value.items() if (said := _flat(item)))
    if isinstance(value, list):
        return ", ".join(said for item in value if (said := _flat(item)))
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _bytes(count: float | None) -> str | None:
    return f"{count / 1e9:,.2f} GB" if count else None


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        more = len(value) - MOST_VALUES
        rest = [f"and {more} more in result.json"] if more > 0 else []
        return [_shortened(item) for item in value[:MOST_VALUES]] + rest
    return value
