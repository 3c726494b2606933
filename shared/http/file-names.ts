// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const controls = /[\u0000-\u001f\u007f-\u009f]/g;

/** The base name of an uploaded file's own name, cleaned, of at most 255 characters; a file without any is called `attachment`. */
export const cleanFilename = (name: string | undefined): string => {
  const base = (name ?? "").toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const clean = [...base.replace(controls, "").trim()].slice(0, 255).join("");
  return /^\.{0,2}$/.test(clean) ? "attachment" : clean;
};

/** The media type of an uploaded file, or that of any bytes where it is not one that a header can carry. */
export const cleanMediaType = (mediaType: string): string =>
  /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(mediaType) ? mediaType.toLowerCase() : "application/octet-stream";
