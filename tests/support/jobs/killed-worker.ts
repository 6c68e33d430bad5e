// A process that works on one run over a folder, and kills itself right after one step of a try is on disk.
import { openInProcess, runsIn, work } from "../../../src/runs/index.ts";
import { type Store, shareStore } from "../../../src/store/index.ts";
import { KILL_STEPS, killing } from "./kill-step.ts";

const [folder = "", baseUrl = "", name = "", step = ""] = process.argv.slice(2);
const kept = await shareStore(folder);
const at = KILL_STEPS.find((one) => one === step);
if (!at) throw new Error(`no step is called ${step}`);
const store: Store = killing(kept, at, () => process.kill(process.pid, "SIGKILL"));
const run = await store.jobs.run(name);
if (!run) throw new Error(`the store has no run ${name}`);
const dispatcher = openInProcess();
const { signal } = new AbortController();
const working = work({
  ...{ store, place: folder, queues: [{ name: run.queue, dispatcher }], concurrency: 1 },
  ...{ signal, suspend: signal, session: { models: null, baseUrl } },
});
await runsIn(store).offer(run, dispatcher);
await working;
