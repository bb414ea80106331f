/** What named parts of a program cost in joules (cg's docs/session.md). */
export interface SessionOptions {
  /** The file; codegreen_<pid>.json without it, CSV where it ends in .csv. */
  outputFile?: string;
  outputFormat?: 'auto' | 'json' | 'csv' | 'none';
  /** false writes no file. */
  saveToFile?: boolean;
  /** Warn when another process has a session. */
  warnOnConcurrent?: boolean;
  /** Keep every sample of every task. */
  recordTimeSeries?: boolean;
  /** Samples that cg keeps until they are read, 16 to 1048576. */
  bufferSamples?: number;
  /** 0.1 to 60000. */
  sampleIntervalMs?: number;
  /** Gauges to record, such as ['cpu-util', 'nvml-temp'], or 'all'. */
  gauges?: string | string[];
  /** 100 to 60000. */
  gaugeIntervalMs?: number;
}

/** Energies in joules; NaN is one that is not known. */
export interface Energy {
  /** Of the machine while the task ran, with bounds. */
  energyJ: number;
  loJ: number;
  hiJ: number;
  /** The program's part of it, known under cg run and cg measure. */
  programJ: number;
  programLoJ: number;
  programHiJ: number;
  kind: 'measured' | 'derived' | 'estimated' | 'unavailable';
  /** Whose the energy of each GPU was; empty where the machine has none. */
  gpus: GPU[];
}

/** programJ, otherJ, idleJ and unattributedJ add up to energyJ, that of the whole GPU. */
export interface GPU {
  domain: string;
  /** unattributed where the driver does not tell who used it. */
  method: 'process' | 'unattributed';
  /** Why there is unattributed energy, "" where there is next to none. */
  reason: string;
  /** false where the program held no context on it. */
  used: boolean;
  energyJ: number;
  /** What the program used, which the task has; NaN where it is not known. */
  programJ: number;
  programLoJ: number;
  programHiJ: number;
  otherJ: number;
  idleJ: number;
  unattributedJ: number;
}

export interface Task {
  readonly name: string;
  readonly isOpen: boolean;
  /** Ends the task; an error while a task is open in it. */
  end(): void;
  /** Ends the task and what is open in it. */
  endAll(): void;
  rename(name: string): void;
  /** Tells that the task has done n units of work. */
  count(n: number | bigint, unit?: string): void;
  /** Of a task that is over, before the session's end. */
  energy(): Promise<Energy>;
  /** endAll(), at the end of a scope (using). */
  [Symbol.dispose](): void;
}

export class Session {
  constructor(name?: string, options?: SessionOptions);
  static start(name?: string, options?: SessionOptions): Session;
  readonly name: string;
  readonly file: string;
  start(): this;
  /** Begins a task inside that of this chain of calls, or inside parent. */
  startTask(name: string, options?: { parent?: Task }): Task;
  /** Calls f as a task, which ends when f returns or throws, or when its Promise is settled; gives what f gives. */
  task<T>(name: string, f: (task: Task) => T): T;
  /** Calls f inside a task, which it does not end. */
  run<T, A extends unknown[]>(task: Task, f: (...args: A) => T, ...args: A): T;
  /** Ends the session; gives the content of its file, where it is JSON. */
  stop(): Promise<Record<string, unknown> | undefined>;
  /** stop(), at the end of a scope (await using). */
  [Symbol.asyncDispose](): Promise<void>;
}

declare global {
  interface SymbolConstructor { // for libraries of types that do not have them
    readonly dispose: unique symbol;
    readonly asyncDispose: unique symbol;
  }
}

type AnyFunction = (this: any, ...args: any[]) => any;

interface MakesTasks {
  <F extends AnyFunction>(f: F): F;
  <F extends AnyFunction>(value: F, context: object): F;
  (target: object, key: string | symbol, descriptor: PropertyDescriptor): any;
}

/** Makes each call of a function a task; also a decorator of methods. */
export function task(name: string): MakesTasks;
export function task<F extends AnyFunction>(f: F): F;
export function task(target: object, key: string | symbol, descriptor?: PropertyDescriptor): any;
export function task<F extends AnyFunction>(value: F, context: object): F;

/** The task that this chain of calls belongs to. */
export function current(): Task | undefined;
/** Counts units of work in the current task. */
export function count(n: number | bigint, unit?: string): void;

/**
 * A test's function that fails where f surely uses more energy than the budget, such as '2 J' (cg's docs/budgets.md):
 * test('search', budget('2 J', () => search())). f runs up to five times, or as often as runs says, 1 to 10.
 */
export function budget<T>(text: string, f: (t: T) => unknown): (t: T) => Promise<void>;
export function budget<T>(text: string, options: { runs?: number }, f: (t: T) => unknown): (t: T) => Promise<void>;

/** Middleware of Express: each request is a task with the name of its route. */
export function express(): (request: any, response: any, next: (error?: any) => void) => void;
/** A plugin of Fastify that does the same: server.register(fastify). */
export const fastify: (server: any, options: any, done: (error?: Error) => void) => void;

export interface AnnotateOptions {
  /** What cg monitor --socket names; else the variable CG_SOCKET. Without one nothing is done. */
  socket?: string;
}

/** A request that cg has been told of (cg's docs/monitor.md). */
export interface Request {
  /** The request ends. Only the first call says so. */
  end(): void;
  /** end(), at the end of a scope (using). */
  [Symbol.dispose](): void;
}

/**
 * Calls f as a request, which ends when f returns or throws, or when its Promise is settled; gives what f gives. What
 * has a method then and is no Promise of the language ends it at once: give an async function that awaits it. name is
 * the route, not the single request. cg monitor --socket and cg measure then tell what requests take. Nobody waits for
 * cg, and nothing is thrown but for f that is no function (TypeError). A name that cannot be made a text is '?'.
 */
export function annotateRequest<T>(name: string, f: () => T, options?: AnnotateOptions): T;
/** A request begins; the caller ends it. */
export function beginRequest(name: string, options?: AnnotateOptions): Request;
/** How many beginnings and ends of requests could not be said, since nobody listened or took them. */
export function droppedAnnotations(): number;
