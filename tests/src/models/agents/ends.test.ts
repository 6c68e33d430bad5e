import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dropRuns, giveUpAgent } from "../../../../src/models/agents/index.ts";
import { loggedIn } from "../../../support/agents/agents.ts";
import { ask, isGone, killKeeper, openPlace, otherBelay, pidsOf, started, startsOf, told, until } from "./support.ts";

test("a keeper that cannot be started is told, and a later try starts the agent", async () => {
  const place = openPlace();
  const own = process.execPath;
  process.execPath = "/nowhere/node";
  const failed = await ask(place, "hi").finally(() => {
    process.execPath = own;
  });
  expect(failed).toMatchObject({
    ok: false,
    ends: "job",
    usage: { output: 0 },
    error: { code: "no_model_configured", message: "the agent fake could not be started: spawn /nowhere/node ENOENT" },
  });
  expect(told(await ask(place, { says: "started" }))).toBe("started");
  expect(startsOf(place)).toEqual({ "1.1": 1 });
});

test("an agent that closes its outputs and works on is waited for", async () => {
  const place = openPlace();
  const command = { command: ["sh", "-c", "echo said; exec >&- 2>&-; sleep 1; touch ended"] };
  expect(told(await ask(place, "hi", { command }))).toBe("said");
  expect(existsSync(join(place.path, "ended"))).toBe(true);
});

test("SIGHUP of Belay leaves the agent at work, SIGTERM ends it and a later Belay starts it again", async () => {
  const place = openPlace();
  const closed = otherBelay(place, { ms: 300, says: "left" });
  await started(place);
  closed.kill("SIGHUP");
  expect(told((await closed.answer) ?? expect.fail())).toBe("cancelled");
  expect(told(await ask(place, { says: "another" }))).toBe("left");
  expect(startsOf(place)).toEqual({ "1.1": 1 });

  const stopped = otherBelay(place, { hangs: true }, "1.2");
  await started(place, 2);
  const [pid = 0] = pidsOf(place, "1.2");
  stopped.kill("SIGTERM");
  expect(await stopped.answer).toMatchObject({ ok: false, usage: { output: 100_000 }, error: { code: "cancelled" } });
  await until(() => isGone(pid));
  const again = await ask(place, { says: "again", tokens: [1, 2], usd: 0.5 }, { id: "1.2" });
  // The start that was ended is charged as it was held.
  expect(again).toMatchObject({ ok: true, usage: { input: 1, output: 100_002, cost_usd: 0.5 } });
  expect(startsOf(place)["1.2"]).toBe(2);
});

test("an agent that ignores SIGTERM is killed, with what it has started", async () => {
  const place = openPlace();
  const end = new AbortController();
  const answer = ask(place, { ignoresTerm: true, leaves: 60_000, hangs: true }, { signal: end.signal });
  await until(() => loggedIn(place.log).length === 2);
  const pids = loggedIn(place.log).map(({ pid }) => pid);
  end.abort();
  expect(told(await answer)).toBe("cancelled");
  await until(() => pids.every(isGone));
  expect(loggedIn(place.log).map(({ what }) => what)).toContain("TERM");
}, 20_000);

test("an agent whose keeper was killed is ended when its time has ended", async () => {
  const place = openPlace();
  const answer = ask(place, { hangs: true }, { timeoutMs: 31_500 });
  await started(place);
  const [pid = 0] = pidsOf(place);
  await killKeeper(place);
  expect(told(await answer)).toBe("timeout");
  await until(() => isGone(pid));
});

test("an agent whose keeper was killed is ended when Belay is asked to end", async () => {
  const place = openPlace();
  const end = new AbortController();
  const answer = ask(place, { hangs: true }, { signal: end.signal });
  await started(place);
  const [pid = 0] = pidsOf(place);
  await until(() => existsSync(join(place.outbox(), "process")));
  await killKeeper(place);
  end.abort();
  expect(told(await answer)).toBe("cancelled");
  // A keeper that is only being started sees it, or the next Belay does. Threads of a keeper that was killed may hold its lock for a moment.
  await until(() => {
    giveUpAgent(place.outbox(), `${place.session}/1.1`);
    return isGone(pid);
  });
});

test("a session that is dropped ends its agents", async () => {
  const place = openPlace();
  const belay = otherBelay(place, { hangs: true });
  await started(place);
  const [pid = 0] = pidsOf(place);
  belay.kill("SIGKILL");
  await dropRuns(place.outboxes, place.session);
  expect(existsSync(place.outboxes)).toBe(false);
  await until(() => isGone(pid));
});

test("an agent whose call is given up is ended", async () => {
  const place = openPlace();
  const belay = otherBelay(place, { hangs: true });
  await started(place);
  const [pid = 0] = pidsOf(place);
  belay.kill("SIGKILL");
  await belay.answer;
  giveUpAgent(place.outbox(), `${place.session}/1.1`);
  await until(() => isGone(pid));
});
