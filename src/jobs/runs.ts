import { ulid } from "ulid";
import { systemClock } from "../../runtime/index.ts";
import { loadIntoStore, openSessionWith } from "../session/index.ts";
import type { Asked, DueJob, Jobs, NewJob, Store } from "../store/index.ts";
import type { Runs } from "./api.ts";
import { openHeldContexts } from "./held-contexts.ts";
import { contextParts, modelsBy } from "./job-session.ts";
import { jobOptions, onlyThese } from "./session-options.ts";
import { hashOfRun } from "./spec.ts";

/** The runs of a store. */
export function openRuns(store: Store): Runs {
  const { jobs } = store;
  const contextOf = openHeldContexts(store);
  const offer: Runs["offer"] = async (run, dispatcher) => {
    await jobs.lapse(run.id);
    await dispatcher.offer(dueJobs(jobs, run.queue, { overdueMs: 0 }));
  };
  return {
    async submit({ name, queue, share, spec, limits }, inputs, again = new Set()) {
      const id = ulid(systemClock.now());
      const wanted = { id, name, queue, share, spec: JSON.parse(JSON.stringify(spec)), hash: hashOfRun(spec), limits };
      // Inputs that cannot be loaded leave no run without jobs.
      const read = pages(inputs);
      const first = await read.next();
      const { run, made } = await jobs.open(wanted);
      const order: number[] = [];
      let [added, anew] = [0, 0];
      for (let next = first; !next.done; next = await read.next()) {
        const page = next.value;
        const found = await jobs.add(run.id, page);
        order.push(...found.map(({ n }) => n));
        added += found.filter(({ isNew }) => isNew).length;
        const replaced = page.filter(({ id }, at) => !found[at]?.isNew && again.has(id));
        if (replaced.length > 0) anew += await jobs.replace(run.id, replaced);
      }
      return { run, made, order, added, anew };
    },
    async *known(run, inputs) {
      for await (const page of pages(inputs)) {
        const known = await jobs.known(run.id, page);
        yield* page.map(({ id }, at) => ({ id, job: known[at] ?? null }));
      }
    },
    keepContext: (source, options) => loadIntoStore(store, source, options),
    async change(run, change, dispatcher) {
      const tried = await jobs.change(run.id, change);
      if (!dispatcher) return;
      await dispatcher.nudge(tried.map(({ ticket, ...job }) => ({ ticket: job, id: ticket })));
      if (change.to === "resume" || change.to === "retry") await offer(run, dispatcher);
    },
    offer,
    async dryRun(spec, { input, context: key }, own) {
      const context = key === null ? null : await contextOf(key);
      const models = onlyThese(modelsBy(own, process.env)(spec.model), own.models);
      const lent = context ? contextParts(context) : {};
      await using session = await openSessionWith(jobOptions(spec, own), {
        job: input,
        models,
        ...lent,
      });
      return session.dryRun(spec.script.source, { name: spec.script.name });
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

/** Jobs that are read or written at once. Memory for larger pages would stay with a process that only waits. */
const PAGE = 100;

/** Jobs in pages, each with the id that its session will have. */
async function* pages(inputs: AsyncIterable<Asked> | Iterable<Asked>): AsyncGenerator<readonly NewJob[]> {
  let page: NewJob[] = [];
  for await (const job of inputs) {
    page.push({ ...job, session: ulid(systemClock.now()) });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
