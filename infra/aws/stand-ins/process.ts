/** Stands in for `node:process`: an ES import reads its every export, which opens stdin and stderr. */
export const { env, versions } = process;
