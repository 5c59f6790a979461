"""A table in a page, between two comments that say which."""

import re


def write_table(page, name, head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    text, end = page.read_text(), f"<!-- end of {name} -->"
    found = re.search(f"(<!-- {name}: written by [^>]*-->).*?{end}", text, re.DOTALL)
    if not found:
        raise ValueError(f"{page}: no place for the table {name}")
    page.write_text(text.replace(found[0], "\n".join([found[1], "", *lines, "", end])))
