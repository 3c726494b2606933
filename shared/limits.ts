/** More than any document of the interface can need, however its characters are escaped. */
export const maxJsonBytes = 1_048_576;

/** The largest file of an upload by default: what a 6 MB event can carry as base64, with room for the rest of it. */
export const defaultMaxFileBytes = 4_600_000;
