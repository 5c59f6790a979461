// On paper nothing can be opened: what is folded away is printed, but for the values with all of their digits. Nor can
// anything be sorted, and a head that holds buttons would not stand on every page of its table.
let folded = [], heads = [];
addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details:not([open])")).filter(one => !one.querySelector("pre"));
  for (const one of folded) one.open = true;
  heads = Array.from(document.querySelectorAll(".sort"), button => {
    const words = document.createElement("span");
    words.append(...button.childNodes);
    button.replaceWith(words);
    return {button, words};
  });
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
  for (const {button, words} of heads) {
    button.append(...words.childNodes);
    words.replaceWith(button);
  }
});
