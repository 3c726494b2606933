/**
 * The name under which a download is stored in the operator's folder. Callers choose the names of files, and programs act on some:
 * a shell on `-rf`, direnv on `.envrc`, Node on `postcss.config.mjs`. So the id comes first, and what a shell, a file manager or Windows
 * understands as more than a name becomes `_`.
 * https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 */

/**
 * Separators, what Windows refuses, control characters, and marks that change the direction of text, with which `fdp.exe` would
 * look like `exe.pdf`.
 */
const refused = /[/\\<>:"|?*\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

const reserved = /^(con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³]) *(?=\.|$)/i;

/** With the id before it and the ending of a temporary name after it, a name stays below the 255 bytes of file systems. */
const maxBytes = 200;

/** Cuts a text to its first bytes, without splitting a character. */
const firstBytes = (text: string, bytes: number): string =>
  text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read);

export const downloadName = (id: string, filename: string): string => {
  const plain = filename.replaceAll(refused, "_").replace(/^[.-]+/, (start) => "_".repeat(start.length));
  const safe = plain.replace(reserved, "_$&");
  const [extension = ""] = /\.[^. ]{1,16}$/.exec(safe) ?? [];
  const stem = safe.slice(0, safe.length - extension.length);
  const cut = firstBytes(stem, maxBytes - Buffer.byteLength(extension)) + extension;
  let end = cut.length;
  while (/[. ]/.test(cut.charAt(end - 1))) end -= 1;
  return `${id}-${cut.slice(0, end).padEnd(cut.length, "_")}`;
};
