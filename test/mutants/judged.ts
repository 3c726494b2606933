/** A survivor that no test should notice, and why. `code` and `mutant` are what the report prints, so that lines may shift. */
type Judged = { readonly file: string; readonly code: string; readonly mutant: string; readonly why: string };

export const judged: readonly Judged[] = [];
