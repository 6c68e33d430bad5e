import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { json, said } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const CELL = 'const at = P.indexOf("24"); answer("24 months [1]", { cite: [[at, at + 9]] })';

/** Runs `belay ask` in a folder with a lease, over a model that answers at once. */
async function scene(code = CELL) {
  const server = await startModelServer(() => ({ tools: [{ id: "u", name: "rlm_exec", arguments: { code } }] }));
  onTestFinished(() => server.close());
  const cwd = folderWith({ "docs/lease.txt": "The notice is\n24 months.\n" });
  const home = folderWith();
  const model = ["--model", "local/m", "--base-url", server.url];
  const run = (...args: string[]) => belayHere(["ask", "How long?", "-c", "docs", ...model, ...args], { cwd, home });
  return { cwd, run, requests: () => server.requests.length };
}

const headIn = (file: string) =>
  JSON.parse(
    gunzipSync(Buffer.from(/id="head">([^<]*)/.exec(readFileSync(file, "utf8"))?.[1] ?? "", "base64")).toString(),
  );

test("--view writes the page of the answer beside it, which its owner alone can read", async () => {
  const { cwd, run } = await scene();
  const file = join(cwd, "lease.html");
  const ran = await run("--view=lease.html", "--session", "s");
  expect(ran).toMatchObject({ code: 0, stdout: "24 months [1]\n" });
  // The place has the number that the answer gives it.
  expect(ran.stderr).toMatch(/^\[1\] lease\.txt:2 24 months$/m);
  expect(ran.stderr).toMatch(
    /\nlease\.html: 2 calls, .* It holds .*; `belay view s -o page\.html --no-texts` leaves them out\.\n$/,
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { session, execs } = headIn(file);
  expect(session).toMatchObject({ name: "s", status: "idle" });
  expect(execs.find(({ kind }: { kind: string }) => kind === "ask").ask.citations).toMatchObject([
    { number: 1, doc: "lease.txt", line: 2, around: { text: "The notice is\n24 months.\n" } },
  ]);
  // A page is replaced, and the object of --json names it.
  expect(json(await run("--view=lease.html", "--json"))).toMatchObject({ success: true, page: "lease.html" });
  // Lines to type on it name the store.
  await run("--view", "--session", "t", "--store", "my store");
  expect(readdirSync(cwd)).toContain("answer-t.html");
  expect(headIn(join(cwd, "answer-t.html")).store).toBe(` --store '${join(cwd, "my store")}'`);
});

test("what could not be written is refused before anything is sent", async () => {
  const { cwd, run, requests } = await scene();
  writeFileSync(join(cwd, "mine.html"), "<p>mine");
  expect(await run("--view=mine.html")).toMatchObject(said(2, "mine.html is there, and is not a page of belay view"));
  expect(await run("--view=none/x.html")).toMatchObject(said(1, "the folder none does not exist"));
  expect(await run("--view=-")).toMatchObject(said(2, "--view takes a file: stdout has the answer"));
  expect(await run("--view", "x.html")).toMatchObject(said(2, "try: belay ask 'How long?' --view=x.html -c docs"));
  expect(await run("--view", "--no-store")).toMatchObject(said(2, "--view and --no-store exclude each other"));
  expect([requests(), existsSync(join(cwd, "x.html"))]).toEqual([0, false]);
});

test("an ask without an answer has a page too, and its exit code stays", async () => {
  const { cwd, run } = await scene("not JavaScript");
  expect(await run("--view=none.html", "--max-turns", "1")).toMatchObject({ code: 3 });
  expect(headIn(join(cwd, "none.html")).execs.some(({ kind }: { kind: string }) => kind === "ask")).toBe(true);
});
