import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith, grow } from "../../support/tree.ts";
import { json, said } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const ASK_ALL = `const { results } = await llm_query_batch(
  list_docs().map(({ id }) => "Which page is this?\\n" + peek_doc(id)), { tools: [] });
result = await llm_query("Sum up:\\n" + results.join("\\n"), { tools: [] });`;

const page = (number: number, words = "as it was") =>
  `Page ${number} says at some length what machine ${number} does on each day of the week: ${words}.\n`.repeat(3);

/** A folder of 10 pages, a script that asks about each of them, and a model that answers by the text. */
async function corpus() {
  const home = folderWith({ "ask.js": ASK_ALL, "docs/short.md": "a short page" });
  for (let at = 0; at < 9; at++) grow(home, { [`docs/p${at}.md`]: page(at) });
  const server = await startModelServer(({ prompt }) => {
    if (prompt.startsWith("Sum up")) return { text: prompt.slice(8), delayMs: 20 };
    return {
      text: `${/Page \d+/.exec(prompt)?.[0] ?? "short"}${prompt.includes("new") ? " is new" : ""}`,
      delayMs: 20,
    };
  });
  onTestFinished(() => server.close());
  const store = ["--store", join(home, "store")];
  const flags = ["--model", "local/scripted", "--base-url", server.url, "--price", "1000/1000", "-q", ...store];
  const run = (...args: string[]) => belayHere(args, { cwd: home });
  return {
    ...{ home, server, run },
    exec: (...args: string[]) => run("exec", ...args, ...flags),
    show: (...args: string[]) => run("show", ...args, ...store),
    store,
  };
}

test("documents changed: the rest comes from the cache, and what was asked again has its reason", async () => {
  const { home, server, exec, show } = await corpus();
  const ask = (session: string) => exec("ask.js", "-c", "docs", "--cache", "--session", session);
  expect(await ask("one")).toMatchObject({ code: 0 });
  expect(server.requests).toHaveLength(11);
  grow(home, { "docs/p3.md": page(3, "as it is new"), "docs/p7.md": page(7, "new"), "docs/short.md": "a new page" });
  expect(await ask("two")).toMatchObject({ code: 0 });
  expect(server.requests).toHaveLength(11 + 4);
  const told = await show("two", "--against", "one");
  expect(told).toMatchObject({ code: 0, stderr: "" });
  const lines = told.stdout.split("\n");
  const money = String.raw`\$0\.\d+`;
  expect(lines[0]).toMatch(
    new RegExp(
      `^3 of 10 documents changed; 7 calls answered from the cache, 4 asked again \\(${money}\\); the result changed in 3 lines$`,
    ),
  );
  expect(lines[1]).toMatch(new RegExp(`^spent {5}${money} in two, \\$\\d\\.\\d+ in one$`));
  expect(lines.filter((line) => line.includes("changed: ")).map((line) => line.trim().split(/\s{2,}/))).toEqual([
    ["exec 2", "call 4", "document changed: p3.md", expect.any(String), expect.stringContaining("Page 3")],
    ["exec 2", "call 8", "document changed: p7.md", expect.any(String), expect.stringContaining("Page 7")],
    ["exec 2", "call 10", "document changed: short.md", expect.any(String), expect.stringContaining("a new page")],
    [
      "exec 2",
      "call 11",
      expect.stringMatching(/^answer above changed: exec 2, call \d+$/),
      expect.any(String),
      expect.any(String),
    ],
  ]);
  expect(told.stdout).toContain("\n-Page 3\n+Page 3 is new\n");
  const { compared, ...rest } = json(await show("two", "--against", "one", "--json"));
  expect(rest).toEqual({ success: true, session: { id: expect.any(String), name: "two" } });
  expect(compared).toMatchObject({
    ...{ against: { name: "one" }, told: lines[0], documents: { total: 10, equal: 7, changed: 3, new: 0, gone: 0 } },
    counts: { same: 7, again: 0, new: 4, gone: 4, replaced: 4 },
    calls: Array.from({ length: 8 }, (_, at) => ({ is: at < 4 ? "new" : "gone" })),
  });
});

test("the line that runs a session again loads its files in the same way", async () => {
  const { home, exec, show } = await corpus();
  grow(home, { "own/.env": "KEY=1", "own/page.html": "<p>one</p>" });
  const how = ["-c", "own", "--raw", "--include-secrets"];
  expect(await exec("-e", "P.length", ...how, "--session", "raw")).toMatchObject({ code: 0 });
  expect((await show("raw")).stdout).not.toContain("run again");
  grow(home, { "own/.env": "KEY=2" });
  expect((await show("raw")).stdout).toContain(" -c own --raw --include-secrets --cache --session raw-2");
});

test("a session whose sources changed has the line that runs it again, and the one that compares", async () => {
  const { home, server, run, exec, show } = await corpus();
  grow(home, { "two.js": "results.length" });
  const again = ["ask.js", "two.js", "-e", "'it is ' + results.length", "-c", "docs", "-c", "ask.js"];
  expect(await exec(...again, "--session", "audit", "--cache", "--max-sub-calls", "60")).toMatchObject({ code: 0 });
  expect((await show("audit")).stdout).not.toContain("run again");
  grow(home, { "docs/p3.md": page(3, "as it is new") });
  const told = (await show("audit")).stdout.trimEnd().split("\n").slice(-2);
  const kept = `--store ${home}/store`;
  const flags = `--model local/scripted --base-url ${server.url} --price 1000/1000 --max-sub-calls 60 ${kept}`;
  const cells = `ask.js two.js -e ''\\''it is '\\'' + results.length'`;
  expect(told).toEqual([
    `its sources changed; run again: belay exec ${cells} -c docs -c ask.js --cache --session audit-2 ${flags}`,
    `and compare: belay show audit-2 --against audit ${kept}`,
  ]);
  for (const part of ["--last", "--json", "--unread"]) {
    expect((await show("audit", part)).stdout).not.toContain("run again");
  }
  const [, typed = ""] = told[0]?.split(": belay ") ?? [];
  const words = (typed.match(/(?:[^\s'\\]|\\.|'[^']*')+/g) ?? []).map((word) => word.replaceAll(/\\(.)|'/g, "$1"));
  expect(await run(...words, "-q")).toMatchObject({ code: 0 });
  const { stdout } = await show("audit-2", "--against", "audit");
  expect(stdout).toMatch(/^1 of 11 documents changed; 10 calls answered from the cache, 2 asked again/);
  // The name is taken now, and the sources of this one are as they were.
  expect((await show("audit")).stdout).toContain("--session audit-3 ");
  expect((await show("audit-2")).stdout).not.toContain("run again");
});

test("the line is told only of sources that this user has allowed, and of cells that can be run again", async () => {
  const { home, exec, show } = await corpus();
  expect(await exec("-e", "1", "-c", "docs", "--session", "one")).toMatchObject({ code: 0 });
  const typed = "if (true) {\n  result = 1;\n}";
  expect(await exec("-e", typed, "-c", "docs", "--session", "typed")).toMatchObject({ code: 0 });
  grow(home, { "docs/p3.md": page(3, "as it is new") });
  const whole = (await show("one")).stdout;
  expect(whole).toContain("run again: belay exec -e 1 -c docs --cache --session one-2 ");
  expect(whole).toMatch(/\nIt ran without --cache, so its answers are not in the cache\.\n$/);
  expect((await show("typed")).stdout).toContain("belay exec FILES -c docs ");
  // Somebody else's key has not signed the settings.
  const other = await belayHere(["show", "one", "--store", join(home, "store")], {
    ...{ cwd: home, env: { XDG_CONFIG_HOME: folderWith() } },
  });
  expect(other).toMatchObject({ code: 0, stderr: "" });
  expect(other.stdout).not.toContain("run again");
  rmSync(join(home, "docs"), { recursive: true });
  expect((await show("one")).stdout).not.toContain("run again");
});

test("a fork at an await with another cell after it", async () => {
  const { run, exec, show, store, home } = await corpus();
  grow(home, {
    "a.js": 'result = await llm_query("first", { tools: [] }) + await llm_query("second", { tools: [] })',
    "b.js": 'await llm_query("third", { tools: [] })',
    "c.js": 'await llm_query("a new third", { tools: [] })',
  });
  for (const file of ["a.js", "b.js"]) {
    expect(await exec(file, "--session", "one", "--keep-steps")).toMatchObject({ code: 0 });
  }
  const { checkpoints } = json(await show("one", "--json")).session;
  // The second step of the first cell waits for its second call.
  const at = checkpoints.filter(({ kind }: { readonly kind: string }) => kind === "step")[1].id;
  expect(await run("fork", `one@${at}`, "--name", "two", ...store)).toMatchObject({ code: 0 });
  expect(await run("resume", "two", "-q", ...store)).toMatchObject({ code: 0 });
  expect(await exec("c.js", "--session", "two")).toMatchObject({ code: 0 });
  const { compared } = json(await show("two", "--against", "one", "--json"));
  expect(compared.past).toEqual({ is_shared: true, calls: 1, last: { exec: 1, call: 1 } });
  expect(compared.counts).toEqual({ same: 1, again: 1, new: 1, gone: 1, replaced: 0 });
  expect(compared.calls).toMatchObject([
    { is: "again", exec: 1, call: 2, why: "cache off", words: "second" },
    { is: "new", exec: 2, call: 1, why: "cell changed", words: "a new third" },
    { is: "gone", exec: 2, call: 1, words: "third" },
  ]);
  expect(compared.told).toMatch(
    /^1 call in the common past, 1 asked again, 1 asked for the first time \(\$\d\.\d+\), 1 not asked any more; the result changed in 1 line$/,
  );
  // The other way round, the fork is the older one.
  expect(json(await show("one", "--against", "two", "--json")).compared.counts).toEqual(compared.counts);
  const page = await show("two", "--against", "one");
  expect(page.stdout).toContain("past      both begin with the same 1 call, the last one is call 1 of exec 1\n");
});

test("what cannot be compared is refused, and --redact leaves keys out", async () => {
  const { run, exec, show, store } = await corpus();
  const key = `sk-${"a".repeat(40)}`;
  expect(await exec("-e", `result = "the key ${key}\\nas before"`, "--session", "one")).toMatchObject({ code: 0 });
  expect(await exec("-e", `result = "the key ${key}\\nas now"`, "--session", "two")).toMatchObject({ code: 0 });
  expect((await show("two", "--against", "one", "--json")).stdout).toContain(key);
  const redacted = await show("two", "--against", "one", "--json", "--redact");
  expect(redacted.stdout).not.toContain("sk-a");
  expect(redacted.stdout).toContain("the key [redacted: 43 characters]\\n-as before");
  expect(await show("two", "--against", "none")).toMatchObject(said(1, "session none not found"));
  expect(await show("two", "--against", "one", "--last")).toMatchObject(
    said(2, "--against and --last exclude each other"),
  );
  expect(await run("show", "two", "--against", "--json", ...store)).toMatchObject({ code: 2 });
});

test("what can be read of a damaged session is compared, the damage is named, and the exit code is 1", async () => {
  const { home, exec, show } = await corpus();
  for (const session of ["one", "two"]) {
    expect(await exec("-e", 'await llm_query("p", { tools: [] })', "-s", session)).toMatchObject({ code: 0 });
    expect(await exec("-e", `result = "${session}"`, "-s", session)).toMatchObject({ code: 0 });
  }
  const { id } = json(await show("one", "--json")).session;
  const database = new DatabaseSync(join(home, "store", "belay.db"));
  database.exec(`UPDATE journal SET content = '{}' WHERE session = '${id}' AND seq = 3`);
  database.close();
  const told = await show("two", "--against", "one");
  expect(told).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Only what can be read is shown (store_corrupt)"),
  });
  expect(told.stdout).toMatch(/^1 call asked again \(\$\d\.\d+\); the result changed in 1 line\n/);
  expect(json(await show("two", "--against", "one", "--json"))).toMatchObject({
    ...{ success: false, error_code: "store_corrupt", compared: { counts: { again: 1 } } },
  });
});

test("two runs are compared by the ids of their jobs, and a job by its session", async () => {
  const { home, run, server, show, store } = await corpus();
  const lines = (inputs: Readonly<Record<string, string>>) =>
    Object.entries(inputs)
      .map(([id, words]) => `${JSON.stringify({ id, words })}\n`)
      .join("");
  grow(home, {
    "say.js": `if (job.words === "bad") throw new Error("no");\nresult = await llm_query(job.words, { tools: [] })`,
    "may.jsonl": lines({ a: "Page 11", b: "Page 12", c: "Page 13", d: "Page 14", e: "Page 15" }),
    "june.jsonl": lines({ a: "Page 11", b: "Page 22", c: "bad", f: "x", e: "Page 15" }),
  });
  const flags = ["--model", "local/scripted", "--base-url", server.url, "-q", "--cache", ...store, "-o", "-"];
  for (const name of ["may", "june"]) await run("batch", "say.js", "--jobs", `${name}.jsonl`, "--name", name, ...flags);
  const told = await show("june", "--against", "may");
  expect(told).toMatchObject({ code: 0, stderr: "" });
  expect(told.stdout.split("\n")).toEqual([
    "1 of 5 jobs with another result, 1 in another state, 1 new, 1 gone",
    ...["spent     no price in june, no price in may", "work      the same script and settings"],
    ...["", "jobs", "  b  another result            input changed"],
    ...["  c  done → failed (js_error)  input changed", "  f  new", "  d  gone"],
    ...["", `the calls of one of them: belay show june/b --against may/b --store ${home}/store`, ""],
  ]);
  const { compared, ...rest } = json(await show("june", "--against", "may", "--json"));
  expect(rest).toMatchObject({ success: true, run: { name: "june" } });
  expect(compared).toMatchObject({
    ...{ against: { name: "may" }, same_work: true, counts: { same: 2, state: 1, result: 1, new: 1, gone: 1 } },
    jobs: [
      { job: "b", is: "result", before: "done", now: "done", why: "input changed" },
      { job: "c", is: "state", before: "done", now: "failed (js_error)", why: "input changed" },
      { job: "f", is: "new", before: null, now: "done", why: null },
      { job: "d", is: "gone", before: "done", now: null, why: null },
    ],
  });
  const job = await show("june/b", "--against", "may/b");
  expect(job.stdout).toMatch(/^1 call asked again; the result changed in 1 line\nspent .* in june\/b, .* in may\/b\n/);
  const same = await show("june/a", "--against", "may/a");
  expect(same.stdout).toMatch(/^1 call answered from the cache; the result is the same\n/);
  const mixed = await show("june", "--against", "may/b");
  expect(mixed).toMatchObject(said(1, "june is a run, and may/b is a session (invalid_argument)"));
  expect(await show("june", "--against", "none")).toMatchObject(said(1, "june is a run, not a session"));
});
