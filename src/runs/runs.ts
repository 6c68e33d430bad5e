import { ulid } from "ulid";
import { systemClock } from "../../runtime/index.ts";
import { jsonOf } from "../platform/json.ts";
import {
  contextParts,
  type DryRun,
  knownIn,
  type LoadSource,
  loadIntoStore,
  openHeldTexts,
  openSessionWith,
  type RecordedAnswers,
} from "../session/index.ts";
import type { Asked, Change, DueJob, Jobs, KnownJob, NewJob, RunRow, Store } from "../store/index.ts";
import type { Submission, Submitted, WorkerSession } from "./api.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { jobOptions, modelsBy, onlyThese, openHeldContexts } from "./job-session.ts";
import { lentTo } from "./lent-agents.ts";
import { hashOfRun, type RunSpec } from "./spec.ts";

/** The runs of a store. Reading is done with `store.jobs`. */
export interface StoreRuns {
  /**
   * Makes the run, or continues the one of this name: known ids are left as they are. Jobs are
   * added 100 at a time, so a run of any size takes bounded memory. Nothing is offered to a
   * dispatcher.
   *
   * @param again known jobs that nobody tries: they wait again, for what is asked of them now
   * @throws RlmError `run_differs` if the run of this name does something else
   */
  submit(run: Submission, inputs: Inputs, again?: Again): Promise<Submitted>;
  /**
   * Compares these jobs with those of the run; `job` is null if it has none of this id. Nothing is
   * changed.
   */
  known(run: RunRow, inputs: Inputs): AsyncIterable<{ readonly id: string; readonly job: KnownJob | null }>;
  /** Keeps a context in the store. Gives its key. @throws as `load` */
  keepContext(source: LoadSource, options: ContextOptions): Promise<string>;
  /**
   * Changes the run or its jobs in the store, tells the workers that try them, and offers what may
   * be tried again. Without a dispatcher a worker notices by its next sweep.
   */
  change(run: RunRow, change: Change, dispatcher: Dispatcher | null): Promise<void>;
  /**
   * Offers every job of the run's queue that may be tried. Counts the lapses of those that a
   * process of this folder left.
   */
  offer(run: RunRow, dispatcher: Dispatcher): Promise<void>;
  /**
   * Runs the script over one input with placeholders for answers. Nothing is sent or kept.
   *
   * @param recorded finds the answer on record to a question, which takes the placeholder's place
   */
  dryRun(
    spec: RunSpec,
    job: Pick<Asked, "input" | "context">,
    own: WorkerSession,
    recorded?: RecordedAnswers,
  ): Promise<DryRun>;
}

type Inputs = AsyncIterable<Asked> | Iterable<Asked>;
type ContextOptions = Parameters<typeof loadIntoStore>[2];

/** Jobs of a run that are run again. */
interface Again {
  readonly ids: ReadonlySet<string>;
  /**
   * Model of their calls that name none, if it is another one than the run's; `null`: the run's.
   */
  readonly model: string | null;
}

const NOTHING_AGAIN: Again = { ids: new Set(), model: null };

/** Opens the runs of a store to submit and change them. */
export function runsIn(store: Store): StoreRuns {
  const { jobs } = store;
  const contextOf = openHeldContexts(store);
  const texts = openHeldTexts(store);
  let submitting = 0;

  async function offer(run: RunRow, dispatcher: Dispatcher): Promise<void> {
    await jobs.lapse(run.id);
    await dispatcher.offer(dueJobs(jobs, run.queue, { overdueMs: 0 }));
  }

  async function submitted(run: Submission, inputs: Inputs, again: Again): Promise<Submitted> {
    const { spec } = run;
    const id = ulid(systemClock.now());
    const wanted = { ...run, id, spec: jsonOf(spec), hash: hashOfRun(spec) };
    // Inputs that cannot be loaded leave no run without jobs.
    const read = pages(inputs);
    const first = await read.next();
    const { run: opened, made } = await jobs.open(wanted);
    const order: number[] = [];
    let added = 0;
    let anew = 0;
    for (let next = first; !next.done; next = await read.next()) {
      const page = next.value;
      const found = await jobs.add(opened.id, page);
      order.push(...found.map(({ n }) => n));
      added += found.filter(({ isNew }) => isNew).length;
      const replaced = page.filter(({ id }, at) => !found[at]?.isNew && again.ids.has(id));
      if (replaced.length > 0) anew += await jobs.replace(opened.id, replaced, again.model);
    }
    return { run: opened, made, order, added, anew };
  }

  return {
    offer,
    async submit(run, inputs, again = NOTHING_AGAIN) {
      submitting += 1;
      try {
        return await submitted(run, inputs, again);
      } finally {
        submitting -= 1;
        // The jobs name the contexts that were loaded for them.
        if (submitting === 0) await texts.free();
      }
    },
    async *known(run, inputs) {
      for await (const page of pages(inputs)) {
        const known = await jobs.known(run.id, page);
        yield* page.map(({ id }, at) => ({ id, job: known[at] ?? null }));
      }
    },
    keepContext(source, options) {
      const dir = options.documents?.keptIn;
      const known = dir === undefined ? {} : { known: knownIn(dir, store, texts, systemClock) };
      return loadIntoStore(store, source, { ...options, ...texts.loading, ...known });
    },
    async change(run, change, dispatcher) {
      const tried = await jobs.change(run.id, change);
      if (!dispatcher) return;
      await dispatcher.nudge(tried.map(({ ticket, ...job }) => ({ ticket: job, id: ticket })));
      if (change.to === "resume" || change.to === "retry") await offer(run, dispatcher);
    },
    async dryRun(spec, { input, context: key }, own, recorded) {
      const context = key === null ? null : await contextOf(key);
      const models = onlyThese(modelsBy(own, process.env)(spec.model), own.models);
      const lent = lentTo(own.lent, spec, { session: "dry-run", input });
      await using session = await openSessionWith(
        lent ? { ...jobOptions(spec, own), ...lent.options } : jobOptions(spec, own),
        {
          models,
          job: input,
          ...(context ? contextParts(context) : {}),
          ...(recorded ? { recorded } : {}),
        },
      );
      return session.dryRun(spec.script.source, { name: spec.script.name, workflow: lent !== null });
    },
  };
}

/** Jobs that should be tried, page by page, the first by rank first. */
export async function* dueJobs(
  jobs: Pick<Jobs, "due">,
  queue: string,
  { overdueMs, most = Number.POSITIVE_INFINITY }: { readonly overdueMs: number; readonly most?: number },
): AsyncGenerator<DueJob> {
  let after: DueJob | null = null;
  for (let given = 0; given < most; ) {
    const page: readonly DueJob[] = await jobs.due({
      queue,
      after,
      limit: Math.min(DUE_PAGE, most - given),
      overdueMs,
    });
    yield* page;
    given += page.length;
    after = page.at(-1) ?? null;
    if (page.length < DUE_PAGE) return;
  }
}

const DUE_PAGE = 1000;

/**
 * Jobs that are read or written at once. Memory for larger pages would stay with a process that
 * only waits.
 */
const PAGE = 100;

/** Jobs in pages, each with the id that its session will have. */
async function* pages(inputs: Inputs): AsyncGenerator<readonly NewJob[]> {
  let page: NewJob[] = [];
  for await (const job of inputs) {
    page.push({ ...job, session: ulid(systemClock.now()) });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
