import { storageRequest } from "../samples.ts";
import { element } from "./element.ts";
import { changeData } from "./fields.ts";
import { renderSamples } from "./samples.ts";

/** Direct uploads: describes a file in the JSON body, and sends it to storage. */

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

const fillIn = async ({ form, dataset }: HTMLInputElement, file: File): Promise<string> => {
  const maxBytes = Number(dataset.maxBytes);
  if (file.size > maxBytes) return `${file.name} has ${size(file.size)}. The limit is ${size(maxBytes)}.`;
  const described = await describe(file);
  if (form) changeData(form, described);
  return `The body describes ${file.name}: ${size(file.size)}. The file has not been sent yet.`;
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

type StorageRequest = NonNullable<ReturnType<typeof storageRequest>>;

/** Resolves with the status. Uses XMLHttpRequest because `fetch` does not report upload progress. */
const put = ({ method, url, headers }: StorageRequest, file: File, onProgress: (fraction: number) => void) =>
  new Promise<number>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onload = () => resolve(request.status);
    request.onerror = () =>
      reject(new Error(`No response from ${new URL(url).origin}, or none that this page may read.`));
    request.send(file);
  });

/** A link to the form that completes the upload. Browsers open the `details` around a link's target. */
const linkToNext = ({ dataset: { path } }: HTMLFormElement) => {
  const next = document.querySelector<HTMLFormElement>(`form[data-path^="${path}/{"][data-path$="/complete"]`);
  const link = document.createElement("a");
  link.href = `#${next?.id}`;
  link.textContent = "Create the attachment with this id";
  return next ? [link, "."] : [];
};

const outcomeOf = (status: number, ms: number) => {
  if (status === 412) return { isStored: true, text: " from storage: the file is there already. " };
  return { isStored: status >= 200 && status < 300, text: ` from storage in ${ms.toFixed(0)} ms. ` };
};

const send = async (form: HTMLFormElement, request: StorageRequest, file: File, into: HTMLElement) => {
  const progress = document.createElement("progress");
  progress.setAttribute("aria-label", `Sending ${file.name}`);
  into.replaceChildren(progress);
  const startedAt = performance.now();
  try {
    const status = await put(request, file, (fraction) => {
      progress.value = fraction;
    });
    const { isStored, text } = outcomeOf(status, performance.now() - startedAt);
    const outcome = element("p", "", `outcome ${isStored ? "ok" : "failed"}`);
    outcome.append(element("strong", String(status)), text, ...(isStored ? linkToNext(form) : []));
    into.replaceChildren(outcome);
  } catch (error) {
    into.replaceChildren(element("p", error instanceof Error ? error.message : String(error), "outcome failed"));
  }
};

/** Why the page cannot send the file. Empty if it can. */
const whyNot = ({ url }: StorageRequest, file: File | undefined): string => {
  if (new URL(url).origin !== storage) return "This page may not send files to storage. Use the sample instead.";
  return file ? "" : "To send the file from this page, choose it above and send the request again.";
};

/** Shown below the response that prepares an upload: a button that sends the file, or why the page cannot send it. */
export const storageControls = (form: HTMLFormElement, prepared: unknown): readonly HTMLElement[] => {
  const input = form.querySelector<HTMLInputElement>("input.described");
  const file = input?.files?.[0];
  const request = input && storageRequest(prepared, file?.name);
  if (!request) return [];
  renderSamples(form.closest(".operation")?.querySelector(".sending"), request);
  const into = element("div", "", "sent");
  const reason = whyNot(request, file);
  if (!file || reason) return [element("p", reason, "note")];
  const button = document.createElement("button");
  button.className = "send";
  button.textContent = `${request.method} ${file.name} to storage`;
  button.addEventListener("click", async () => {
    button.disabled = true;
    await send(form, request, file, into);
    button.disabled = false;
  });
  return [button, into];
};
