/** Whether an error means that there is no space for data. The embedded DynamoDB passes on only SQLite's message. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && /\b(ENOSPC|EDQUOT)\b|disk is full/.test(error.message);
