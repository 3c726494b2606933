import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Runs the real code in every order that can make a difference. Actors run until they come to a call; the scheduler
 * lets one call at a time go, so that a schedule is a list of choices, which can be replayed and varied.
 */

/** What two calls have in common if their order matters: the beginning of the name of an item or a file. */
export type Touched = readonly string[];

export type Actor = {
  /** All that its calls touch. The main actor has none of its own: each of its calls says what it touches. */
  readonly touches: Touched;
  readonly run: () => Promise<unknown>;
};

type Turn = { readonly touches: Touched; readonly go: () => void };
type Choice = { readonly options: number; readonly chosen: number };

const inConflict = (some: Touched, others: Touched) =>
  some.some((one) => others.some((other) => one.startsWith(other) || other.startsWith(one)));

const actorOf = new AsyncLocalStorage<{ readonly wait: (touches: Touched) => Promise<void>; readonly name: string }>();

/** The name of the actor that is at work here. */
export const currentActor = (): string | undefined => actorOf.getStore()?.name;

/** To be passed before each call: returns when it is the caller's turn. Who is no actor need not wait. */
export const gate = async (touches: Touched): Promise<void> => actorOf.getStore()?.wait(touches);

/** Runs the actors, the first of them as the main one, by these choices and then the main one first. */
const runSchedule = async (actors: Readonly<Record<string, Actor>>, choices: readonly number[]): Promise<Choice[]> => {
  const waiting = new Map<string, Turn>();
  const taken: Choice[] = [];
  let [running, failure] = [Object.keys(actors).length, undefined as unknown];
  let resting = () => {};
  const rest = () => {
    running -= 1;
    if (running === 0) resting();
  };
  const ended = Object.entries(actors).map(([name, { run }]) => {
    const wait = (touches: Touched) =>
      new Promise<void>((go, refuse) => {
        if (waiting.has(name)) refuse(new Error(`${name} makes two calls at once.`));
        waiting.set(name, { touches, go });
        rest();
      });
    return actorOf.run({ wait, name }, run).catch((error: unknown) => {
      failure ??= error;
    });
  });
  for (const end of ended) end.then(rest);
  for (;;) {
    await new Promise<void>((resolve) => {
      resting = resolve;
      if (running === 0) resolve();
    });
    if (waiting.size === 0) break;
    const [name, turn] = next(actors, waiting, choices, taken);
    waiting.delete(name);
    running += 1;
    turn.go();
  }
  if (failure) throw failure;
  return taken;
};

/** Who goes next: the main actor, or one that touches what the main actor is about to touch. */
const next = (
  actors: Readonly<Record<string, Actor>>,
  waiting: ReadonlyMap<string, Turn>,
  choices: readonly number[],
  taken: Choice[],
): readonly [string, Turn] => {
  const main = Object.keys(actors)[0] ?? "";
  const turn = waiting.get(main);
  const options = [...waiting]
    .filter(([name]) => name === main || !turn || inConflict(turn.touches, actors[name]?.touches ?? []))
    .sort(([name], [other]) => Number(other === main) - Number(name === main));
  const branches = turn ? options.length : 1;
  const chosen = branches > 1 ? (choices[taken.length] ?? 0) : 0;
  if (branches > 1) taken.push({ options: branches, chosen });
  const option = options[chosen];
  if (!option) throw new Error("A schedule could not be replayed.");
  return option;
};

/** Tries every schedule, each on actors of its own, depth first; how many there were. */
export const everySchedule = async (
  prepare: () => Promise<{ actors: Readonly<Record<string, Actor>>; check: () => Promise<void> }>,
): Promise<number> => {
  let choices: number[] = [];
  for (let count = 1; ; count += 1) {
    const { actors, check } = await prepare();
    const taken = await runSchedule(actors, choices);
    await check();
    const last = taken.findLastIndex(({ options, chosen }) => chosen + 1 < options);
    if (last === -1) return count;
    choices = taken.slice(0, last + 1).map(({ chosen }, index) => (index === last ? chosen + 1 : chosen));
  }
};
