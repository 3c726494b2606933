/**
 * Where a function's code is: a file below `functions/`, and the export of that file which is Lambda's handler. Most functions have
 * the name of their file. Requests and orders share the files in `functions/attachments`: `order-attachments/show` is the
 * export `order` of `functions/attachments/show.ts`.
 */
export const entryPointOf = (name: string): { readonly file: string; readonly handler: string } => {
  const [, parent, file] = /^(request|order)-(attachments\/.+)$/.exec(name) ?? [];
  return parent && file ? { file, handler: parent } : { file: name, handler: "handler" };
};
