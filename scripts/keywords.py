#!/usr/bin/env python3
"""Writes the keywords of the Python functions from the fields of the library's structs: scripts/keywords.py

In python/zeroloss/api it renews what stands between `# keywords of SET` (parameters of a function), `# values of SET`
(entries of a dict that names them) or `# fields of SET` (of a TypedDict) and `# end`. With --check it writes nothing
and exits with 1 where something would change. Needs the compiled extension, whose stub has the types."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from zeroloss import _core
from zeroloss.api.sweep import plain_options

MODULES = Path(__file__).resolve().parents[1] / "python" / "zeroloss" / "api"
STUB = Path(_core.__file__).with_name("_core.pyi")
BLOCK = re.compile(r"^( *)# (keywords|values|fields) of (\w+)\n.*?^ *# end\n", re.MULTILINE | re.DOTALL)

#: What a user may give where the struct has one type: of any field, and of single ones.
WIDER = {"pathlib.Path": "str | os.PathLike[str]", "list[str]": "Iterable[object]"}
WIDER_FIELD = {
    ("step", "str"): "float | str",
    ("ridge", "str"): "float | str",
    ("target", "str"): "str | int",
    ("id", "str"): "str | int",
    ("features", "str"): "str | Iterable[object]",
    ("cache", "str"): "str | os.PathLike[str]",
    ("widths", "str"): "str | Iterable[int]",
    ("layers", "str"): "str | int | Iterable[int]",
    ("layers", "list[int]"): "int | Iterable[int]",
    ("class_names", "list[str]"): "Iterable[object] | None",
    ("seed", "int"): "Seed",
    ("start", "Start"): "Weights",
    ("test", "TestSet"): "Tested",
}

sweep, read, linear = plain_options(), _core.ReadOptions(), _core.LinearOptions()


def fields_of(struct: type) -> set[str]:
    return {name for name in vars(struct) if not name.startswith("_")}


#: Structs inside another, whose fields it shows too.
AXES, DESCENT = fields_of(_core.SweepAxes), fields_of(_core.DescentOptions)

#: The sets of keywords: a struct with the defaults, and fields that are none of its keywords.
SETS: dict[str, tuple[object, set[str]]] = {
    "certify": (_core.CertifyOptions(), set()),
    "width": (_core.WidthOptions(), set()),
    "audit": (_core.AuditOptions(), set()),
    "influence": (_core.InfluenceOptions(), set()),
    "prove": (_core.ProveOptions(), set()),
    "fit": (_core.FitOptions(), set()),
    "memorize": (_core.MemorizeOptions(), set()),
    "axes": (sweep.axes, set()),
    "sweep": (sweep, {"fit", "read", "axes"} | AXES),
    "trial": (sweep.fit, AXES | (fields_of(_core.FitOptions) - set(_core._OF_TRIALS))),
    "linear": (linear, {"train", "descent"} | DESCENT),
    "descent": (linear.descent, set()),
    "source": (read, {"n", "d", "seed"}),
    "read": (read, fields_of(_core.ReadOptions) - {"n", "d"}),
}


def types_of(struct: str) -> dict[str, str]:
    """The fields of a struct with their types, in their order, as the stub has them."""
    (described,) = (
        node
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == struct
    )
    return {
        node.name: ast.unparse(node.returns)
        for node in described.body
        if isinstance(node, ast.FunctionDef) and node.returns and len(node.args.args) == 1 and node.name[0] != "_"
        and ast.unparse(node.returns) != "None"
    }  # fmt: skip


def type_of(name: str, kind: str, several: bool, choices: dict[str, str]) -> str:
    if several:
        one = type_of(name, kind.removeprefix("list[").removesuffix("]"), False, choices)
        return f"{one} | Iterable[{one}] | None"
    if kind == "str" and name in choices:
        return f"Literal[{', '.join(json.dumps(choice) for choice in choices[name].split('|'))}]"
    return WIDER_FIELD.get((name, kind)) or WIDER.get(kind, kind)


def default_of(value: object) -> str:
    """As one writes it: 100_000, 1e-8, "relu"."""
    if isinstance(value, list):
        return default_of(value[0]) if value else "None"
    if isinstance(value, _core.Start):
        return json.dumps(value.source)
    if isinstance(value, _core.TestSet):
        return "None"
    if isinstance(value, Path):
        return '""' if value == Path() else json.dumps(str(value))
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}" if value >= 10_000 else str(value)
    return re.sub(r"e([+-])0*", lambda exponent: f"e{exponent[1].strip('+')}", repr(value))


def lines(what: str, chosen: str) -> Iterator[str]:
    struct, without = SETS[chosen]
    choices = type(struct)._choices  # type: ignore[attr-defined]
    for name, kind in types_of(type(struct).__name__).items():
        if name in without:
            continue
        several = chosen == "axes"
        if what == "values":
            yield f'"{name}": {name},'
        elif what == "fields":
            yield f"{name}: {type_of(name, kind, several, choices)}"
        else:
            yield f"{name}: {type_of(name, kind, several, choices)} = {default_of(getattr(struct, name))},"


def renewed(text: str) -> str:
    def block(found: re.Match[str]) -> str:
        indent, what, chosen = found.groups()
        whole = [f"# {what} of {chosen}", *lines(what, chosen), "# end"]
        return "".join(f"{indent}{line}\n" for line in whole)

    return BLOCK.sub(block, text)


def main() -> int:
    changed = False
    for module in sorted(MODULES.glob("*.py")):
        text = module.read_text()
        if (new := renewed(text)) == text:
            continue
        changed = True
        print(f"{module}: keywords are not those of the structs" if "--check" in sys.argv else f"{module}: renewed")
        if "--check" not in sys.argv:
            module.write_text(new)
    return int(changed and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
