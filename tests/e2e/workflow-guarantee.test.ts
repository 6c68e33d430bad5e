import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { type LifeEnd, startLife, type WorkflowLife } from "../support/agents/life.ts";
import { type NotedRun, readAgentsLog } from "../support/agents/log.ts";
import { killed, processesIn } from "../support/agents/processes.ts";
import { type AgentScene, agentScene, envelopeOf, LINE } from "../support/agents/scene.ts";
import { commandHere } from "../support/command-here.ts";
import { live } from "../support/crash/life.ts";
import { startModelServer } from "../support/model-server.ts";
import { freshStoreUrl, NO_POSTGRES } from "../support/postgres/server.ts";
import { folderWith } from "../support/tree.ts";

// An agent is started at most once per key: each way in which Belay, a keeper or an agent may end. Kills at random moments are
// those of `npm run campaign -- workflow`.

/** On a server a process that was killed has its session for so long. */
const LEASE_MS = 2500;
const SHORT_LEASE = { BELAY_LEASE_MS: String(LEASE_MS) };

let folders: string[] = [];

/** A test that fails must not leave agents that wait for a file. */
afterEach(() => {
  for (const folder of folders) for (const { pid } of processesIn(folder)) killed(pid);
  folders = [];
});

function sceneOf(...parts: Parameters<typeof agentScene>): AgentScene {
  const scene = agentScene(...parts);
  folders.push(scene.folder);
  return scene;
}

/** Waits until so many agents have begun. */
async function begun(scene: AgentScene, count: number): Promise<readonly NotedRun[]> {
  await vi.waitFor(() => expect(scene.runs().length).toBeGreaterThanOrEqual(count));
  return scene.runs();
}

/** Waits until so many agents have printed their answers, and their keepers are gone. */
async function ended({ folder, log }: AgentScene, count: number): Promise<void> {
  await vi.waitFor(() => {
    expect(readAgentsLog(log).filter((run) => run.ended !== null)).toHaveLength(count);
    expect(processesIn(folder)).toEqual([]);
  });
}

async function kill(life: WorkflowLife): Promise<void> {
  life.child.kill("SIGKILL");
  await life.end;
}

/**
 * Starts lives until one comes so far. On a busy computer one may lose its lease before that, or find the lease of the one before:
 * it says so, and the same line is typed again.
 */
async function lifeThat(start: () => WorkflowLife, isSoFar: () => boolean): Promise<WorkflowLife> {
  for (;;) {
    const life = start();
    while (!life.isOver() && !isSoFar()) await setTimeout(20);
    if (isSoFar()) return life;
    const { stdout, stderr } = await life.end;
    expect(stdout, stderr).toMatch(BUSY);
  }
}

/** Runs a line until no lease is in its way. */
async function unlessBusy(run: () => Promise<LifeEnd>): Promise<LifeEnd> {
  for (;;) {
    const end = await run();
    if (!BUSY.test(end.stdout)) return end;
  }
}

const BUSY = /"error_code":"(session_busy|lease_lost)"/;

/** Kills the keeper of the last run of this name. */
function killKeeper(scene: AgentScene, name: string): NotedRun {
  const run = scene.runs().findLast((one) => one.name === name);
  if (!run) throw new Error(`${name} has not begun`);
  expect(killed(run.keeper)).toBe(true);
  return run;
}

/** Kills keepers and agents of these names. */
function killBoth(scene: AgentScene, ...names: string[]): void {
  for (const name of names) killed(-killKeeper(scene, name).pid);
}

/** What outboxes are left. */
function leftIn({ home }: AgentScene): readonly string[] {
  const folder = join(home, "agents");
  return existsSync(folder) ? readdirSync(folder) : [];
}

test("Belay is killed while agents work, and after their end: each answer is taken over", async () => {
  const scene = sceneOf('return await parallel([() => ask("a", "@one"), () => ask("b", "@two")]);');
  const first = scene.begin(LINE);
  await begun(scene, 2);
  await kill(first);
  scene.open("one");
  await vi.waitFor(() => expect(scene.runs().some((run) => run.ended !== null)).toBe(true));
  // One has ended, the other one works on.
  const second = scene.belay(LINE);
  scene.open("two");
  const end = await second;
  expect(end).toMatchObject({ code: 0 });
  expect(envelopeOf(end)).toMatchObject({ success: true, result_json: ["a(-)", "b(-)"] });
  expect(scene.starts()).toEqual({ a: 1, b: 1 });
  // The line again shows the record.
  expect(envelopeOf(await scene.belay(LINE))).toMatchObject({ result_json: ["a(-)", "b(-)"] });
  expect(scene.starts()).toEqual({ a: 1, b: 1 });
  expect(leftIn(scene)).toEqual([]);
});

test("Belay is killed before each of its commits: the same line starts the agent once", async () => {
  const runUntil = async (operation: number) => {
    const scene = sceneOf('return await ask("a", 0);');
    const kill = { how: "operation", operation, side: "before", waitMs: 0 } as const;
    return { scene, life: await live(LINE, { cwd: scene.folder, home: scene.home, key: "none", kill }) };
  };
  const { operations } = (await runUntil(0)).life;
  const commits = operations.flatMap((name, at) => (name === "commit" ? [at + 1] : []));
  expect(commits.length).toBeGreaterThanOrEqual(4);
  for (const operation of commits) {
    const { scene, life } = await runUntil(operation);
    expect(life.interrupted).toBe(true);
    const where = `before ${operation} of ${operations}`;
    expect(envelopeOf(await scene.belay(LINE)), where).toMatchObject({ success: true, result_json: "a(-)" });
    expect(scene.starts(), where).toEqual({ a: 1 });
    expect(leftIn(scene), where).toEqual([]);
  }
});

test("Belay is killed between the recorded end of a run of --new and its report: --new reports it, and pays nothing", async () => {
  const scene = sceneOf('return await ask("a", 0);');
  const again = [...LINE, "--new"];
  const place = { cwd: scene.folder, home: scene.home, key: "none" };
  await scene.belay(LINE);
  const { operations } = await live(again, {
    ...place,
    kill: { how: "operation", operation: 0, side: "before", waitMs: 0 },
  });
  expect(scene.starts()).toEqual({ a: 2 });
  // Its last commit is the note that the end was reported, and the one before that has the end.
  const [end = 0] = operations.flatMap((name, at) => (name === "commit" ? [at + 1] : [])).slice(-2);
  const life = await live(again, { ...place, kill: { how: "operation", operation: end, side: "after", waitMs: 0 } });
  expect([life.interrupted, life.stdout, scene.starts()]).toEqual([true, "", { a: 3 }]);
  const told = await scene.belay(again);
  expect(envelopeOf(told)).toMatchObject({ success: true, result_json: "a(-)" });
  expect(told.stderr).toMatch(/session scene-\w+-3 has ended, which was not reported yet: this is its record/);
  expect(scene.starts()).toEqual({ a: 3 });
  expect((await scene.belay(again)).stderr).toMatch(/session scene-\w+-4$/m);
});

test("the keeper is killed, Belay dead or not: the agent works on, and its answer is used", async () => {
  const scene = sceneOf('return await parallel([() => ask("a", "@one"), () => ask("b", "@one")]);');
  const first = scene.begin(LINE);
  await begun(scene, 2);
  killKeeper(scene, "a");
  await kill(first);
  killKeeper(scene, "b");
  const second = scene.belay(LINE);
  // It waits, although no keeper tells it anything.
  await expect(Promise.race([second, setTimeout(1500, "waits")])).resolves.toBe("waits");
  scene.open("one");
  const end = await second;
  expect(envelopeOf(end)).toMatchObject({ success: true, result_json: ["a(-)", "b(-)"] });
  expect(scene.starts()).toEqual({ a: 1, b: 1 });
});

test("keeper and agent are killed: a whole output is used, else the run waits and says of whom nobody knows", async () => {
  const names = ["a.whole", "b.half", "c", "d.whole"];
  const scene = sceneOf(`return await parallel([
    () => ask("a.whole", "@never"), () => ask("b.half", "@never"), () => ask("c", "@never"),
    () => ask("d.whole", "@never", { agentType: "plain" }),
    () => ask("e", "@later"),
  ]);`);
  const first = scene.begin(LINE);
  await begun(scene, 5);
  await kill(first);
  killBoth(scene, ...names);
  scene.open("later");
  await ended(scene, 1);
  const waits = await scene.belay(LINE);
  expect(waits.code, waits.stdout + waits.stderr).toBe(3);
  expect(envelopeOf(waits)).toMatchObject({ success: false, error_code: "answer_lost", resumable: true });
  expect(waits.stdout + waits.stderr).toContain("--resend-doubtful");
  expect(scene.starts()).toEqual({ "a.whole": 1, "b.half": 1, c: 1, "d.whole": 1, e: 1 });
  // The same line goes on waiting: nothing is started for being asked again.
  expect((await scene.belay(LINE)).code).toBe(3);
  scene.open("never");
  const end = await scene.belay([...LINE, "--resend-doubtful"]);
  expect(envelopeOf(end)).toMatchObject({
    success: true,
    result_json: ["a.whole(-)", "b.half(-)", "c(-)", expect.stringContaining("d.whole(-)"), "e(-)"],
  });
  expect(scene.starts()).toEqual({ "a.whole": 1, "b.half": 2, c: 2, "d.whole": 2, e: 1 });
});

test("an agent that is safe to start again is started three times at most", async () => {
  const scene = sceneOf('return await ask("a", "@never", { agentType: "safe" });');
  const life = scene.begin(LINE);
  for (let tries = 1; tries <= 3; tries++) {
    await begun(scene, tries);
    killBoth(scene, "a");
  }
  const end = await life.end;
  expect(end.code).toBe(3);
  expect(envelopeOf(end)).toMatchObject({ error_code: "answer_lost", resumable: true });
  expect(scene.starts()).toEqual({ a: 3 });
});

test("SIGTERM ends agents and says so; resume starts them again", async () => {
  const scene = sceneOf('return await parallel([() => ask("a", "@one"), () => ask("b", "@none")]);');
  const life = scene.begin([...LINE, "--session", "run"]);
  await begun(scene, 2);
  scene.open("one");
  await vi.waitFor(() => expect(scene.runs().filter((run) => run.ended !== null)).toHaveLength(1));
  life.child.kill("SIGTERM");
  const end = await life.end;
  expect(end.code).toBe(143);
  // The one that has printed its answer may be on its way to the record.
  expect(end.stderr).toMatch(/ending [12] agents?; starting (it|them) again may cost up to/);
  await ended(scene, 1);
  scene.open("none");
  const resumed = await scene.belay(["resume", "run", "--json"]);
  expect(envelopeOf(resumed)).toMatchObject({ result_json: ["a(-)", "b(-)"] });
  expect(scene.starts()).toEqual({ a: 1, b: 2 });
});

test("a terminal closes: agents work on, and their answers are taken over", async () => {
  const scene = sceneOf('return await ask("a", "@one");');
  const life = scene.begin(LINE);
  await begun(scene, 1);
  life.child.kill("SIGHUP");
  await life.end;
  scene.open("one");
  await ended(scene, 1);
  expect(envelopeOf(await scene.belay(LINE))).toMatchObject({ result_json: "a(-)" });
  expect(scene.starts()).toEqual({ a: 1 });
});

test("the same line twice at once starts each agent once", async () => {
  const scene = sceneOf('return await parallel([() => ask("a", "@one"), () => ask("b", "@one")]);');
  const lives = [scene.begin(LINE), scene.begin(LINE)];
  await begun(scene, 2);
  // The one that came second is refused at once, or is over.
  await Promise.race(lives.map(({ end }) => end));
  scene.open("one");
  const ends = await Promise.all(lives.map(({ end }) => end));
  const [done, refused] = ends.toSorted((a, b) => (a.code ?? 0) - (b.code ?? 0));
  expect([done?.code, refused?.code]).toEqual([0, 1]);
  expect(refused && envelopeOf(refused)).toMatchObject({ error_code: "session_busy" });
  expect(scene.starts()).toEqual({ a: 1, b: 1 });
});

test.skipIf(NO_POSTGRES !== null)(
  "another host goes on with a run, and says of whom only the first one knows",
  async () => {
    const held = Promise.withResolvers<void>();
    await using server = await startModelServer(async ({ index }) => {
      if (index === 0) await held.promise;
      return { text: "of a model" };
    });
    const script = 'return [await agent("own"), await ask("a", "@one", { agentType: "fake" })];';
    const store = { BELAY_STORE: await freshStoreUrl(), ...SHORT_LEASE };
    const env = { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m", ...store };
    const scene = sceneOf(script, { env });
    const line = ["workflow", "work.js", "--json"];
    // Outboxes of another host are in a folder that is not here.
    const other = folderWith({ "config.json": readFileSync(join(scene.home, "config.json"), "utf8") });
    const asked = () => ({ agents: scene.starts(), requests: server.requests.length });

    await kill(
      await lifeThat(
        () => scene.begin(line),
        () => server.requests.length === 1,
      ),
    );
    held.resolve();
    await setTimeout(LEASE_MS);
    const elsewhere = () => startLife(line, { folder: scene.folder, home: other, env });
    await kill(await lifeThat(elsewhere, () => scene.runs().length === 1));
    await setTimeout(LEASE_MS);
    const waits = await unlessBusy(() => scene.belay(line));
    expect(waits.code, waits.stdout + waits.stderr).toBe(3);
    expect(envelopeOf(waits)).toMatchObject({ error_code: "answer_lost", resumable: true });
    expect(waits.stdout).toContain("its outbox is not here");
    expect(asked()).toEqual({ agents: { a: 1 }, requests: 2 });
    scene.open("one");
    const there = await unlessBusy(() => commandHere(line, { cwd: scene.folder, home: other, env }));
    expect(envelopeOf(there)).toMatchObject({ result_json: ["of a model", "a(-)"] });
    expect(asked()).toEqual({ agents: { a: 1 }, requests: 2 });
  },
);

test.skipIf(NO_POSTGRES !== null)(
  "Belay that has slept for longer than its lease leaves its agents to the one that took over",
  async () => {
    const env = { BELAY_STORE: await freshStoreUrl(), ...SHORT_LEASE };
    const scene = sceneOf('return await ask("a", "@one");', { env });
    const first = scene.begin(LINE);
    await begun(scene, 1);
    first.child.kill("SIGSTOP");
    await setTimeout(1.5 * LEASE_MS);
    const second = scene.begin(LINE);
    await vi.waitFor(() => expect(second.said()).toContain("goes on"));
    first.child.kill("SIGCONT");
    expect(envelopeOf(await first.end)).toMatchObject({ success: false, error_code: "lease_lost" });
    // The keeper of the agent looks for a request to end it five times a second.
    await setTimeout(500);
    scene.open("one");
    expect(envelopeOf(await second.end)).toMatchObject({ result_json: "a(-)" });
    expect(scene.starts()).toEqual({ a: 1 });
  },
);
