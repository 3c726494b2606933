import { highlight } from "../highlight.ts";
import { parsed } from "../samples.ts";
import { storageControls } from "./direct-upload.ts";
import { element } from "./element.ts";
import { requestOf } from "./fields.ts";
import { fillInResponseId } from "./response-ids.ts";

const codeBlock = (text: string, body?: unknown) => {
  const block = document.createElement("pre");
  block.tabIndex = 0;
  const code = element("code", text);
  if (body !== undefined) code.innerHTML = highlight(JSON.stringify(body, null, 2));
  block.append(code);
  return block;
};

const headerList = (headers: Headers) => {
  const details = document.createElement("details");
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  details.append(element("summary", "Headers"), codeBlock(lines));
  return details;
};

const showResponse = async (into: Element, form: HTMLFormElement, response: Response, ms: number) => {
  const text = await response.text();
  const body = parsed(text);
  const status = element("p", "", `outcome ${response.ok ? "ok" : "failed"}`);
  status.append(element("strong", `${response.status} ${response.statusText}`), ` in ${ms.toFixed(0)} ms`);
  const note = response.ok ? fillInResponseId(form, body) : "";
  into.replaceChildren(
    status,
    ...(note ? [element("p", note, "note")] : []),
    codeBlock(text, body),
    headerList(response.headers),
    ...(response.ok ? storageControls(form, body) : []),
  );
};

/** Sends the form's request and shows the response. */
export const send = async (form: HTMLFormElement, server: string, key: string) => {
  const into = form.parentElement?.querySelector(".answer");
  const button = form.querySelector<HTMLButtonElement>(".send");
  if (!into || !button) return;
  button.disabled = true;
  const startedAt = performance.now();
  try {
    const response = await fetch(requestOf(form, server, key));
    await showResponse(into, form, response, performance.now() - startedAt);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    into.replaceChildren(element("p", `No response from ${server}: ${reason}`, "outcome failed"));
  } finally {
    button.disabled = false;
  }
};
