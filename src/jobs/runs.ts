import { ulid } from "ulid";
import { systemClock } from "../../runtime/index.ts";
import { loadAsks } from "../asks.ts";
import { loadIntoStore, openSessionWith } from "../session/index.ts";
import type { NewJob, Store } from "../store/index.ts";
import type { JobInput, Runs } from "./api.ts";
import { openHeldContexts } from "./held-contexts.ts";
import { contextParts, modelsBy } from "./job-session.ts";
import { jobOptions, onlyThese } from "./session-options.ts";
import { hashOfRun } from "./spec.ts";
import { dueJobs } from "./sweep.ts";

/** The runs of a store. */
export function openRuns(store: Store): Runs {
  const { jobs } = store;
  const contextOf = openHeldContexts(store);
  const offer: Runs["offer"] = async (run, dispatcher) => {
    await jobs.lapse(run.id);
    await dispatcher.offer(dueJobs(jobs, run.queue, { overdueMs: 0 }));
  };
  return {
    async submit({ name, queue, share, spec, limits }, inputs) {
      const id = ulid(systemClock.now());
      const wanted = { id, name, queue, share, spec: JSON.parse(JSON.stringify(spec)), hash: hashOfRun(spec), limits };
      const { run, made } = await jobs.open(wanted);
      let [added, known] = [0, 0];
      for await (const page of pages(inputs)) {
        const areNew = await jobs.add(run.id, page);
        added += areNew.filter(Boolean).length;
        known += areNew.filter((isNew) => !isNew).length;
      }
      return { run, made, added, known };
    },
    keepContext: (source, options) => loadIntoStore(store, source, options),
    async change(run, change, dispatcher) {
      const tried = await jobs.change(run.id, change);
      if (!dispatcher) return;
      await dispatcher.nudge(tried.map(({ ticket, ...job }) => ({ ticket: job, id: ticket })));
      if (change.to === "resume" || change.to === "retry") await offer(run, dispatcher);
    },
    offer,
    async dryRun(spec, { input, context: hash }, own) {
      const context = hash === null ? null : await contextOf(hash);
      const models = onlyThese(modelsBy(own, process.env)(spec.model), own.models);
      const lent = context ? contextParts(context) : {};
      await using session = await openSessionWith(jobOptions(spec, own), {
        job: input,
        models,
        asks: loadAsks,
        ...lent,
      });
      return session.dryRun(spec.script.source, { name: spec.script.name });
    },
  };
}

const PAGE = 1000;

/** Jobs in pages, each with the id that its session will have. */
async function* pages(inputs: AsyncIterable<JobInput> | Iterable<JobInput>): AsyncGenerator<readonly NewJob[]> {
  let page: NewJob[] = [];
  for await (const job of inputs) {
    page.push({ ...job, session: ulid(systemClock.now()) });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
