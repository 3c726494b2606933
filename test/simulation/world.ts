import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The world of a schedule: virtual time, tasks, randomness and faults, all from a seed.
 *
 * Events depend on names, not on a stream of random numbers: whether a call fails, how long it travels and what a task picks are
 * hashes of the seed, the task and the number of the call. So leaving out a fault does not move others, and shrinking is simple.
 */

/** A unit that runs by itself, such as a function's invocation, an execution or a customer. A dead one stops. */
export type Task = {
  readonly name: string;
  /** How much its clock is ahead of the true time. */
  readonly skewMs: number;
  /** The longest delay before each of its calls. */
  readonly slowMs: number;
  /** The time at which it was created, in milliseconds since the schedule has begun. */
  readonly startedAt: number;
  isAlive: boolean;
  /** The time, in milliseconds, until which its events wait. They then happen in their order. */
  frozenUntil: number;
  /** The total time for which it was frozen. */
  frozenMs: number;
  readonly counts: Map<string, number>;
  onDeath?: (error: Error) => void;
};

/** The probability of each kind of fault. Absent kinds do not happen. */
export type Rates = Readonly<Record<string, number>>;

type Event = {
  time: number;
  order: number;
  readonly task: Task;
  readonly act: () => void;
  isCancelled: boolean;
};

type State = {
  /** The hash of the seed, with which every other begins. */
  readonly seed: number;
  readonly rates: Rates;
  /** The rates of each service, by kind. */
  readonly ratesOf: Map<string, ReadonlyMap<string, number>>;
  /** Ingredients to leave out: faults, and activities of people. */
  readonly without: ReadonlySet<string>;
  /** Called for each line of a trace, if one is wanted. */
  readonly onLine: ((line: string) => void) | undefined;
  /** The ingredients that made a difference. */
  readonly happened: Set<string>;
  readonly broken: Set<string>;
  readonly queue: Event[];
  faultsEnd: number;
  time: number;
  events: number;
};

const begin = Date.UTC(2026, 10, 21, 10);

/** FNV-1a. */
const hashOf = (text: string, before = 0x811c9dc5): number => {
  let hash = before;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
};

const newState = (seed: string, rates: Rates, without: ReadonlySet<string>, onLine: State["onLine"]): State => ({
  seed: hashOf(seed),
  rates,
  ratesOf: new Map(),
  without,
  onLine,
  happened: new Set(),
  broken: new Set(),
  queue: [],
  faultsEnd: Number.POSITIVE_INFINITY,
  time: begin,
  events: 0,
});

let state = newState("", {}, new Set(), undefined);

const running = new AsyncLocalStorage<Task>();

export const newTask = (name: string, skewMs = 0, slowMs = 0): Task => ({
  name,
  skewMs,
  slowMs,
  startedAt: state.time - begin,
  isAlive: true,
  frozenUntil: 0,
  frozenMs: 0,
  counts: new Map(),
});

/** The task of events outside every process, such as the arrival of a call. */
export const outside = newTask("world");

export const currentTask = (): Task => running.getStore() ?? outside;

/** A number from 0 to 1, by the seed and these words only: FNV-1a, then the finalizer of MurmurHash3. */
export const chance = (words: string): number => {
  let hash = hashOf(words, state.seed);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
};

/** One of these, by the seed and these words. */
export const pick = <T>(words: string, options: readonly [T, ...T[]]): T =>
  options[Math.floor(chance(words) * options.length)] ?? options[0];

/** A number between two others. All orders of magnitude are equally probable. */
export const between = (words: string, from: number, to: number): number => from * (to / from) ** chance(words);

/** Names an action of the current task, with the number of its repetition. The name is the same in every run of the schedule. */
export const numbered = (what: string): string => {
  const { name, counts } = currentTask();
  const count = (counts.get(what) ?? 0) + 1;
  counts.set(what, count);
  return `${name}: ${what}${count > 1 ? ` (${count})` : ""}`;
};

/** Records that an ingredient takes part, unless it is left out. */
export const takesPart = (ingredient: string): boolean => {
  if (state.without.has(ingredient)) return false;
  state.happened.add(ingredient);
  return true;
};

const ratesOf = (service: string): ReadonlyMap<string, number> => {
  const known = state.ratesOf.get(service);
  if (known) return known;
  const own = Object.entries(state.rates).filter(([name]) => name.startsWith(`${service} `));
  const rates = new Map(own.map(([name, rate]) => [name.slice(service.length + 1), rate]));
  state.ratesOf.set(service, rates);
  return rates;
};

/** The fault of a call, if it has one. Faults end at a certain time. */
export const faultOf = <K extends string>(service: string, named: string, kinds: readonly K[]): K | undefined => {
  if (state.time >= state.faultsEnd) return undefined;
  const rates = ratesOf(service);
  if (rates.size === 0) return undefined;
  for (const kind of kinds) {
    const rate = rates.get(kind);
    if (
      rate !== undefined &&
      chance(`${service} ${kind}? ${named}`) < rate &&
      takesPart(`${named}: ${service} ${kind}`)
    )
      return kind;
  }
  return undefined;
};

/** Whether a fault of this service has happened. */
export const hasHappened = (service: string): boolean =>
  state.happened.values().some((ingredient) => ingredient.includes(`: ${service} `));

/** The time on the current task's clock. */
export const clock = (): number => Math.floor(state.time + currentTask().skewMs);

/** The milliseconds since the schedule has begun. */
export const elapsed = (): number => state.time - begin;

export const areFaultsOver = (): boolean => state.time >= state.faultsEnd;

/** Ends faults this many milliseconds after the beginning. */
export const endFaultsAt = (ms: number): void => {
  state.faultsEnd = begin + ms;
};

export const breakPromise = (promise: string, detail: string): void => {
  say(() => `!! ${promise}: ${detail}`);
  state.broken.add(`${promise}: ${detail}`);
};

/** For a trace, the line of the product's code that makes a call, above the layers that are the same for all calls. */
export const place = (): string => {
  if (!state.onLine) return "";
  const frames = new Error("trace").stack?.match(/(?:functions|shared|infra\/admin)\/[\w/-]+\.ts:\d+/g) ?? [];
  const own = frames.filter((frame) => !/^shared\/(table\/|attachments\/files|deadline|http\/)/.test(frame));
  return own[0] === undefined ? "" : `  [${own[0]}]`;
};

export const say = (line: () => string): void =>
  state.onLine?.(`${(elapsed() / 1000).toFixed(3).padStart(10)}  ${line()}`);

const isEarlier = (one: Event, other: Event) =>
  one.time < other.time || (one.time === other.time && one.order < other.order);

/** Adds an event to the queue, whose last event happens next. */
const push = (event: Event): void => {
  const { queue } = state;
  let [from, to] = [0, queue.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = queue[middle];
    if (other && isEarlier(event, other)) from = middle + 1;
    else to = middle;
  }
  queue.splice(from, 0, event);
};

let orders = 0;

/** Acts after some time, unless the task has died by then. */
export const after = (ms: number, act: () => void, task = currentTask()): Event => {
  orders += 1;
  const event = { time: state.time + Math.max(0, ms), order: orders, task, act, isCancelled: false };
  push(event);
  return event;
};

/** Resolves after some time, and never if the current task dies. */
export const pass = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

/** A promise that never settles, for which a dead process waits. */
export const never = <T>(): Promise<T> => new Promise(() => {});

export const as = <T>(task: Task, work: () => T): T => running.run(task, work);

/** Starts a task after some time. Nobody waits for the task, so an error is a defect. */
export const start = (task: Task, ms: number, work: () => Promise<unknown>): void => {
  const failed = (error: unknown) => breakPromise("no defect", `${task.name} failed: ${describe(error)}`);
  after(ms, () => void as(task, work).catch(failed), task);
};

export const describe = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}\n${error.stack}` : String(error);

/** Freezes the current task for this time. */
export const freeze = (ms: number): void => {
  const task = currentTask();
  task.frozenUntil = state.time + ms;
  task.frozenMs += ms;
};

export const kill = (task: Task, error: Error): void => {
  if (!task.isAlive) return;
  say(() => `${task.name} dies: ${error.name}`);
  task.isAlive = false;
  task.onDeath?.(error);
};

const setImmediateReally = setImmediate;

const mostEvents = 200_000;

/** Lets the next event happen. Returns false if none remains. */
const next = (): boolean => {
  for (let event = state.queue.pop(); event; event = state.queue.pop()) {
    if (event.isCancelled || !event.task.isAlive) continue;
    if (event.task.frozenUntil > event.time) {
      push(Object.assign(event, { time: event.task.frozenUntil, order: orders++ }));
      continue;
    }
    state.time = event.time;
    state.events += 1;
    if (state.events > mostEvents) {
      breakPromise("every schedule ends", `there are more than ${mostEvents} events`);
      return false;
    }
    event.act();
    return true;
  }
  return false;
};

/**
 * Lets time pass until no events remain. Between two immediates, everything runs that can run without time passing. Scheduling many
 * at once saves a twentieth of the processor time, which the turns of the event loop would take.
 */
export const runWorld = (): Promise<void> =>
  new Promise((resolve) => {
    let hasEnded = false;
    const step = () => {
      if (hasEnded || next()) return;
      hasEnded = true;
      resolve();
    };
    const turn = () => {
      if (hasEnded) return;
      for (let count = 0; count < 100; count += 1) setImmediateReally(step);
      setImmediateReally(turn);
    };
    setImmediateReally(turn);
  });

export const beginWorld = (options: Partial<Pick<State, "rates" | "without" | "onLine">> & { seed: string }): void => {
  state = newState(options.seed, options.rates ?? {}, options.without ?? new Set(), options.onLine);
  orders = 0;
};

export const endWorld = () => {
  const { broken, happened, events } = state;
  return { broken: [...broken], happened: [...happened], events, seconds: elapsed() / 1000 };
};
