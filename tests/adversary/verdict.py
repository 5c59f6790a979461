"""What a judge says of one printed statement."""

from dataclasses import dataclass


@dataclass
class Verdict:
    kind: str  # of statement: "certify: lambda_min", ..
    holds: bool | None  # None: neither proved nor refuted
    detail: str = ""


def text_number(word):
    return float(word.replace(",", ""))
