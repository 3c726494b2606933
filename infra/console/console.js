/** Says below the picture what is under the pointer or has the focus. Reads the page again while a run is in progress. */
const say = ({ target }) => {
  const text = target.closest?.(".mark")?.getAttribute("aria-label");
  if (text) document.getElementById("said").textContent = text;
};
for (const type of ["mouseover", "focusin"]) document.addEventListener(type, say);

const update = async () => {
  const response = await fetch(location.href).catch(() => undefined);
  const next =
    response?.ok && new DOMParser().parseFromString(await response.text(), "text/html").querySelector("main");
  // A new page would take the focus away.
  if (next && document.activeElement === document.body) document.querySelector("main").replaceWith(next);
};
setInterval(() => document.querySelector("[data-live]") && update(), 2_000);
