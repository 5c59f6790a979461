// Walks through labels that look wrong, or that were drawn to be looked at: one at a time, decided by keys or buttons.
// What is decided stays in this browser, by the digest of the data, and is saved as a table.
const walkKeys = {ArrowRight: "next", n: "next", ArrowLeft: "previous", p: "previous", k: "keep", r: "relabel",
  o: "other", d: "drop", w: "wrong", u: "undecide"};

class Walk {
  constructor(place) {
    this.place = place;
    this.bar = place.querySelector(".bar");
    this.issues = Array.from(place.querySelectorAll(".issue"));
    this.decisions = this.stored();
    for (const bar of place.querySelectorAll(".bar")) bar.hidden = false;
    const first = this.issues.findIndex(issue => !this.decisionOn(issue));
    this.goTo(Math.max(first, 0));
    place.addEventListener("click", event => {
      const does = event.target.closest("button[data-does]")?.dataset.does;
      if (does) this[does]();
    });
    place.querySelector("form")?.addEventListener("submit", event => {
      event.preventDefault();
      this.set();
    });
    this.input?.addEventListener("input", () => this.input.setCustomValidity(""));
  }

  get input() { return this.place.querySelector("input"); }
  get issue() { return this.issues[this.at]; }

  // ---- where it is ----

  goTo(at) {
    this.at = Math.min(Math.max(at, 0), this.issues.length - 1);
    this.issues.forEach((issue, k) => { issue.hidden = k !== this.at; });
    if (this.input) this.input.value = "";
    this.input?.setCustomValidity("");
    this.show();
  }

  next() { this.goTo(this.at + 1); }
  previous() { this.goTo(this.at - 1); }

  show() {
    const {sample, label, predicted} = this.issue.dataset, decided = this.decisionOn(this.issue);
    const words = predicted === undefined ? {} : {keep: `Keep ${label}`, relabel: `Relabel to ${predicted}`};
    for (const button of this.bar.querySelectorAll("[data-does]")) {
      const {does} = button.dataset;
      if (does in words) button.querySelector("span").textContent = words[does];
      const chosen = does === "relabel" ? decided?.to === predicted : does === decided?.decision;
      if (["keep", "relabel", "drop", "wrong"].includes(does)) button.ariaPressed = String(Boolean(decided && chosen));
    }
    const said = decided ? this.said(decided) : "undecided";
    this.place.querySelector(".place").textContent =
      `${this.at + 1} of ${this.issues.length}: sample ${sample}, ${said}`;
    for (const cell of document.querySelectorAll(".decided")) {
      const issue = this.bySample(cell.dataset.of), own = issue && this.decisionOn(issue);
      if (!issue || cell.dataset.in !== this.place.id) continue;
      cell.textContent = own ? this.said(own) : "";
    }
    const count = this.issues.filter(issue => this.decisionOn(issue)).length;
    this.place.querySelector(".count").textContent = `${count} of ${this.issues.length} decided`;
    this.place.querySelector("[data-does=save]").disabled = count === 0;
  }

  said({decision, to}) {
    if (decision === "wrong") return "wrong";
    return decision === "keep" ? "kept" : decision === "drop" ? "dropped" : `relabelled to ${to}`;
  }

  bySample(sample) { return this.issues.find(issue => issue.dataset.sample === sample); }

  // ---- what is decided ----

  decide(decision, to) {
    const {sample, label} = this.issue.dataset, all = this.stored();
    if (decision) all[sample] = {label, decision, to};
    else delete all[sample];
    this.decisions = all;
    try {
      localStorage.setItem(this.place.dataset.key, JSON.stringify(all));
    } catch {
      this.place.querySelector(".bar .problem").hidden = false;
    }
    if (decision) this.next();
    else this.show();
  }

  keep() { this.decide("keep", this.issue.dataset.label); }
  relabel() { this.decide("relabel", this.issue.dataset.predicted); }
  drop() { this.decide("drop", ""); }
  wrong() { this.decide("wrong", ""); }
  undecide() { this.decide(null); }
  other() { this.input.focus(); }

  // What was typed, if the data know it.
  set() {
    const to = this.input.value.trim(), {label} = this.issue.dataset;
    const known = "numbers" in this.place.dataset ? to !== "" && Number.isFinite(Number(to))
      : Array.from(this.place.querySelectorAll("option")).some(option => option.value === to);
    this.input.setCustomValidity(known ? "" : "None of these data's labels");
    if (!this.input.reportValidity()) return;
    this.input.blur();
    this.decide(to === label ? "keep" : "relabel", to);
  }

  // Of these data with these labels: others may have the same digest.
  decisionOn(issue) {
    const {sample, label} = issue.dataset, one = this.decisions[sample];
    return one?.label === label && typeof one.to === "string" ? one : null;
  }

  stored() {
    try {
      const found = JSON.parse(localStorage.getItem(this.place.dataset.key));
      return found?.constructor === Object ? found : {};
    } catch {
      return this.decisions ?? {};
    }
  }

  save() {
    const cell = words => /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
    const {drawn, seed, file} = this.place.dataset, more = drawn === undefined ? [] : [drawn, seed];
    const rows = this.issues.filter(issue => drawn !== undefined || this.decisionOn(issue)).map(issue => {
      const {sample, id, label} = issue.dataset, {decision, to} = this.decisionOn(issue) ?? {decision: "", to: ""};
      return [sample, id, label, decision, to, ...more];
    });
    const names = ["sample", "id", "label", "decision", "new_label", ...more.length ? ["drawn", "seed"] : []];
    const csv = [names, ...rows].map(row => row.map(cell).join() + "\n");
    const link = Object.assign(document.createElement("a"), {download: file});
    link.href = URL.createObjectURL(new Blob(csv, {type: "text/csv"}));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
}

let walks = [];  // of this page

function makeWalk() {
  walks = Array.from(document.querySelectorAll(".walk"), place => new Walk(place));
}
makeWalk();

// The walk that keys are for: the one whose bar is in sight, or else the first.
function walkInSight() {
  const inSight = walk => {
    const {bottom, top} = walk.bar.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  return walks.find(inSight) ?? walks[0];
}

// Keys are for a walk where nothing else has them. Out of sight nothing is decided: then they bring it into view.
document.addEventListener("keydown", event => {
  const does = walkKeys[event.key.length === 1 ? event.key.toLowerCase() : event.key], on = event.target;
  const free = on === document.body || on.closest?.(".walk") && !on.closest("input, .scroll");
  const walk = walks.find(one => one.place.contains(on)) ?? walkInSight();
  if (!walk || !does || !free || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = does === "other" ? walk.input : walk.bar.querySelector(`[data-does=${does}]`);
  if (!button) return;
  event.preventDefault();
  const box = walk.bar.getBoundingClientRect();
  if (box.bottom <= 0 || box.top >= innerHeight) walk.place.scrollIntoView();
  else walk[does]();
});

document.addEventListener("click", event => {
  const button = event.target.closest("button.go"), walk = walks.find(one => one.place.id === "walk");
  const issue = button && walk?.bySample(button.dataset.sample);
  if (!issue) return;
  walk.goTo(walk.issues.indexOf(issue));
  walk.place.scrollIntoView();
});
