"""The figures of a result or a run folder: Vega-Lite specifications, drawn by vl-convert.

    figures = zeroloss.figures.of(result)      # or of("runs/first"); result.plot() is the same
    figures                                    # in a notebook they draw themselves, and so does
    figures["curve"]                           # each of them
    figures["curve"].save("curve.pdf")         # or .svg, .png, .json
    figures.save("all.svg")                    # one below the other
    figures.save("paper", "svg", "pdf")        # paper/NAME.svg and paper/NAME.pdf of each

Results of audit, certify, fit, linear, memorize, sweep and width have figures, and so have run folders of these and of
conv. Commands write them into the folder (NAME.vl.json); some of conv are made here, of its tables.
"""
from __future__ import annotations

import base64
import json
import tempfile
from contextlib import suppress
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from . import charts
from .axis import fit_axis, whole_ticks
from .colours import Slots, paint, slots
from .run import Folder, Json, Run, RunError, read_object, read_run
from .signs import signs

__all__ = ["DARK", "LIGHT", "Figure", "Figures", "Run", "RunError", "of", "of_result", "read_run"]

#: Colours of figures and page. `series` are told apart by people who do not see red or green.
LIGHT: Json = {"paper": "#ffffff", "ink": "#1c2024", "muted": "#5b6470", "line": "#e2e5e9", "wash": "#f5f6f8",
         "series": ["#0b6bcb", "#c8501a", "#15803d", "#8b48c9", "#8a6a00", "#c2286e", "#007f8c"]}
DARK: Json = {"paper": "#14171a", "ink": "#e8eaed", "muted": "#a2abb6", "line": "#31373e", "wash": "#1d2125",
        "series": ["#6cb2ff", "#ff9b66", "#5ad08c", "#c79bff", "#e0bf4f", "#ff8ab8", "#4cc9d6"]}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"

FORMS = ("svg", "png", "pdf", "json")
#: Of figures in one drawing: each has its own axes and legend.
INDEPENDENT = ("x", "y", "color", "fill", "stroke", "strokeDash")
#: Results that can be drawn.
WITH_FIGURES = "audit, certify, fit, linear, memorize, sweep (several cells) and width"
#: What a reader wants to see first; figures that are not named here follow by name.
ORDER = ("curve", "scores", "test", "heat", "error", "norm", "margins", "spectrum", "widths", "forecast", "distance",
         "descent", "layers", "convergence", "loss", "learning_rate", "norms", "classes", "confusion")


class Figure:
    """One figure: a Vega-Lite specification with its data inside. In a notebook it draws itself."""

    def __init__(self, name: str, spec: Json, places: Slots | None = None) -> None:
        """`places`: those of its curves among the colours, where other figures stand beside it."""
        self.name = name
        self.spec = spec
        self._places = slots([spec]) if places is None else places

    @property
    def title(self) -> str:
        """As it stands above the figure; the name if there is none."""
        title = self.spec.get("title")
        text = title.get("text") if isinstance(title, dict) else title
        return " ".join(map(str, text)) if isinstance(text, list) else str(text or self.name)

    @property
    def description(self) -> str:
        """What the figure shows, in words and numbers: for those who cannot see it."""
        return charts.describe(self.spec, self.title)

    def save(self, path: Folder, scale: float = 2) -> Path:
        """Writes .svg, .png (`scale` pixels a point, > 0), .pdf or .json (the specification), and returns where.
        Raises ValueError for any other ending, ImportError without vl-convert-python."""
        path = Path(path)
        ending = path.suffix[1:].lower()
        if ending not in FORMS:
            raise ValueError(f"{path}: a figure is saved as .svg, .png, .pdf or .json")
        drawn = json.dumps(self.spec, indent=1) if ending == "json" else self._drawn(ending, scale)
        path.write_bytes(drawn.encode() if isinstance(drawn, str) else drawn)
        return path

    def vega(self) -> Json:
        """The specification compiled for the page: as wide as its place, colours from the style sheet."""
        spec = self.shown(variables())
        spec = {key: value for key, value in spec.items() if key not in ("title", "usermeta")}
        if not isinstance(spec.get("width"), dict) and ("mark" in spec or "layer" in spec):
            spec["width"] = "container"
        compiled = renderer().vegalite_to_vega(spec, vl_version=vega_lite_version())
        return {key: value for key, value in compiled.items() if key != "$schema"}  # of Vega 5; the page's is newer

    def shown(self, colours: Json) -> Json:
        """The specification as readers see it: its things in their colours, on axes that show them."""
        spec: Json = signs(self.spec)
        spec["config"] = theme(colours)
        paint(spec, {signs(name, True): place for name, place in self._places.items()}, colours["series"])
        fit_axis(spec)
        whole_ticks(spec)
        return spec

    def _drawn(self, form: str, scale: float) -> Any:
        spec = _still(self.shown(LIGHT))
        spec["config"]["background"] = LIGHT["paper"]
        options = {"scale": scale} if form == "png" else {}
        draw = getattr(renderer(), f"vegalite_to_{form}")
        return draw(spec, vl_version=vega_lite_version(), allowed_base_urls=[], **options)  # data are inside

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        bundle = {"application/vnd.vegalite.v5+json": self.shown(LIGHT), "text/plain": repr(self)}
        with suppress(ImportError):  # what a notebook shows where Vega-Lite is not known
            bundle["image/png"] = base64.b64encode(self._drawn("png", 2)).decode()
        return bundle

    def __repr__(self) -> str:
        return f"<zeroloss.figures.Figure {self.name}: {self.title}>"


class Figures(dict[str, Figure]):
    """Figures by name, in reading order. In a notebook they are drawn one below the other."""

    def save(self, path: Folder, *forms: str, scale: float = 2) -> list[Path]:
        """Writes all of them and returns where: one below the other into one file, save("all.svg"), or each into a file
        of its own in a folder, save("paper", "svg", "pdf"), as NAME.svg and NAME.pdf.

        `forms` are any of svg, png (`scale` pixels a point, > 0), pdf and json; the folder is made if it is not there.
        Raises ValueError for other endings or forms, or a specification that Vega-Lite does not take, ImportError
        without vl-convert-python."""
        path = Path(path)
        if not set(forms or [path.suffix[1:].lower()]) <= set(FORMS):
            raise ValueError(f"{path}: figures are saved as svg, png, pdf or json: save('all.svg') writes them into "
                             "one file, save('folder', 'svg', 'pdf') each into a file of its own")
        if not forms:
            if not self:
                raise ValueError(f"{path}: there are no figures to save")
            return [self._together().save(path, scale)]
        path.mkdir(parents=True, exist_ok=True)
        written = []
        for name, figure in self.items():
            for form in forms:
                try:
                    written.append(figure.save(path / f"{name.replace(': ', '-')}.{form}", scale))
                except ValueError as error:  # a specification that Vega-Lite does not take
                    raise ValueError(f"{name}.vl.json: {error}") from error
        return written

    def _together(self) -> Figure:
        rows = [{key: value for key, value in figure.shown(LIGHT).items() if key not in ("$schema", "config")}
                for figure in self.values()]
        independent = {"scale": {channel: "independent" for channel in INDEPENDENT}}
        spec = {"$schema": charts.SCHEMA, "vconcat": rows, "resolve": independent}
        return Figure("all", spec)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        return self._together()._repr_mimebundle_() if self else {"text/plain": "no figures"}


class Saved(Protocol):
    """A result: it can write its run folder, and has figures."""

    def save(self, path: Folder, /) -> None: ...

    def plot(self) -> Any: ...


def of(what: Folder | Run | Saved) -> Figures:
    """The figures of a result, as its run folder would hold them, or of a run folder (a path, or a Run), by name.

    The same as ``result.plot()``. Raises ValueError for a result that has none (those of prove and influence, or a
    sweep with a single cell), TypeError for anything else; RunError for what is no run folder, or a figure in it that
    is not JSON. Figures without a point are left out.
    """
    if not isinstance(what, (str, PathLike, Run)):
        return of_result(what)
    run = what if isinstance(what, Run) else read_run(what)
    specs = charts.conv(run) if run.kind == "conv" else {}
    specs.update((path.name.removesuffix(".vl.json"), read_object(path)) for path in run.folder.glob("*.vl.json"))
    return of_specs({name: spec for name, spec in specs.items() if spec.get("data") != {"values": []}})


def of_specs(specs: dict[str, Json]) -> Figures:
    """Specifications of one page as figures, in reading order: a thing has one colour in all of them."""

    def place(name: str) -> tuple[int, int, str]:
        first = name.split("-")[0]  # heat-2
        return (ORDER.index(first) if first in ORDER else len(ORDER), len(name), name)

    ordered = sorted(specs, key=place)
    places = slots(specs[name] for name in ordered)
    return Figures((name, Figure(name, specs[name], places)) for name in ordered)


def of_result(result: Saved) -> Figures:
    """The figures of a result's run folder, which is not kept."""
    kind = type(result).__name__
    if not (hasattr(result, "save") and hasattr(result, "plot")):
        raise TypeError(f"figures.of takes a result of {WITH_FIGURES}, or a run folder; got {kind}")
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        result.save(run)
        drawn = of(run)
    if not drawn:
        raise ValueError(f"figures.of: this {kind} has no figure; results of {WITH_FIGURES} have")
    return drawn


def theme(colours: Json) -> Json:
    """A Vega-Lite configuration in these colours."""
    axis = {"labelColor": colours["muted"], "titleColor": colours["ink"], "gridColor": colours["line"], "domain": False,
            "ticks": False, "labelPadding": 6, "labelSeparation": 6, "labelFontSize": 12, "titleFontSize": 12,
            "titleFontWeight": "normal", "titlePadding": 8}
    legend = {"labelColor": colours["ink"], "titleColor": colours["ink"], "labelFontSize": 12, "titleFontSize": 12,
              "titleFontWeight": "normal", "orient": "bottom", "labelLimit": 300}
    return {"background": None, "font": FONT, "aria": False, "numberFormat": ",.6~g", "axis": axis, "legend": legend,
            "view": {"stroke": None}, "mark": {"color": colours["series"][0]}, "text": {"color": colours["ink"]},
            "title": {"color": colours["ink"], "anchor": "start", "fontSize": 14, "fontWeight": 600},
            "range": {"category": colours["series"]}}


def variables() -> Json:
    """The colours as variables of the page's style sheet, so that light, dark and print need no new drawing."""
    names = {key: f"var(--{key})" for key in LIGHT if key != "series"}
    return {**names, "series": [f"var(--series-{k})" for k in range(1, len(LIGHT["series"]) + 1)]}


def renderer() -> ModuleType:
    """The module vl_convert. Raises ImportError that says what to install."""
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError("figures are drawn by vl-convert; install it: pip install vl-convert-python") from error
    return vl_convert


def vega_lite_version() -> str:
    """The newest Vega-Lite 5 that vl-convert has: the version that the specifications are written in."""
    versions: list[str] = [v for v in renderer().get_vegalite_versions() if v.startswith("5.")]
    return max(versions, key=lambda v: [int(part) for part in v.split(".")])


def _still(spec: Json) -> Json:
    """Without the points that only a pointer finds."""
    def keep(key: str, value: Any) -> bool:
        return key != "point" or not isinstance(value, dict) or value.get("opacity") != 0

    kept = lambda pairs: {key: value for key, value in pairs.items() if keep(key, value)}
    still: Json = json.loads(json.dumps(spec), object_hook=kept)
    return still
