/** The sidebar: search, the current section, the menu on narrow screens, and the theme. */

const side = document.querySelector<HTMLElement>("#side");

const entries = () => [...document.querySelectorAll<HTMLElement>("#side li[data-search]")];

/** The style sheet hides groups without a visible entry. */
const filterEntries = (search: string) => {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  for (const entry of entries()) entry.hidden = !words.every((word) => entry.dataset.search?.includes(word));
  const found = entries().filter(({ hidden }) => !hidden).length;
  const status = document.querySelector("#found");
  const text = found === 1 ? "1 result" : `${found || "No"} results`;
  if (status) status.textContent = words.length === 0 ? "" : text;
};

export const startSearch = () => {
  const search = document.querySelector<HTMLInputElement>("#search");
  if (!search) return;
  search.addEventListener("input", () => filterEntries(search.value));
  search.addEventListener("keydown", ({ key }) => {
    if (key === "Enter")
      entries()
        .find(({ hidden }) => !hidden)
        ?.querySelector("a")
        ?.click();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.matches("input, textarea, select");
    if (event.key !== "/" || typing) return;
    event.preventDefault();
    search.focus();
  });
};

/** The browser opens the menu and closes it on Escape or a click elsewhere. A link's target may be on the same page. */
export const startMenu = () =>
  side?.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a")) side.hidePopover();
  });

/** Highlights the section that is on screen in the sidebar. */
export const trackCurrentSection = () => {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("#side nav a")];
  const observer = new IntersectionObserver(
    (changes) => {
      const current = changes.filter(({ isIntersecting }) => isIntersecting).at(-1);
      if (!current) return;
      for (const link of links)
        if (link.hash === `#${current.target.id}`) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
    },
    { rootMargin: "-10% 0px -80% 0px" },
  );
  for (const section of document.querySelectorAll(".entry, .intro, main h2")) observer.observe(section);
};

const themes = ["system", "light", "dark"];

export const startTheme = () => {
  const button = document.querySelector<HTMLButtonElement>("#theme");
  const apply = (theme: string) => {
    document.documentElement.dataset.theme = theme;
    if (button) button.textContent = `Theme: ${theme}`;
  };
  apply(localStorage.getItem("theme") ?? "system");
  button?.addEventListener("click", () => {
    const now = themes.indexOf(document.documentElement.dataset.theme ?? "");
    const next = themes[(now + 1) % themes.length] ?? "system";
    localStorage.setItem("theme", next);
    apply(next);
  });
};
