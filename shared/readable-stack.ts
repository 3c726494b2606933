import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";

let map: SourceMap | undefined;

const bundleMap = (): SourceMap | undefined => {
  const file = `${import.meta.filename}.map`;
  if (!map && existsSync(file)) map = new SourceMap(JSON.parse(readFileSync(file, "utf8")));
  return map;
};

/**
 * A stack whose places are those of the repository's files, also in a bundle: its source map is read with the first error
 * that is told. Node's --enable-source-maps would read it with every cold start, for 5 to 10 ms.
 */
export const readableStack = (stack: string): string =>
  stack.replaceAll(/(file:\/\/[^\s()]+):(\d+):(\d+)/g, (place, url, line, column) => {
    if (url !== import.meta.url) return place;
    const origin = bundleMap()?.findOrigin(Number(line), Number(column));
    if (!origin || !("fileName" in origin)) return place;
    return `${origin.fileName}:${origin.lineNumber}:${origin.columnNumber}`;
  });
