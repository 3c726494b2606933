/** Whether an error means that there is no space for data. The embedded DynamoDB has only a message, SQLite's. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && /\b(ENOSPC|EDQUOT)\b|disk is full/.test(error.message);
