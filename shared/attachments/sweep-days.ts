/** Which days of the bucket a sweep has to read. A day is `YYYY-MM-DD`, in UTC. */

const dayMs = 24 * 60 * 60 * 1000;
const numberOf = (day: string) => Date.parse(`${day}T00:00:00Z`) / dayMs;

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** The beginning of the keys of a day's files. */
export const prefixOf = (day: string): string => `attachments/${day.replaceAll("-", "/")}/`;

/** The day that a file's key begins with; undefined for a key that is none of ours. */
export const dayOfKey = (key: string): string | undefined =>
  /^attachments\/(\d{4}\/\d\d\/\d\d)\//.exec(key)?.[1]?.replaceAll("/", "-");

/** Uploads that crash leave their file under a day just past; deletes that crash, under any: each is read again so often. */
const rereadDays = 30;

/**
 * The days due in the sweep of `today`, ascending: those of which every file has become a day old since the last sweep,
 * and the older ones whose turn it is to be read again. Days that a missed sweep should have read are among them.
 */
export const dueDays = (first: string, lastSweep: string | undefined, today: string): string[] => {
  const newest = numberOf(today) - 2;
  const since = lastSweep === undefined ? Number.POSITIVE_INFINITY : numberOf(today) - numberOf(lastSweep);
  const due: string[] = [];
  for (let day = numberOf(first); day <= newest; day += 1)
    if ((newest - day) % rereadDays < since) due.push(dayOf(new Date(day * dayMs)));
  return due;
};
