import { highlight } from "../highlight.ts";
import { carryOn } from "./carry.ts";
import { sendingOf } from "./direct-upload.ts";
import { element } from "./element.ts";
import { clearMistakes, type Mistake, mistakesOf, requestOf } from "./fields.ts";

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const codeBlock = (text: string, body: unknown) => {
  const block = document.createElement("pre");
  block.tabIndex = 0;
  const code = document.createElement("code");
  if (body === undefined) code.textContent = text;
  else code.innerHTML = highlight(JSON.stringify(body, null, 2));
  block.append(code);
  return block;
};

const headerList = (headers: Headers) => {
  const details = document.createElement("details");
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  details.append(element("summary", "Headers"), codeBlock(lines, undefined));
  return details;
};

const showAnswer = async (into: Element, form: HTMLFormElement, response: Response, ms: number) => {
  const text = await response.text();
  const body = parsed(text);
  const status = element("p", "", `outcome ${response.ok ? "ok" : "failed"}`);
  status.append(element("strong", `${response.status} ${response.statusText}`), ` in ${ms.toFixed(0)} ms`);
  const note = response.ok ? carryOn(form, body) : "";
  into.replaceChildren(
    status,
    ...(note ? [element("p", note, "note")] : []),
    codeBlock(text, body),
    headerList(response.headers),
    ...(response.ok ? sendingOf(form, body) : []),
  );
};

const showMistakes = (form: HTMLFormElement, mistakes: readonly Mistake[]) => {
  clearMistakes(form);
  form.querySelector(".mistakes")?.replaceChildren(...mistakes.map(({ message }) => element("p", message)));
  for (const { control } of mistakes) control.setAttribute("aria-invalid", "true");
  mistakes[0]?.control.focus();
};

/** Sends what the form says and shows the response, or says what is missing. */
export const send = async (form: HTMLFormElement, server: string, key: string) => {
  const into = form.parentElement?.querySelector(".answer");
  const button = form.querySelector<HTMLButtonElement>(".send");
  const mistakes = mistakesOf(form);
  showMistakes(form, mistakes);
  if (mistakes.length > 0 || !into || !button) return;
  button.disabled = true;
  const startedAt = performance.now();
  try {
    const response = await fetch(requestOf(form, server, key));
    await showAnswer(into, form, response, performance.now() - startedAt);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    into.replaceChildren(element("p", `No response from ${server}: ${reason}`, "outcome failed"));
  } finally {
    button.disabled = false;
  }
};
