/** Says below the picture what is under the pointer or has the focus. Reads the page again while a run is in progress. */
const say = ({ target }) => {
  const text = target.closest?.(".mark")?.getAttribute("aria-label");
  if (text) document.getElementById("said").textContent = text;
};
for (const type of ["mouseover", "focusin"]) document.addEventListener(type, say);

const all = (within, selector) => [...within.querySelectorAll(selector)];

/** A new page would take away the focus, the selection, and how far a table was scrolled. */
const isRead = () =>
  document.activeElement !== document.body ||
  !getSelection().isCollapsed ||
  all(document, ".wide").some(({ scrollLeft }) => scrollLeft > 0);

const update = async () => {
  const response = await fetch(location.href).catch(() => undefined);
  const next =
    response?.ok && new DOMParser().parseFromString(await response.text(), "text/html").querySelector("main");
  document.getElementById("old").hidden = Boolean(next);
  if (!next || isRead()) return;
  const main = document.querySelector("main");
  const known = new Set(all(main, "tr").map(({ textContent }) => textContent));
  for (const row of all(next, "tr")) row.classList.toggle("changed", !known.has(row.textContent));
  for (const { id, open } of all(main, "details")) next.querySelector(`[id="${id}"]`)?.toggleAttribute("open", open);
  main.replaceWith(next);
};
setInterval(() => document.querySelector("[data-live]") && update(), 2_000);
