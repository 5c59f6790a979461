"""Run folders, read back."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Folder = str | PathLike[str]


class RunError(ValueError):
    """A folder that is no run folder, or a file in it that cannot be read. The message names it."""


@dataclass(frozen=True)
class Run:
    """What a run folder says: manifest.json and result.json (empty where there is none)."""

    folder: Path
    manifest: Json = field(repr=False)
    result: Json = field(repr=False)

    @property
    def kind(self) -> str:
        """certify, width, fit, sweep, linear, memorize, audit, influence, prove or conv."""
        return str(self.manifest.get("kind", ""))

    @property
    def data(self) -> str:
        """The name of its data; empty if it is not known."""
        said = self.result.get("data") or self.result.get("source") or (self.manifest.get("data") or {}).get("name")
        return str(said or "")

    def json(self, name: str) -> Json:
        """The object in a file of the folder; {} if there is no such file."""
        path = self.folder / name
        return read_object(path) if path.is_file() else {}

    def objects(self, name: str) -> list[Json]:
        """The JSON objects listed in a file of the folder; [] without it."""
        path = self.folder / name
        listed = _read(path) if path.is_file() else []
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise RunError(f"{path}: expected a JSON array of objects")
        return listed

    def table(self, name: str) -> list[Json]:
        """The rows of a csv file of the folder, numbers as such and empty cells None; [] without the file."""
        path = self.folder / name
        if not path.is_file():
            return []
        try:
            with open(path, newline="", encoding="utf-8") as file:
                return [{key: _cell(text) for key, text in row.items() if key} for row in csv.DictReader(file)]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise RunError(f"{path}: {error}") from error


def read_run(folder: Folder) -> Run:
    """The run in `folder`. Raises RunError if it holds no manifest.json, or files that are not JSON."""
    folder = Path(folder)
    if not (folder / "manifest.json").is_file():
        what = "no run folder: it holds no manifest.json" if folder.is_dir() else "no such folder"
        raise RunError(f"{folder}: {what}")
    run = Run(folder, read_object(folder / "manifest.json"), {})
    return Run(folder, run.manifest, run.json("result.json"))


def read_object(path: Path) -> Json:
    """The JSON object in a file. RunError if there is none."""
    value = _read(path)
    if not isinstance(value, dict):
        raise RunError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # not UTF-8 is a ValueError too
        raise RunError(f"{path}: {error}") from error


def _cell(text: str | None) -> float | str | None:
    if text is None or text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text
