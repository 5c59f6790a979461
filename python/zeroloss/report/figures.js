// Draws every figure of the page. vegaEmbed stands before this in the same script.
const tip = document.getElementById("tip");

// Texts only: what is in the data stays text. A tooltip is an object of names and values, or one text.
function show(handler, event, item, value) {
  if (value == null || value === "") {
    tip.hidden = true;
    return;
  }
  const rows = typeof value === "object" ? Object.entries(value) : [["", value]];
  tip.replaceChildren(...rows.map(([name, shown]) => {
    const row = document.createElement("div");
    row.append(name ? `${name}: ` : "", Object.assign(document.createElement("b"), {textContent: String(shown)}));
    return row;
  }));
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 12;
  const left = Math.max(gap, Math.min(event.clientX + gap, document.documentElement.clientWidth - box.width - gap));
  const below = event.clientY + gap, above = event.clientY - box.height - gap;
  tip.style.left = `${left}px`;
  tip.style.top = `${below + box.height < window.innerHeight || above < 0 ? below : above}px`;
}

const isNarrow = place => place.clientWidth < 500;  // too narrow for a legend of two columns
const narrowOnes = () => Array.from(document.querySelectorAll(".chart"), isNarrow).join();
let drawnFor = "";

let shown = [];  // what Vega has drawn, to be given up when the page has news

async function draw(figure) {
  const place = figure.querySelector(".chart"), data = figure.querySelector("script");
  if (!place || !data) return;
  try {
    const width = place.clientWidth, legend = isNarrow(place) ? {columns: 1, labelLimit: width - 90} : {columns: 2};
    shown.push(await vegaEmbed(place, JSON.parse(data.textContent), {mode: "vega", renderer: "svg", actions: false,
      defaultStyle: false, hover: false, tooltip: show, config: {legend}}));
    place.setAttribute("role", "img");  // one picture with a description, which Vega has taken from the specification
    place.querySelector("svg").setAttribute("aria-hidden", "true");
  } catch (error) {
    place.textContent = `This figure could not be drawn: ${error.message}`;
    console.error(error);
  }
}

function drawAll() {
  shown.forEach(one => one.finalize());
  shown = [];
  drawnFor = narrowOnes();
  return Promise.all(Array.from(document.querySelectorAll("figure"), draw));
}

window.drawn = drawAll();  // resolves once everything is drawn; each figure says whether it is

// Figures follow the window by themselves, but not their legends.
let resized = 0;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => { if (narrowOnes() !== drawnFor) window.drawn = drawAll(); }, 100);
});
document.addEventListener("scroll", () => { tip.hidden = true; }, {passive: true});
