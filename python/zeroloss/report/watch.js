// Asks the server of this page for news of the run, and shows them until the run is done. What the reader has done to
// the page stays: what is open, sorted, filtered and scrolled, and where the keyboard is.
const main = document.querySelector("main"), pause = 1000;
window.refreshed = 0;

// What this selects, by name; those of one name are numbered.
function byName(selector, name) {
  const found = new Map();
  for (const one of main.querySelectorAll(selector)) {
    let k = 0;
    while (found.has(`${name(one)} ${k}`)) k += 1;
    found.set(`${name(one)} ${k}`, one);
  }
  return found;
}

const boxOf = one => one.closest(".scroll")?.ariaLabel ?? "";
const parts = {
  folds: () => byName("details", one => one.querySelector("summary").textContent.replace(/\d/g, "")),  // a count grows
  boxes: () => byName(".scroll", boxOf),
  heads: () => byName(".sort", one => boxOf(one) + one.textContent),
  filters: () => byName(".filter input", one => one.ariaLabel),
  figures: () => byName("figure", one => one.querySelector("h3").textContent),
  keys: () => byName("summary, .sort, .filter input, .scroll", one => one.localName + boxOf(one) +
    (one.ariaLabel ?? one.textContent)),
};

// [name, what is kept of it] for each part of which there is something to keep.
function kept(which, keep) {
  return Array.from(parts[which](), ([name, one]) => [name, keep(one)]).filter(([, value]) => value);
}

function give(which, values, back) {
  const now = parts[which]();
  for (const [name, value] of values) if (now.has(name)) back(now.get(name), value);
}

const clicks = {ascending: 1, descending: 2};

function take(news) {
  const place = [scrollX, scrollY], focus = document.activeElement;
  const opened = kept("folds", one => one.open), scrolled = kept("boxes", one => one.scrollLeft);
  const sorted = kept("heads", one => clicks[one.parentElement.ariaSort]);
  const filtered = kept("filters", one => one.value);
  const heights = kept("figures", one => one.querySelector(".chart")?.clientHeight);
  const focused = kept("keys", one => one === focus && [one.selectionStart, one.selectionEnd]);
  main.innerHTML = news.body;
  document.title = news.title;
  makeTables();
  makeWalk();
  give("folds", opened, one => { one.open = true; });
  give("heads", sorted, (one, times) => { for (let k = 0; k < times; k += 1) one.click(); });
  give("filters", filtered, (one, words) => { one.value = words; one.dispatchEvent(new Event("input")); });
  give("figures", heights, (one, height) => {  // until it is drawn
    const chart = one.querySelector(".chart");
    if (chart) chart.style.minHeight = `${height}px`;
  });
  give("boxes", scrolled, (one, left) => { one.scrollLeft = left; });
  give("keys", focused, (one, [start, end]) => {
    one.focus({preventScroll: true});
    if (one.localName === "input") one.setSelectionRange(start, end);
  });
  scrollTo(...place);
  window.drawn = drawAll().then(() => {
    for (const chart of main.querySelectorAll(".chart")) chart.style.minHeight = "";
  });
  return window.drawn;
}

async function follow() {
  const mark = document.getElementById("watch");
  if ("last" in mark.dataset) return;
  try {
    const answer = await fetch(`news?seen=${encodeURIComponent(mark.dataset.stamp)}`);
    const news = await answer.json();
    if (news.body) {
      await take(news);
      window.refreshed += 1;
    }
  } catch (error) {
    mark.textContent = "The server of this page has ended: this is what it said last.";
    return;
  }
  setTimeout(follow, pause);
}
setTimeout(follow, pause);
