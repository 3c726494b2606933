import { sendingCall } from "../samples.ts";
import { element } from "./element.ts";
import { changeData } from "./fields.ts";
import { renderSamples } from "./samples.ts";

/** A direct upload from the page: the file that its body describes, and the second call, which goes to storage. */

const { storage = "" } = document.documentElement.dataset;

const hex = (bytes: ArrayBuffer) =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const describe = async (file: File) => ({
  filename: file.name,
  content_type: file.type.split(";")[0] || "application/octet-stream",
  bytes: file.size,
  sha256: hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer())),
});

const size = (bytes: number) => `${bytes.toLocaleString("en")} bytes`;

const fillIn = async (input: HTMLInputElement, file: File): Promise<string> => {
  const longest = Number(input.dataset.longest);
  if (file.size > longest) return `${file.name} has ${size(file.size)}; a direct upload takes up to ${size(longest)}.`;
  const described = await describe(file);
  const textarea = input.form?.querySelector<HTMLTextAreaElement>("textarea[name=json]");
  if (textarea) changeData(textarea, described);
  return `The body describes ${file.name}: ${size(file.size)}. It is not sent yet.`;
};

export const startFiles = (changed: () => void) => {
  for (const input of document.querySelectorAll<HTMLInputElement>("input.described"))
    input.addEventListener("change", async () => {
      const file = input.files?.[0];
      const note = document.getElementById(input.getAttribute("aria-describedby") ?? "");
      if (!file || !note) return;
      note.textContent = `Reading ${file.name} …`;
      note.textContent = await fillIn(input, file).catch((error) => `${file.name} cannot be read: ${error}`);
      changed();
    });
};

type Call = NonNullable<ReturnType<typeof sendingCall>>;

/** Resolves with the status. `fetch` does not say how much of a body has been sent. */
const put = ({ method, url, headers }: Call, file: File, onProgress: (part: number) => void) =>
  new Promise<number>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onload = () => resolve(request.status);
    request.onerror = () => reject(new Error(`No response from ${new URL(url).origin} that this page may read.`));
    request.send(file);
  });

/** The operation whose JSON takes the id, opened. */
const linkToNext = (form: HTMLFormElement) => {
  const path = (form.dataset.path ?? "").replace(/[^/]*$/, "");
  const next = [...document.querySelectorAll<HTMLTextAreaElement>("textarea[data-takes]")]
    .map((textarea) => textarea.closest(".operation"))
    .find((operation) => operation?.querySelector("form")?.dataset.path?.startsWith(path));
  const link = document.createElement("a");
  link.href = `#${next?.id}`;
  link.textContent = "Now create the attachment with its id";
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const form = next?.querySelector(".try");
    form?.setAttribute("open", "");
    form?.scrollIntoView();
    form?.querySelector<HTMLElement>("summary")?.focus({ preventScroll: true });
  });
  return link;
};

const send = async (form: HTMLFormElement, call: Call, file: File, into: HTMLElement) => {
  const progress = document.createElement("progress");
  progress.setAttribute("aria-label", `Sending ${file.name}`);
  into.replaceChildren(progress);
  const startedAt = performance.now();
  try {
    const status = await put(call, file, (part) => {
      progress.value = part;
    });
    const isStored = status >= 200 && status < 300;
    const outcome = element("p", "", `outcome ${isStored ? "ok" : "failed"}`);
    const ms = (performance.now() - startedAt).toFixed(0);
    outcome.append(element("strong", String(status)), ` from storage in ${ms} ms. `);
    if (isStored) outcome.append(linkToNext(form), ".");
    into.replaceChildren(outcome);
  } catch (error) {
    into.replaceChildren(element("p", error instanceof Error ? error.message : String(error), "outcome failed"));
  }
};

/** What keeps the file from being sent from here; empty where nothing does. */
const obstacle = ({ url }: Call, file: File | undefined): string => {
  if (new URL(url).origin !== storage) return "This page may not send files to storage: use the sample for that.";
  return file ? "" : "Choose the file above, send again, and this page can send it to storage too.";
};

/** The second call, under the response to the first: a button that sends the file, or what keeps it from that. */
export const sendingOf = (form: HTMLFormElement, prepared: unknown): readonly HTMLElement[] => {
  const input = form.querySelector<HTMLInputElement>("input.described");
  const file = input?.files?.[0];
  const call = input && sendingCall(prepared, file?.name);
  if (!call) return [];
  renderSamples(form.closest(".operation")?.querySelector(".sending") ?? null, call);
  const into = element("div", "", "sent");
  const reason = obstacle(call, file);
  if (!file || reason) return [element("p", reason, "note")];
  const button = document.createElement("button");
  button.className = "send";
  button.textContent = `${call.method} ${file.name} to storage`;
  button.addEventListener("click", async () => {
    button.disabled = true;
    await send(form, call, file, into);
    button.disabled = false;
  });
  return [button, into];
};
