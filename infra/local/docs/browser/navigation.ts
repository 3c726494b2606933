/** The sidebar: search, the current section, the menu on narrow screens, and the theme. */

const sidebarLinks = () => [...document.querySelectorAll<HTMLAnchorElement>("#side nav a")];

const entries = () => [...document.querySelectorAll<HTMLElement>("#side li[data-search]")];

const filterEntries = (text: string) => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const entry of entries()) entry.hidden = !words.every((word) => (entry.dataset.search ?? "").includes(word));
  for (const group of document.querySelectorAll<HTMLElement>("#side nav > ul > li"))
    group.hidden = group.querySelector("li[data-search]:not([hidden])") === null;
  const found = entries().filter(({ hidden }) => !hidden).length;
  const status = document.querySelector("#found");
  if (!status) return;
  status.textContent =
    words.length === 0 ? "" : found === 1 ? "1 result" : found === 0 ? "No results" : `${found} results`;
  status.classList.toggle("unseen", words.length === 0 || found > 0);
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

export const startMenu = () => {
  const menu = document.querySelector<HTMLButtonElement>("#menu");
  const side = document.querySelector("#side");
  const open = (value: boolean) => {
    menu?.setAttribute("aria-expanded", String(value));
    side?.classList.toggle("open", value);
  };
  menu?.addEventListener("click", () => open(menu.getAttribute("aria-expanded") !== "true"));
  for (const link of sidebarLinks()) link.addEventListener("click", () => open(false));
};

/** Highlights the section that is on screen in the sidebar. */
export const trackCurrentSection = () => {
  const links = new Map(sidebarLinks().map((link) => [link.hash.slice(1), link]));
  const observer = new IntersectionObserver(
    (changes) => {
      const current = changes.filter(({ isIntersecting }) => isIntersecting).at(-1);
      if (!current) return;
      for (const [id, link] of links)
        if (id === current.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
    },
    { rootMargin: "-10% 0px -80% 0px" },
  );
  for (const section of document.querySelectorAll(".operation, .intro, .intro h2, main h2")) observer.observe(section);
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
