import { expect, test } from "vitest";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { json, said } from "../belay.ts";
import { deliveryLines } from "./scene.ts";

const LINE = ["batch", "ask.js", "--jobs", "in.jsonl", "-o", "out.jsonl"];
const NOW = [...LINE, "--wait", "0"];
const gate = () => Promise.withResolvers<void>();
const lastLines = (text: string, count: number) => text.trimEnd().split("\n").slice(-count);
const WAITS = [{ provider: "local", batch: "batch_0", calls: 3, done: 0, earlier: [] }];

/** Results without the fields that time, or the sessions of another run, change. */
const steady = (text: string) => text.replaceAll(/"(?:ms|session|resumed)":(?:"\w+"|\d+),?/g, "");

test("a run that only a provider can go on with ends with 4, all commands say so, and the same line takes the answers", async () => {
  const answers = gate();
  const { type, server, read } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  const first = await type(NOW);
  expect(first.code).toBe(4);
  const [standing, waits, next] = lastLines(first.stderr, 3);
  const run = /^run (\S+): 3 jobs$/m.exec(first.stderr)?.[1] ?? "";
  expect(standing).toBe(`${run}: 0/3 done · 3 parked`);
  expect(waits).toMatch(
    /^3 calls wait for local \(batch_0, since \d+ s; most take less than an hour, 24 h at the most\)$/,
  );
  expect(next).toBe(`continue with: belay ${NOW.join(" ")}`);
  const again = await type([...NOW, "--json"]);
  expect([again.code, json(again)]).toMatchObject([4, { success: false, exit_code: 4, state: "parked", waits: WAITS }]);

  expect(await type(["jobs", run])).toMatchObject({
    code: 4,
    stdout: expect.stringMatching(/\nlocal batch_0: 3 calls, since \d+ s\njob .*\nj0 +parked +0 +- +delivery\n/),
  });
  expect(json(await type(["jobs", run, "--json"]))).toMatchObject({ run: { waits: WAITS } });
  const job = await type(["jobs", run, "j0"]);
  expect(job.code).toBe(4);
  expect(job.stdout).toMatch(/^job j0 of \S+: parked \(delivery\)\nwaits for local batch_0 since \d\d:\d\d\n/);
  const ofJob = await type(["jobs", run, "j0", "--json"]);
  expect([ofJob.code, json(ofJob)]).toMatchObject([4, { why: "delivery", waits: [{ batch: "batch_0", calls: 1 }] }]);
  expect((await type(["show", `${run}/j0`])).stdout).toMatch(/\n1 call waits for local batch_0 since \d\d:\d\d\n/);
  expect(json(await type(["show", `${run}/j0`, "--json"]))).toMatchObject({ session: { waits: [{ calls: 1 }] } });

  const busy = "the run RUN waits for 3 calls in the batch batch_0 (session_busy)".replace("RUN", run);
  expect(await type(["jobs", "rm", run])).toMatchObject(said(1, busy));
  expect(await type(["jobs", run, "--discard"])).toMatchObject(said(2, "--discard is of jobs rm"));
  // What is out is what its calls get, whatever the line says now.
  expect(await type([...NOW, "--delivery", "now"])).toMatchObject({ code: 4 });
  answers.resolve();
  expect(await type(LINE)).toMatchObject(said(0, `${run}: 3/3 done`));
  expect(server.ran.map(({ batch }) => batch)).toEqual(["batch_0", "batch_0", "batch_0"]);

  const live = await deliveryLines();
  expect(await live.type([...LINE, "--delivery", "now"])).toMatchObject({ code: 0 });
  expect(live.server.batches).toEqual([]);
  expect(steady(read("out.jsonl"))).toBe(steady(live.read("out.jsonl")));
});

test("with another key or none nothing is sent, nothing is lost, and the right one goes on", async () => {
  const answers = gate();
  const { type, server } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  await type(NOW);
  const steps = server.steps.length;
  const other = await type(NOW, { OPENAI_API_KEY: "other" });
  expect(other).toMatchObject(
    said(3, "\npaused: auth_failed: calls of local/m go by provider batches of another key or server"),
  );
  expect(other.stderr).toMatch(/Set the key whose SHA-256 begins with [0-9a-f]{8}; or give the calls up with/);
  expect(`${other.stderr}${other.stdout}`).not.toContain("key-1");
  expect(await type(NOW, { OPENAI_API_KEY: "" })).toMatchObject(said(1, "OPENAI_API_KEY is not set"));
  expect(server.steps).toHaveLength(steps);
  answers.resolve();
  expect(await type(LINE)).toMatchObject({ code: 0 });
  expect(server.ran).toHaveLength(3);
});

test("a server without batches pauses the run, and the same line with --delivery now cures that", async () => {
  const { type, server } = await deliveryLines({
    fault: ({ kind }) => (kind === "live" ? undefined : { status: 404 }),
  });
  const words =
    "\npaused: provider_error: local/m: POST /v1/files failed (404): scripted 404: this server has no batches. Nothing was sent. Run the same line with `--delivery now`.\n";
  expect(await type(LINE)).toMatchObject(said(3, words));
  expect(await type([...LINE, "--delivery", "now"])).toMatchObject(said(0, ": 3/3 done"));
  expect([...server.paid().values()]).toEqual([1, 1, 1]);
});

test("a batch in doubt pauses the run until somebody says that it may be paid twice", async () => {
  const { type, server } = await deliveryLines({
    fault({ kind, n }) {
      if (kind === "create" && n === 0) return { lost: "response" };
      return kind === "list" ? { status: 405 } : undefined;
    },
  });
  const words =
    "\npaused: provider_error: local/m: a batch of 3 calls may have been made, and cannot be looked for. Run the same line with `--resend-doubtful`, which may pay for these calls twice.\n";
  expect(await type(LINE)).toMatchObject(said(3, words));
  expect(await type(LINE)).toMatchObject(said(3, words));
  expect(server.batches).toHaveLength(1);
  expect(await type([...LINE, "--resend-doubtful"])).toMatchObject({ code: 0 });
  expect(server.batches).toHaveLength(2);
});

test("jobs rm --discard gives up what is out, and the next process that collects cancels the batch", async () => {
  const { type, server } = await deliveryLines({ fate: ({ index }) => (index === 0 ? { wait: 60_000 } : {}) });
  const { stderr } = await type(NOW);
  const run = /^run (\S+):/.exec(stderr)?.[1] ?? "";
  expect(await type(["jobs", "rm", run, "--discard"])).toMatchObject({ code: 0 });
  expect(await type(["exec", "-e", 'await llm_query("x", { tools: [] })'])).toMatchObject({ code: 0 });
  expect(server.steps.filter(({ kind }) => kind === "cancel")).toHaveLength(1);
});

test("a dry run tells both prices", async () => {
  const { type, server } = await deliveryLines();
  const priced = { BELAY_MODEL: "openai/gpt-4.1-nano", BELAY_BASE_URL: "" };
  const dry = await type(["batch", "ask.js", "--jobs", "in.jsonl", "--dry-run"], priced);
  expect(dry.stdout).toMatch(/, up to ~\$[\d.]+ now, ~\$[\d.]+ by provider batch \(each wave: minutes to 24 h\)\n$/);
  expect(server.steps).toEqual([]);
});

test("a limit that splits a batch is named before, and while jobs wait for what the others hold", async () => {
  const answers = gate();
  const { type } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  const line = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", "--run-max-tokens", "9000"];
  expect((await type([...line, "--dry-run"])).stdout).toMatch(
    /\nby provider batch 9000 tokens have room for about \d\d % of the calls at once, and the others wait for the first wave: raise --run-max-tokens to 12500\n$/,
  );
  expect(await type([...line, "--wait", "0"])).toMatchObject({ code: 4 });
  const words = "1 job waits for tokens held by 2 calls: raise --run-max-tokens to 12500";
  expect((await type(["jobs", "mine"])).stdout.split("\n", 1)[0]).toContain(words);
  const held_back = { jobs: 1, by: 2, of: "tokens", raise_to: 12_500 };
  expect(json(await type(["jobs", "mine", "--json"]))).toMatchObject({ run: { held_back } });
  answers.resolve();
  expect(await type(line)).toMatchObject({ code: 0 });
});

test("workers share a run by batch, and end with 4 when only providers can go on", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const answers = gate();
  const { type, server } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  const store = ["--store", await freshStoreUrl()];
  const line = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", ...store];
  expect(await type([...line, "--detach"])).toMatchObject({ code: 0 });
  expect(await type(["worker", "--until-idle", "--wait", "0", ...store])).toMatchObject({ code: 4 });
  expect(await type(["worker", "--wait", "0", ...store])).toMatchObject(said(2, "--until-idle"));
  expect(await type(["jobs", "mine", ...store])).toMatchObject({ code: 4 });
  // A worker without the key leaves the run to others.
  const other = await type(["worker", "--until-idle", "--wait", "2s", ...store], { OPENAI_API_KEY: "other" });
  expect(other).toMatchObject({ code: 4, stderr: expect.stringContaining("another key") });
  expect(json(await type(["jobs", "mine", "--json", ...store]))).toMatchObject({ run: { why: null } });
  answers.resolve();
  expect(await type(["worker", "--until-idle", ...store])).toMatchObject({ code: 0 });
  const ended = await type(["jobs", "mine", "--json", ...store]);
  expect(ended).toMatchObject({ code: 0 });
  const steps = server.steps.map(({ kind, key, status }) => [kind, key, status].join(" "));
  expect([...server.paid().values()], `${steps.join(", ")}\n${ended.stdout}`).toEqual([1, 1, 1]);
});
