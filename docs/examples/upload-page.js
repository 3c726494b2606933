/**
 * Sends a large file from a web page directly to storage. The API key stays on your server, which makes the first and the third
 * call of a direct upload: `prepare` and `complete`. The page needs `https:` or `localhost`, as `crypto.subtle` does.
 */
export const upload = async (file, { prepare, complete }) => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const content_type = file.type || "application/octet-stream";
  const { id, method, url, headers } = await prepare({ filename: file.name, content_type, bytes: file.size, sha256 });
  // The browser sends Content-Length by itself.
  const send = () => fetch(url, { method, headers, body: file });
  let response = await send();
  // 409: storage still receives an earlier attempt.
  for (let attempt = 1; response.status === 409 && attempt < 5; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000 * attempt));
    response = await send();
  }
  // 412: the file is already stored. An earlier attempt arrived, but its response was lost.
  if (!response.ok && response.status !== 412) throw new Error(`Storage returned ${response.status}`);
  return complete(id);
};
