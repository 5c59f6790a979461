// Tables sort by a click on a head, large ones have a box that filters their rows, and those that are wider than
// their place say so.
const rowsWithoutFilter = 10;

function sortedBy(cell) {
  const text = cell.textContent.trim(), number = Number(cell.dataset.value);
  return {blank: text === "" || text === "–", text, number: "value" in cell.dataset ? number : NaN};
}

// Blanks come last both ways.
function order(a, b, direction) {
  if (a.blank || b.blank) return a.blank - b.blank;
  const numbers = !isNaN(a.number) && !isNaN(b.number);
  return direction * (numbers ? a.number - b.number : a.text.localeCompare(b.text, "en", {numeric: true}));
}

function sort(table, head) {
  const body = table.tBodies[0], column = head.cellIndex, before = head.getAttribute("aria-sort");
  for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
  const now = before === "none" ? "ascending" : before === "ascending" ? "descending" : "none";
  head.setAttribute("aria-sort", now);
  const rows = Array.from(body.rows, row => ({row, by: sortedBy(row.cells[column]), place: Number(row.dataset.place)}));
  const direction = now === "descending" ? -1 : 1;
  rows.sort((a, b) => (now === "none" ? 0 : order(a.by, b.by, direction)) || a.place - b.place);
  body.append(...rows.map(({row}) => row));
}

function makeSortable(table) {
  Array.from(table.tBodies[0].rows).forEach((row, place) => { row.dataset.place = place; });
  for (const head of table.tHead.rows[0].cells) {
    const button = Object.assign(document.createElement("button"), {type: "button", className: "sort"});
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sort(table, head));
  }
}

function makeFilter(box, table) {
  const rows = Array.from(table.tBodies[0].rows), label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), {type: "search", placeholder: "Filter rows"});
  const count = Object.assign(document.createElement("output"), {textContent: `${rows.length} rows`});
  input.setAttribute("aria-label", `Filter rows: ${box.getAttribute("aria-label")}`);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
    const kept = rows.filter(row => !row.hidden).length;
    count.textContent = kept < rows.length ? `${kept} of ${rows.length} rows` : `${rows.length} rows`;
  });
  label.className = "filter";
  label.append(input, count);
  box.before(label);
}

const widths = new ResizeObserver(entries => {
  for (const {target} of entries) target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth + 1;
});

function sayThatItScrolls(box) {
  const note = Object.assign(document.createElement("p"), {className: "sideways", hidden: true});
  note.textContent = "Scrolls sideways →";
  box.before(note);
  widths.observe(box);
}

function makeTables() {
  widths.disconnect();
  for (const box of document.querySelectorAll(".scroll")) {
    const table = box.querySelector("table"), rows = table ? table.tBodies[0].rows.length : 0;
    if (rows > 1) makeSortable(table);
    if (rows > rowsWithoutFilter) makeFilter(box, table);
    sayThatItScrolls(box);
  }
}
makeTables();
