/**
 * Returns where a function's code is: a file below `functions/`, and the export that is Lambda's handler. Most functions have the
 * name of their file. Requests and orders share the files in `functions/attachments`: `order-attachments/show` is the export `order`
 * of `functions/attachments/show.ts`. Switches and those under an account share files, too: `switches/list-under-account` is the
 * export `underAccount` of `functions/switches/list.ts`.
 */
export const entryPointOf = (name: string): { readonly file: string; readonly handler: string } => {
  const [, parent, file] = /^(request|order)-(attachments\/.+)$/.exec(name) ?? [];
  if (parent && file) return { file, handler: parent };
  const underAccount = /^(switches\/.+)-under-account$/.exec(name)?.[1];
  return underAccount ? { file: underAccount, handler: "underAccount" } : { file: name, handler: "handler" };
};
