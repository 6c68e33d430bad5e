import { expect, test } from "vitest";
import { WORKFLOW_TOKENS } from "../../../../src/platform/agent-commands.ts";
import { withoutUndefined } from "../../../../src/platform/json.ts";
import { loggedIn, scriptedAgent, startsIn } from "../../../support/agents/agents.ts";
import { call, openPlace, openRun, told } from "./support.ts";

const WORKFLOW = { workflow: true };
const PRICED = { max_usd: 0.5, max_tokens: 1000 };

test("what dollars do not allow is not begun, in parallel too, and the run waits", async () => {
  const place = openPlace();
  const calls = Array.from({ length: 6 }, (_, n) => call({ ms: 50, says: `${n}`, tokens: [10, 10], usd: 0.5 }));
  const source = `await Promise.all([${calls}])`;
  const agents = { fake: scriptedAgent("json", PRICED) };
  {
    await using session = await openRun(place, { agents, budget: { max_cost_usd: 1.5 } });
    const envelope = await session.exec(source, WORKFLOW);
    expect(envelope).toMatchObject({ success: false, resumable: true, error_code: "budget_exceeded" });
    expect(told(envelope)).toContain("$0.5000, $0.0000 are left");
    expect(loggedIn(place.log).filter(({ what }) => what === "BEGUN")).toHaveLength(3);
  }
  await using session = await openRun(place, { agents, budget: { max_cost_usd: 3 } });
  expect((await session.resume())?.envelope).toMatchObject({ result_json: ["0", "1", "2", "3", "4", "5"] });
  expect([...startsIn(place.log).values()]).toEqual([1, 1, 1, 1, 1, 1]);
});

test("once its time is spent a run begins nothing more, keeps what is at work, and waits for a larger limit", async () => {
  const place = openPlace();
  const source = `[await ${call({ ms: 4000, says: "x" })}, await ${call({ says: "y" })}]`;
  for (const how of ["begins", "resumes"]) {
    await using session = await openRun(place, { budget: { max_time_ms: 3000 } });
    const envelope = how === "begins" ? await session.exec(source, WORKFLOW) : (await session.resume())?.envelope;
    expect(envelope).toMatchObject({ success: false, resumable: true, error_code: "budget_exceeded" });
    expect(envelope).toHaveProperty("error_message", "the time of the budget has run out");
    expect([...startsIn(place.log).values()]).toEqual([1]);
  }
  await using session = await openRun(place, { budget: { max_time_ms: 600_000 } });
  expect((await session.resume())?.envelope).toMatchObject({ result_json: ["x", "y"] });
  expect([...startsIn(place.log).values()]).toEqual([1, 1]);
});

test("agents hold their tokens while they run", async () => {
  const place = openPlace();
  const calls = Array.from({ length: 4 }, () => call({ ms: 100, says: "x", tokens: [10, 10], usd: 0 }));
  await using session = await openRun(place, {
    agents: { fake: scriptedAgent("json", PRICED) },
    budget: { max_tokens: 2050 },
  });
  expect(await session.exec(`await Promise.all([${calls}])`, WORKFLOW)).toMatchObject({ success: true });
  let running = 0;
  const most = loggedIn(place.log).map(({ what }) => (running += what === "BEGUN" ? 1 : -1));
  expect(Math.max(...most)).toBeLessThanOrEqual(2);
});

test("sums in floating point do not keep the last agent from its money", async () => {
  const place = openPlace();
  const calls = Array.from({ length: 3 }, () => call({ says: "x", tokens: [1, 1], usd: 0.1 }));
  await using session = await openRun(place, {
    agents: { fake: scriptedAgent("json", { max_usd: 0.1 }) },
    budget: { max_cost_usd: 0.3 },
  });
  const source = `for (const ask of [${calls.map((text) => `() => ${text}`)}]) await ask();`;
  expect(await session.exec(source, WORKFLOW)).toMatchObject({ success: true });
});

test("an agent without max_usd is refused where dollars are limited", async () => {
  const place = openPlace();
  await using session = await openRun(place, { budget: { max_cost_usd: 1 } });
  const source = `await ${call({ says: "x" })}.catch((error) => [error.code, error.message])`;
  expect(told(await session.exec(source, WORKFLOW))).toEqual([
    "policy_violation",
    "the price of the agent fake is not known, so max_cost_usd cannot be kept",
  ]);
  expect(loggedIn(place.log)).toEqual([]);
});

test("an agent that does not say what it took is charged what it held", async () => {
  const place = openPlace();
  await using session = await openRun(place, {
    agents: { fake: scriptedAgent("text", PRICED) },
    budget: { max_cost_usd: 10 },
  });
  await session.exec(`await ${call({ says: "x" })}`, WORKFLOW);
  expect(session.budget().remaining_cost_usd).toBeCloseTo(9.5);
});

test("tokens that an agent cannot tell count only against a limit that the user has set", async () => {
  const place = openPlace();
  const agents = { fake: scriptedAgent("text") };
  for (const [max_tokens, tokensAreUsual, charged] of [
    [WORKFLOW_TOKENS, true, 0],
    // The user has typed the usual number.
    [WORKFLOW_TOKENS, undefined, 100_000],
    [1_000_000, undefined, 100_000],
  ] as const) {
    const options = { agents, session: `of-${max_tokens}-${charged}`, budget: { max_tokens } };
    await using session = await openRun(place, options, withoutUndefined({ tokensAreUsual }));
    await session.exec(`await ${call({ says: "x" })}`, WORKFLOW);
    expect(session.budget().remaining_tokens).toBe(max_tokens - charged);
  }
});

test("a limit of the account suspends the run once others are recorded, with the time at which it ends", async () => {
  const place = openPlace();
  const agents = { fake: scriptedAgent("json", { limit: "usage limit", at_once: 3 }) };
  const until = Math.ceil((Date.now() + 3_600_000) / 1000);
  const limited = { err: `usage limit reached|${until}`, code: 1, raw: "" };
  const calls = [call({ ms: 300, says: "slow" }), call(limited), call({ says: "quick" })];
  const envelope = await (async () => {
    await using session = await openRun(place, { agents });
    return session.exec(`await Promise.all([${calls}])`, WORKFLOW);
  })();
  expect(envelope).toMatchObject({ success: false, resumable: true, error_code: "rate_limited" });
  expect(envelope).toHaveProperty("retry_at", until * 1000);
  expect(loggedIn(place.log).filter(({ what }) => what === "ENDED")).toHaveLength(3);
  await using session = await openRun(place, { agents });
  await session.resume();
  // Those that had answered are not started again.
  expect([...startsIn(place.log).values()].toSorted()).toEqual([1, 1, 2]);
});

test("a program that is missing suspends the run, and is started once its entry is corrected", async () => {
  const place = openPlace();
  {
    await using session = await openRun(place, { agents: { fake: { command: ["/nowhere/at/all"] } } });
    const envelope = await session.exec(`await ${call({ says: "x" })}`, WORKFLOW);
    expect(envelope).toMatchObject({ resumable: true, error_code: "no_model_configured" });
  }
  await using session = await openRun(place);
  expect((await session.resume())?.envelope).toMatchObject({ result_json: "x" });
});

test("without waitsForUser such a call fails in its cell", async () => {
  const place = openPlace();
  await using session = await openRun(place, {
    agents: { fake: { command: ["/nowhere/at/all"] } },
    waitsForUser: false,
  });
  const source = `await ${call({ says: "x" })}.catch((error) => error.code)`;
  expect(told(await session.exec(source, WORKFLOW))).toBe("no_model_configured");
});

test("ceilings of calls throw in the script", async () => {
  const place = openPlace();
  await using session = await openRun(place, { budget: { max_sub_calls: 1 } });
  const one = call({ says: "x" });
  const source = `await ${one}; await ${one}.catch((error) => error.code)`;
  expect(told(await session.exec(source, WORKFLOW))).toBe("budget_exceeded");
});
