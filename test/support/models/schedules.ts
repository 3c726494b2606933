import { AsyncLocalStorage } from "node:async_hooks";
import { withDeadline } from "../../../shared/deadline.ts";

/**
 * Runs the real code in every order that can make a difference. Actors run until their next call, and the scheduler lets one
 * call proceed at a time. A schedule is a list of its choices, which can be replayed and varied. Calls that share no item and
 * no file commute, so of the schedules that differ only in the order of such calls, one is run.
 */

/** Names of items and files, or prefixes of names. */
type Touched = readonly string[];

export type Actor = {
  /** The items and files of each of its calls, in order. The main actor omits it: it may touch anything. */
  readonly calls?: readonly Touched[];
  readonly run: () => Promise<unknown>;
};
type Actors = Readonly<Record<string, Actor>>;

type Turn = { readonly touches: Touched; readonly go: () => void };
type Choice = { readonly options: number; readonly chosen: number };

const inConflict = (some: Touched, others: Touched) =>
  some.some((one) => others.some((other) => one.startsWith(other) || other.startsWith(one)));

type RunningActor = { readonly name: string; readonly wait: (touches: Touched) => Promise<void> };
const runningActor = new AsyncLocalStorage<RunningActor>();

/** The name of the actor that runs this code. */
export const currentActor = (): string | undefined => runningActor.getStore()?.name;

/** Called before each call: resolves when it is the actor's turn, and at once outside an actor. */
export const waitForTurn = async (touches: Touched): Promise<void> => runningActor.getStore()?.wait(touches);

/** Starts the actors; returns a function for the waiting turns once no actor is running. Without any, all actors have ended. */
const startActors = (actors: Actors) => {
  const waiting = new Map<string, Turn>();
  const failures: unknown[] = [];
  let working = Object.keys(actors).length;
  let allRest = () => {};
  const rest = () => {
    working -= 1;
    if (working === 0) allRest();
  };
  const waitAs = (name: string) => (touches: Touched) =>
    new Promise<void>((resolve, reject) => {
      if (waiting.has(name)) return reject(new Error(`${name} makes two calls at once.`));
      const go = () => {
        waiting.delete(name);
        working += 1;
        resolve();
      };
      waiting.set(name, { touches, go });
      rest();
    });
  for (const [name, { run }] of Object.entries(actors))
    runningActor
      // Reads of one turn are one call. Those of two actors are not: on AWS, each has a process of its own.
      .run({ name, wait: waitAs(name) }, () => withDeadline(Number.POSITIVE_INFINITY, run))
      .catch((error: unknown) => failures.push(error))
      .then(rest);
  return async (): Promise<ReadonlyMap<string, Turn>> => {
    if (working > 0)
      await new Promise<void>((resolve) => {
        allRest = resolve;
      });
    if (failures.length > 0) throw failures[0];
    return waiting;
  };
};

/** Picks one of the options at each point that has several. */
type Pick = { readonly choose: (point: number, options: number) => number; readonly everyOption: boolean };

/** Chooses who goes next: the main actor, or one whose later calls conflict with the main actor's next call. */
const chooser = (actors: Actors, pick: Pick) => {
  const main = Object.keys(actors)[0] ?? "";
  const left = new Map(Object.entries(actors).map(([name, { calls = [] }]) => [name, calls]));
  const touching = (name: string) => (left.get(name) ?? []).flat();
  const taken: Choice[] = [];
  // An actor that was tried at a point sleeps while others go first there, until a call conflicts with its own.
  const asleep = new Set<string>();

  const choose = (waiting: ReadonlyMap<string, Turn>): string => {
    const turn = waiting.get(main);
    if (!turn) return [...waiting.keys()][0] ?? "";
    const others = [...waiting.keys()].filter(
      (name) => name !== main && !asleep.has(name) && inConflict(turn.touches, touching(name)),
    );
    const options = [main, ...others];
    if (options.length === 1) return main;
    const chosen = pick.choose(taken.length, options.length);
    taken.push({ options: options.length, chosen });
    if (pick.everyOption) for (const tried of options.slice(1, Math.max(1, chosen))) asleep.add(tried);
    return options[chosen] ?? "";
  };
  const next = (waiting: ReadonlyMap<string, Turn>): Turn => {
    const name = choose(waiting);
    const turn = waiting.get(name);
    if (!turn) throw new Error("A schedule could not be replayed.");
    for (const sleeper of asleep) if (inConflict(turn.touches, touching(sleeper))) asleep.delete(sleeper);
    left.set(name, (left.get(name) ?? []).slice(1));
    return turn;
  };
  return { next, taken };
};

const runSchedule = async (actors: Actors, pick: Pick): Promise<readonly Choice[]> => {
  const { next, taken } = chooser(actors, pick);
  const nextTurns = startActors(actors);
  for (let waiting = await nextTurns(); waiting.size > 0; waiting = await nextTurns()) next(waiting).go();
  return taken;
};

/** Creates the actors of one schedule, of which the first is the main one, and what to find out after it. */
type Prepare<T> = () => Promise<{ readonly actors: Actors; readonly outcome: () => Promise<T> }>;

/** Runs every schedule, each with new actors, and yields its outcome. */
export async function* everySchedule<T>(prepare: Prepare<T>): AsyncGenerator<T> {
  let choices: number[] | undefined = [];
  while (choices) {
    const earlier: readonly number[] = choices;
    const { actors, outcome } = await prepare();
    const taken = await runSchedule(actors, { choose: (point) => earlier[point] ?? 0, everyOption: true });
    yield await outcome();
    const last = taken.findLastIndex(({ options, chosen }) => chosen + 1 < options);
    const next = taken.slice(0, last + 1).map(({ chosen }, index) => (index === last ? chosen + 1 : chosen));
    choices = last === -1 ? undefined : next;
  }
}

/**
 * Runs one schedule for each list of moments, and yields its outcome. At the moments in its list one of the other actors goes
 * first, at all other points the main actor.
 */
export async function* schedulesAt<T>(prepare: Prepare<T>, moments: readonly (readonly number[])[]): AsyncGenerator<T> {
  for (const own of moments) {
    const { actors, outcome } = await prepare();
    const choose = (point: number, options: number) =>
      own.includes(point) ? 1 + (own.indexOf(point) % (options - 1)) : 0;
    await runSchedule(actors, { choose, everyOption: false });
    yield await outcome();
  }
}
