import PQueue from "p-queue";
import { bareRequest } from "./bare-model.ts";

// What a user would write without Belay: the jobs in a pool, and the prompts of each sent together by pi-ai. Nothing is
// kept. Arguments: the model's URL, jobs, prompts of each, jobs at once.
const [url = "", jobs = "0", calls = "0", concurrency = "1"] = process.argv.slice(2);
const pool = new PQueue({ concurrency: Number(concurrency) });
await Promise.all(Array.from({ length: Number(jobs) }, (_, job) => pool.add(() => oneJob(job))));

async function oneJob(job: number): Promise<void> {
  await Promise.all(Array.from({ length: Number(calls) }, (_, call) => bareRequest(url, `${job} ${call}`)));
}
