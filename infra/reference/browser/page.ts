import { startFiles } from "./direct-upload.ts";
import { checkJson, sampleRequestOf } from "./fields.ts";
import { startMenu, startSearch, startTheme, trackCurrentSection } from "./navigation.ts";
import { renderSamples, startSamples } from "./samples.ts";
import { send } from "./send.ts";

/** The values that the server of the page provides, if it does. */
type Demo = { readonly key?: string; readonly ids?: Readonly<Record<string, string>> };

const server = document.documentElement.dataset.server || location.origin;

/** The service does not allow cross-origin requests, so from another origin the page shows samples only. */
const canSend = new URL(server).origin === location.origin;

const keyInput = document.querySelector<HTMLInputElement>("#key");
const forms = [...document.querySelectorAll<HTMLFormElement>(".try form")];

const readDemo = async (): Promise<Demo> => {
  if (document.documentElement.dataset.server) return {};
  const response = await fetch("demo.json");
  return response.ok ? response.json() : {};
};

const fillInIds = (ids: Readonly<Record<string, string>>) => {
  for (const [name, id] of Object.entries(ids))
    for (const input of document.querySelectorAll<HTMLInputElement>(`input[name="path:${CSS.escape(name)}"]`))
      input.value = id;
};

/** Samples may contain the demo's key, but never a visitor's own key. */
const renderAll = (demoKey: string | undefined) => {
  const key = keyInput?.value === demoKey ? demoKey : undefined;
  for (const form of forms) {
    checkJson(form);
    renderSamples(form.closest(".operation")?.querySelector(".samples"), sampleRequestOf(form, server, key));
  }
};

const startKey = (demoKey: string | undefined, changed: () => void) => {
  const show = document.querySelector<HTMLButtonElement>("#show-key");
  if (!keyInput || !show) return;
  keyInput.value = sessionStorage.getItem("key") ?? demoKey ?? "";
  keyInput.addEventListener("input", () => {
    sessionStorage.setItem("key", keyInput.value);
    changed();
  });
  show.addEventListener("click", () => {
    const isVisible = keyInput.type === "password";
    keyInput.type = isVisible ? "text" : "password";
    show.setAttribute("aria-pressed", String(isVisible));
  });
};

const startForms = (changed: () => void) => {
  for (const form of forms) {
    form.addEventListener("input", changed);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await send(form, server, keyInput?.value ?? "");
      changed();
    });
  }
};

const start = async () => {
  // All before the first await, because the browser renders the page for the first time after it.
  if (canSend) for (const hidden of document.querySelectorAll<HTMLElement>(".try, .key")) hidden.hidden = false;
  if (matchMedia("(max-width: 48rem)").matches)
    for (const details of document.querySelectorAll<HTMLDetailsElement>("details.many, details.example"))
      details.open = false;
  startTheme();
  startMenu();
  startSearch();
  startSamples();
  trackCurrentSection();
  renderAll(undefined);
  const demo = canSend ? await readDemo() : {};
  fillInIds(demo.ids ?? {});
  const changed = () => renderAll(demo.key);
  if (canSend) {
    startKey(demo.key, changed);
    startForms(changed);
    startFiles(changed);
  }
  changed();
  document.documentElement.dataset.ready = "true";
};

await start();
