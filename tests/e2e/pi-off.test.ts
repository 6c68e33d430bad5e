import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { longScene, promptOf } from "../../campaigns/pi/long.ts";
import { TEST_EXTENSION } from "../support/command.ts";
import { FIRST_RUN_FILE } from "../support/pi/home.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, NEWEST_PI, type Pi, startPi } from "../support/pi/process.ts";

const TURNS = 5;
/** What Pi keeps of a conversation that it compacts. */
const KEPT_TOKENS = 2000;

/** Words that commands have said, the newest last. */
const told = ({ events }: Pi) =>
  events.flatMap(({ method, message }) => (method === "notify" ? [String(message)] : []));

played(NEWEST_PI, "texts go outside and come back by /rlm off; --compact lets the package be removed", async (line) => {
  await using scene = await longScene(20, 64_000, 4, { keepRecentTokens: KEPT_TOKENS });
  const { home, newest, report } = scene;
  rmSync(join(home.belay, FIRST_RUN_FILE));
  const start = (session?: string, extensions = [TEST_EXTENSION]) =>
    startPi(line, { home, extensions, ...(session === undefined ? {} : { session }) });
  let turn = 0;
  const next = (pi: Pi) => pi.prompt(promptOf(turn++));
  await using pi = start();
  while (turn < TURNS) await next(pi);
  expect(told(pi)).toEqual([expect.stringMatching(/^RLM is on: .* \/rlm off ends it/)]);
  await pi.prompt("/rlm externalize");
  expect(pi.stderr()).toMatch(/^rlm:externalize \{"epoch":1,"objects":\d+,"tokens":\d+\}$/m);
  expect(told(pi).at(-1)).toMatch(
    /objects of the conversation are outside; the next request is ~[\d.]+k tokens smaller/,
  );
  await next(pi);
  expect(newest()).toContain("RLM externalized");

  await pi.prompt("/rlm off");
  expect(told(pi).at(-1)).toContain("Old objects are sent whole again");
  await next(pi);
  expect(newest()).not.toContain("RLM externalized");
  expect(toolsIn(newest())).toEqual(["rlm_peek", "rlm_search"]);
  const session = await pi.sessionFile();
  await pi.kill();

  // The package is gone without a word: Pi sends texts.
  await using bare = start(session, []);
  await next(bare);
  expect(newest()).not.toContain("RLM externalized");
  await bare.kill();

  await using again = start(session);
  await next(again);
  expect(toolsIn(newest())).toEqual(["rlm_peek", "rlm_search"]);
  await again.prompt("/rlm on");
  await next(again);
  expect(newest()).toContain("RLM externalized");
  expect(told(again)).toEqual([expect.stringContaining("RLM is on: the model is offered its tools")]);
  const asked = report().requests;
  await again.prompt("/rlm off --compact");
  expect(told(again).at(-1)).toContain("the package can be removed");
  await next(again);
  expect(newest()).toContain("were left out to save room");
  expect(newest()).not.toContain("rlm_");
  expect(report().requests).toBe(asked + 2);
  const compactions = entriesIn(session).filter(({ type }) => type === "compaction");
  expect(compactions).toMatchObject([{ details: { rlm: 1 } }]);
  await again.kill();

  await using removed = start(session, []);
  await next(removed);
  expect(newest()).toContain("were left out to save room");
  expect(report()).toMatchObject({ refused: 0 });
  for (const process of [pi, again]) {
    expect(process.events.filter(({ type }) => type === "extension_error")).toEqual([]);
  }
});

/** Our tools in a request. */
function toolsIn(sent: string): readonly string[] {
  const [tools = "[]"] = sent.split("\n");
  const listed: readonly { readonly function: { readonly name: string } }[] = JSON.parse(tools);
  return listed.map((tool) => tool.function.name).filter((name) => name.startsWith("rlm_"));
}
