import { expect } from "vitest";
import type { Hardship } from "../../campaigns/pi/hardships.ts";
import { longScene, longTalk, promptOf } from "../../campaigns/pi/long.ts";
import { TEST_EXTENSION } from "../support/command.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, NEWEST_PI, OLDEST_PI, startPi } from "../support/pi/process.ts";

const WINDOW = 32_000;
const TURNS = 16;

/** `npm run campaign -- pi-long` has all of them on each line. */
const HARDSHIPS: { readonly [version: string]: readonly Hardship[] } = {
  "0.87.1": ["the talk", "a compaction", "a fork", "a kill at an epoch"],
};

played(
  OLDEST_PI,
  "in a talk of many turns none is refused, nothing is compacted, and every fact is found",
  async (line) => {
    const hardships = HARDSHIPS[line.version] ?? ["the talk"];
    // By hand, Pi compacts what is older than so many tokens, and so short a talk is not.
    const compaction = { keepRecentTokens: 1000 };
    const report = await longTalk({
      line,
      strategy: "belay",
      turns: TURNS,
      window: WINDOW,
      seed: 1,
      hardships,
      compaction,
    });
    expect(report).toMatchObject({ requests: 2 * TURNS, refused: 0, compactions: 0 });
    expect(report.found).toEqual(Object.fromEntries(hardships.map((name) => [name, { search: TURNS, cell: TURNS }])));
    expect(report.entries).toBeGreaterThan(0);
    expect(report.breaks).toBe(report.entries);
    expect(report.breaks).toBeLessThanOrEqual(10);
    expect(report.uncachedKB).toBeLessThan(350);
    expect(report.largest).toBeLessThan(WINDOW / 2);
  },
);

played(
  NEWEST_PI,
  "a prompt larger than the window is refused, no later one is, and nothing is summed up",
  async (line) => {
    await using scene = await longScene(20, WINDOW, 3);
    const { home, report, newest } = scene;
    await using pi = startPi(line, { home, extensions: [TEST_EXTENSION] });
    for (let turn = 0; turn < 8; turn++) await pi.prompt(promptOf(turn));
    const before = pi.events.length;
    await pi.prompt("too much ".repeat(20_000));
    // Pi compacts behind the end of the turn, and tries it once more 100 ms later.
    const compacted = await pi.until(({ type }) => type === "compaction_end", before);
    if (compacted.willRetry === true) await pi.until(({ type }) => type === "agent_end", pi.events.indexOf(compacted));
    const { refused } = report();
    expect(refused).toBeLessThanOrEqual(2);
    for (let turn = 8; turn < 16; turn++) await pi.prompt(promptOf(turn));
    expect(report().refused).toBe(refused);
    expect(newest()).not.toContain("too much ".repeat(30));
    const compactions = entriesIn(await pi.sessionFile()).filter(({ type }) => type === "compaction");
    expect(compactions).toMatchObject([{ summary: expect.stringContaining("[RLM folded: "), details: { rlm: 1 } }]);
    expect(newest()).toContain("[RLM folded: ");
    const errors = pi.events.filter(({ type }) => type === "extension_error");
    expect(errors).toEqual([]);
  },
);

/** Parts of the window that the prompts take which a model would have to summarize, and who compacts then. */
const BY_HAND = [
  [0.65, "pi"],
  [0.95, "belay"],
  [1.05, "belay"],
] as const;

played(NEWEST_PI, "a compaction by hand is made at any size, also without room for its summary", async (line) => {
  await using scene = await longScene(1, WINDOW, 5, { reserveTokens: 8000, keepRecentTokens: 100 });
  await using pi = startPi(line, { home: scene.home, extensions: [TEST_EXTENSION] });
  for (const [share, by] of BY_HAND) {
    await pi.ask("new_session");
    const words = "It is long. ".repeat((share * WINDOW * 4) / PROMPTS / 12);
    for (let n = 0; n < PROMPTS; n++) await pi.prompt(`Remember this, ${n}. ${words}`);
    await pi.prompt("And now?");
    await pi.ask("compact");
    const entries = entriesIn(await pi.sessionFile());
    const last = entries.findLast(({ type }) => type === "compaction");
    // The reserve that Pi tells now was read from its settings before.
    expect(entries.filter(({ customType }) => customType === "rlm_reserve")).toEqual([]);
    expect([share, last]).toMatchObject([share, { details: by === "pi" ? { readFiles: [] } : { rlm: 1 } }]);
  }
  expect(scene.report().refused).toBe(0);
});

/** Each is small enough to go outside as one stub. */
const PROMPTS = 8;
