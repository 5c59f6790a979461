// A picture of a sample is a button that shows it large. Escape closes it, arrows go on to the next one.
const enlarged = document.createElement("dialog");
enlarged.id = "enlarged";
document.body.append(enlarged);
let open = null;  // the button whose picture is shown

function enlarge(button) {
  const {src, alt, width, height} = button.querySelector("img");
  const words = button.closest("li")?.querySelector("p")?.cloneNode(true) ?? "";
  const picture = Object.assign(document.createElement("img"), {src, alt});
  picture.style.aspectRatio = `${width} / ${height}`;
  const close = Object.assign(document.createElement("button"), {type: "button", textContent: "Close"});
  close.addEventListener("click", () => enlarged.close());
  const title = Object.assign(document.createElement("h2"), {textContent: alt[0].toUpperCase() + alt.slice(1)});
  enlarged.setAttribute("aria-label", `${alt}, enlarged`);
  enlarged.replaceChildren(title, picture, words, close);
  open = button;
  if (!enlarged.open) enlarged.showModal();
  close.focus();
}

function goOn(step) {
  const seen = button => button.offsetParent !== null || button === open;  // not of a card that is not shown
  const buttons = Array.from(document.querySelectorAll("button.picture")).filter(seen);
  enlarge(buttons.at((buttons.indexOf(open) + step) % buttons.length));
}

document.addEventListener("click", event => {
  const button = event.target.closest("button.picture");
  if (button) enlarge(button);
});
enlarged.addEventListener("click", event => { if (event.target === enlarged) enlarged.close(); });
enlarged.addEventListener("close", () => open?.focus());
enlarged.addEventListener("keydown", event => {
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (step) goOn(step);
});
