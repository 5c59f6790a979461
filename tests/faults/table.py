"""A table in a page, between two comments that say which."""

import re


def write_table(page, name, head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    begin, end = f"<!-- {name}: written by tests/faults -->", f"<!-- end of {name} -->"
    text = page.read_text()
    found = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not found.search(text):
        raise ValueError(f"{page}: no place for the table {name}")
    page.write_text(found.sub(lambda _: "\n".join([begin, "", *lines, "", end]), text))
