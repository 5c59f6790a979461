// On paper nothing can be opened: what is folded away is printed, but for the values with all of their digits.
let folded = [];
addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details:not([open])")).filter(one => !one.querySelector("pre"));
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
