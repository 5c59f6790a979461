// Asks the server of this page for news of the run, and shows them until the run is done.
const main = document.querySelector("main"), pause = 1000;
window.refreshed = 0;

function take(news) {
  const opened = new Set(Array.from(main.querySelectorAll("details[open] > summary"), one => one.textContent));
  main.innerHTML = news.body;
  document.title = news.title;
  for (const one of main.querySelectorAll("details > summary"))
    if (opened.has(one.textContent)) one.parentElement.open = true;
  makeTables();
  window.drawn = drawAll();
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
