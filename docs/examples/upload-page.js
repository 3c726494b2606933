/**
 * Sends a large file from a web page directly to storage. The API key stays on your server, which makes the first and the third
 * call of a direct upload: `prepare` and `complete`. The page needs `https:` or `localhost`, as `crypto.subtle` does. `onProgress` is
 * called with the part that is sent, from 0 to 1, as a `<progress>` shows it.
 */
export const upload = async (file, { prepare, complete, onProgress = () => {} }) => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const content_type = file.type || "application/octet-stream";
  const { id, method, url, headers } = await prepare({ filename: file.name, content_type, bytes: file.size, sha256 });
  // Unlike `fetch`, XMLHttpRequest tells how much it has sent.
  const send = () =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method, url);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
      request.onload = () => resolve(request.status);
      request.onerror = () => reject(new Error("Storage did not respond"));
      request.send(file);
    });
  let status = await send();
  // 409: storage still receives an earlier attempt.
  for (let attempt = 1; status === 409 && attempt < 5; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000 * attempt));
    status = await send();
  }
  // 412: the file is already stored. An earlier attempt arrived, but its response was lost.
  if (status !== 200 && status !== 412) throw new Error(`Storage returned ${status}`);
  return complete(id);
};
