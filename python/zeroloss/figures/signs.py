"""Mathematics in figures, which have text alone: what commands write in ASCII, in signs."""

from __future__ import annotations

from typing import Any

SIGNS = (("||", "‖"), ("lambda_", "λ_"), ("lambda", "λ"), ("delta/", "δ/"), ("mu_1^2", "μ₁²"), ("n^2", "n²"),
         ("A_i", "Aᵢ"), ("(G o G)", "(G∘G)"))
SHOWN = {"run", "curve", "name", "group", "title", "note", "domain"}  # keys whose texts are for readers


def signs(value: Any, shown: bool = False) -> Any:
    """The specification with signs in all that its readers see."""
    if isinstance(value, dict):
        return {key: signs(item, key in SHOWN) for key, item in value.items()}
    if isinstance(value, list):
        return [signs(item, shown) for item in value]
    if shown and isinstance(value, str):
        for written, sign in SIGNS:
            value = value.replace(written, sign)
    return value
