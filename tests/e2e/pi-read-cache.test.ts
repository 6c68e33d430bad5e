import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { TEST_EXTENSION } from "../support/command.ts";
import { resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, NEWEST_PI, type Pi, type PiLine, startPi } from "../support/pi/process.ts";
import { type PiScene, piScene } from "../support/pi/scene.ts";

const V1 = Array.from({ length: 61 }, (_, n) => `const value${n + 1} = "${"x".repeat(20)}";`).join("\n");
const V2 = V1.replace("value30 ", "other ");
const V3 = V2.replace("value9 ", "third ");
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** What is Pi's own answer, with Belay as without. */
const UNTOUCHED = ["dot.png", "latin1.bin", "folder", "none.txt", "long.txt", "a.ts:3-2", ".env"];
const UNCHANGED = /^\[readcache: unchanged, 61 lines\]\n/;
const DIFF = /^\[readcache: 1 lines changed of 61\]\n--- a\/a\.ts\n\+\+\+ b\/a\.ts\n@@ /;

async function scene(line: PiLine): Promise<PiScene> {
  const files = { "a.ts": V1, ".env": "KEY=1", "long.txt": "y".repeat(60_000), "folder/x": "x" };
  const made = await piScene(line, { files, settings: { read_cache: true } });
  const { project } = made.home;
  writeFileSync(join(project, "dot.png"), Buffer.from(PNG, "base64"));
  writeFileSync(join(project, "latin1.bin"), Buffer.from([0x61, 0xe9, 0x62]));
  return made;
}

/** Has the model read these at once; answers what it is told of each. */
function reader({ model }: PiScene) {
  let prompts = 0;
  return async (pi: Pi, ...reads: readonly (string | object)[]): Promise<readonly (string | undefined)[]> => {
    const calls = reads.map((read) => ({ tool: "read", args: typeof read === "string" ? { path: read } : read }));
    const prompt = model.plan(`read no. ${++prompts}`, calls);
    await pi.prompt(prompt);
    return reads.map((_, n) => resultTo(model.turns().at(-1), prompt, n));
  };
}

const leafOf = (file: string) => entriesIn(file).at(-1)?.id;

played(NEWEST_PI, "what the model has is not sent again, on a branch, in a fork, in a new process", async (line) => {
  await using given = await scene(line);
  const { home, start, model } = given;
  const write = (text: string) => writeFileSync(join(home.project, "a.ts"), text);
  const read = reader(given);
  let pi = start();
  const file = await pi.sessionFile();
  const told = (text: string) =>
    pi.until(({ method, message }) => method === "notify" && String(message).includes(text));

  // Pi alone is asked for the same, and offers its model the same tool.
  await using alone = startPi(line, { home, extensions: [] });
  const own = await read(alone, ...UNTOUCHED.filter((path) => path !== "a.ts:3-2"));
  const toolOf = () =>
    model
      .turns()
      .at(-1)
      ?.body.tools?.find((tool) => tool.function.name === "read");
  const tool = toolOf();
  await alone.kill();
  const [range, ...others] = await read(pi, "a.ts:3-2", ...UNTOUCHED.filter((path) => path !== "a.ts:3-2"));
  expect(others).toEqual(own);
  expect(range).toContain("Invalid range 3-2 in a.ts:3-2: lines count from 1, and the end is not before the start");
  expect(toolOf()).toEqual(tool);
  const root = leafOf(file);

  expect(await read(pi, "a.ts")).toEqual([V1]);
  expect(await read(pi, "a.ts", { path: "a.ts", offset: 2, limit: 3 })).toEqual([
    expect.stringMatching(UNCHANGED),
    expect.stringMatching(
      /^\[readcache: unchanged in lines 2-4 of 61\]\n.*\n\n\[57 more lines in file\. Use offset=5 /,
    ),
  ]);
  expect(await read(pi, "a.ts:2-4")).toEqual([expect.stringContaining("unchanged in lines 2-4 of 61]")]);
  const before = leafOf(file);
  write(V2);
  expect(await read(pi, { path: "a.ts", offset: 2, limit: 3 }, { path: "a.ts", offset: 29, limit: 3 })).toEqual([
    expect.stringContaining("unchanged in lines 2-4; changes exist outside this range]"),
    expect.stringMatching(/^const value29 /),
  ]);
  await pi.prompt(`/goto ${before}`);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(DIFF)]);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(UNCHANGED)]);
  // Back before the change the model has the earlier text, and at the root none.
  await pi.prompt(`/goto ${before}`);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(DIFF)]);
  const after = leafOf(file);
  await pi.prompt(`/goto ${root}`);
  expect(await read(pi, "a.ts")).toEqual([V2]);

  // Texts that went outside are no longer sent, and so they are shown.
  await pi.prompt("/rlm externalize");
  expect(await read(pi, "a.ts")).toEqual([V2]);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(UNCHANGED)]);

  await pi.prompt("/readcache-refresh a.ts 2-4");
  await told("The next read of a.ts:2-4 shows it whole.");
  expect(await read(pi, { path: "a.ts", offset: 2, limit: 3 })).toEqual([expect.stringMatching(/^const value2 /)]);
  await pi.prompt(model.plan("again", { tool: "readcache_refresh", args: { path: "a.ts" } }));
  expect(resultTo(model.turns().at(-1), "again")).toBe("The next read of a.ts shows it whole.");
  await pi.kill();
  // The wish outlives the process, and so does what is read afterwards.
  pi = start(file);
  expect(await read(pi, "a.ts")).toEqual([V2]);
  // The store is opened behind.
  const isOpen = told("texts   in Belay's store").then(() => true);
  do await pi.prompt("/readcache-status");
  while (!(await Promise.race([isOpen, setTimeout(100, false)])));
  await told("known   1 scope of 1 file that the model has\n  a.ts: whole\n");
  write(V3);
  await pi.prompt(`/goto ${after}`);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(DIFF)]);

  // Pi's compaction takes the texts away; a fork from before it has them.
  const fork = leafOf(file);
  await pi.ask("compact");
  expect(await read(pi, "a.ts", { path: "a.ts", offset: 2, limit: 3 })).toEqual([V3, expect.anything()]);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(UNCHANGED)]);
  await pi.prompt(`/goto ${fork}`);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(UNCHANGED)]);
  const { messages }: { readonly messages?: readonly { entryId: string; text: string }[] } =
    await pi.ask("get_fork_messages");
  await pi.ask("fork", { entryId: messages?.at(-1)?.entryId });
  expect(await pi.sessionFile()).not.toBe(file);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(UNCHANGED)]);
  await pi.ask("new_session");
  expect(await read(pi, "a.ts")).toEqual([V3]);
  expect(pi.events.filter(({ type }) => type === "extension_error")).toEqual([]);
  await pi.kill();

  // Without the store a change is shown whole.
  rmSync(home.belay, { recursive: true, force: true });
  write(V1);
  pi = start(file);
  expect(await read(pi, "a.ts")).toEqual([V1]);
  expect(await read(pi, "a.ts")).toEqual([expect.stringMatching(UNCHANGED)]);
  await pi.kill();
});

const OTHER = join(ROOT, "tests/support/pi/other-extension.ts");

test.concurrent.for(
  NEWEST_PI.flatMap((line) => [
    { line, version: line.version, order: "before", extensions: [OTHER, TEST_EXTENSION] },
    { line, version: line.version, order: "after", extensions: [TEST_EXTENSION, OTHER] },
  ]),
)(
  "Pi $version: with another reader, redactor and pruner $order it, Belay says nothing that the model does not have",
  { timeout: 240_000 },
  async ({ line, extensions }) => {
    const lines = (name: string) =>
      Array.from({ length: 40 }, (_, n) => `${name} line ${n + 1} secret-${n}`).join("\n");
    const names = ["numbered.txt", "redacted.txt", "pruned.txt", "plain.txt"];
    const files = Object.fromEntries(names.map((name) => [name, lines(name)]));
    await using given = await piScene(line, { files, settings: { read_cache: true } });
    const read = reader(given);
    await using pi = startPi(line, { home: given.home, extensions });
    const first = await read(pi, ...names);
    const second = await read(pi, ...names);
    expect(second.slice(0, 2)).toEqual(first.slice(0, 2));
    expect(first[0]).toMatch(/^1:numbered\.txt line 1 /);
    expect(first[1]).toMatch(/^redacted\.txt line 1 \[redacted\]\n/);
    expect(second[3]).toMatch(/^\[readcache: unchanged, 40 lines\]\n/);
    // The pruner takes the text out of the request; on the branch the second answer is whole.
    const stored = entriesIn(await pi.sessionFile()).filter(({ message }) => message?.role === "toolResult");
    expect(stored.map(({ message }) => JSON.stringify(message?.content).includes("pruned.txt line 40"))).toEqual(
      [...names, ...names].map((name) => name === "pruned.txt"),
    );
    expect(pi.events.filter(({ type }) => type === "extension_error")).toEqual([]);
  },
);
