import { highlight } from "../highlight.ts";
import { languages, type SampleRequest } from "../samples.ts";

const showLanguage = (language: string) => {
  for (const button of document.querySelectorAll<HTMLElement>(".samples button[data-language]"))
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  for (const sample of document.querySelectorAll<HTMLElement>(".samples pre"))
    sample.hidden = sample.dataset.language !== language;
};

/** `into` is an element with the class `samples`. */
export const renderSamples = (into: Element | null | undefined, request: SampleRequest) => {
  for (const { id, render } of languages) {
    const code = into?.querySelector(`pre[data-language=${id}] code`);
    if (code) code.innerHTML = highlight(render(request));
  }
};

const copy = async (button: HTMLElement) => {
  const code = button.closest(".samples")?.querySelector("pre:not([hidden])");
  await navigator.clipboard.writeText(code?.textContent ?? "");
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2_000);
};

export const startSamples = () => {
  showLanguage(localStorage.getItem("language") ?? "curl");
  for (const button of document.querySelectorAll<HTMLElement>(".samples .bar button"))
    button.addEventListener("click", () => {
      const { language } = button.dataset;
      if (!language) return copy(button);
      localStorage.setItem("language", language);
      showLanguage(language);
      button.scrollIntoView({ block: "nearest" });
    });
};
