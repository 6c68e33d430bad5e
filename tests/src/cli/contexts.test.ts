import { once } from "node:events";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkPaths } from "../../../src/cli/input/sources.ts";
import { openSession } from "../../../src/index.ts";
import { openStore } from "../../../src/store/index.ts";
import { folderWith, grow } from "../../support/tree.ts";
import { ORIGINALS } from "../documents/originals.ts";
import { finished, json, startBelay } from "./belay.ts";
import { belayHere } from "./in-process.ts";

test("a session goes on with its variables, and -c must be what it has", async () => {
  const folder = folderWith({ "docs/a.md": "alpha", "more.md": "beta" });
  const [docs, more, home] = ["docs", "more.md", "home"].map((name) => join(folder, name));
  const run = (code: string, ...args: string[]) =>
    belayHere(["exec", "-e", code, "-s", "s", ...args, "--json"], { home: String(home) });
  const withDocs = ["-c", String(docs)];
  expect(json(await run("let n = 1; P.includes('alpha')", ...withDocs))).toMatchObject({ result_json: true });
  expect(json(await run("n += 1", ...withDocs))).toMatchObject({ result_json: 2 });
  expect(json(await run("n += 1"))).toMatchObject({ result_json: 3 });
  writeFileSync(join(String(docs), "a.md"), "ALPHA");
  const changed = await run("n", ...withDocs);
  expect(changed.code).toBe(1);
  expect(json(changed)).toMatchObject({
    error_code: "context_changed",
    error_message: expect.stringMatching(/^the session has the context [0-9a-f]{12}, and -c is [0-9a-f]{12}$/),
    suggestion: expect.stringMatching(
      /^--reload loads it, .*; --append adds what is new or changed, and marks the older texts replaced_by in list_docs\(\); /,
    ),
  });
  const appended = await run("[n, P.includes('alpha'), P.includes('beta')]", "-c", String(more), "--append");
  expect(json(appended)).toMatchObject({ result_json: [3, true, true] });
  const reloaded = await run("[typeof n, P.includes('ALPHA')]", ...withDocs, "--reload");
  expect(json(reloaded)).toMatchObject({ result_json: ["undefined", true] });
  const piped = (code: string, ...args: string[]) =>
    belayHere(["exec", "-e", code, "-s", "s", "-c", "-", ...args, "--json"], {
      home: String(home),
      input: "from stdin",
    });
  expect(json(await piped("P", "--reload"))).toMatchObject({ result_json: "from stdin" });
  expect(json(await piped("P.length"))).toMatchObject({ result_json: 10 });
});

test("a folder that is appended again adds what is new or changed, and a line on stderr says so", async () => {
  const cwd = folderWith({ "docs/a.md": "alpha", "docs/b.md": "beta", "more.md": "gamma" });
  const docs = join(cwd, "docs");
  const run = (...args: string[]) =>
    belayHere(["exec", "-e", "list_docs().length", "-s", "s", ...args], { home: join(cwd, "home"), cwd });
  const nothing = "docs: nothing is new or changed, and P stays as it is\n";
  expect(await run("-c", docs)).toEqual({ code: 0, stdout: "2\n", stderr: "" });
  expect(await run("-c", "more.md", "--append")).toEqual({ code: 0, stdout: "3\n", stderr: "" });
  expect(await run("-c", "docs", "--append")).toEqual({ code: 0, stdout: "3\n", stderr: nothing });
  grow(cwd, { "docs/a.md": "ALPHA", "docs/c.md": "delta" });
  const changed = await run("-c", "docs", "--append");
  expect(changed.stderr).toBe(
    "docs: 2 documents added, 1 of changed files; its older text stays in P, marked replaced_by in list_docs()\n",
  );
  expect(changed.stdout).toBe("5\n");
  grow(cwd, { "docs/d.md": "epsilon" });
  const added = "docs: 1 new document added; what has not changed is there once\n";
  expect(await run("-c", "docs", "--append")).toEqual({ code: 0, stdout: "6\n", stderr: added });
  const marks = await run("-e", "list_docs().flatMap(({ id, replaced_by }) => (replaced_by ? [id, replaced_by] : []))");
  expect(marks.stdout).toContain('["a.md", "docs/a.md"]');
  rmSync(join(docs, "d.md"));
  const gone = "docs: skipped 1 file: d.md (deleted since it was loaded: its text stays in P)\n";
  expect(await run("-c", "docs", "--append")).toEqual({ code: 0, stdout: "6\n", stderr: `${nothing}${gone}` });
  const told = await run("-e", "stats().skipped.files");
  expect(told.stdout).toContain('"path": "d.md"');
  grow(cwd, { "docs/d.md": "epsilon" });
  expect(await run("-c", "docs", "--append", "-q")).toEqual({ code: 0, stdout: "6\n", stderr: "" });
  expect(await run("-c", "docs", "-c", "docs", "--reload")).toEqual({ code: 0, stdout: "4\n", stderr: nothing });
});

test("a file that cannot be read and has come since is told to a session that goes on", async () => {
  const cwd = folderWith({ "docs/a.md": "alpha" });
  const options = { home: join(cwd, "home"), cwd };
  const line = ["exec", "-e", "stats().skipped.files.map(({ path }) => path)", "-s", "s", "-c", "docs"];
  expect(await belayHere(line, options)).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
  grow(cwd, { "docs/scan.pdf": "%PDF-1.4 cut off" });
  const told = await belayHere(line, options);
  expect(told).toMatchObject({ code: 0, stdout: '["scan.pdf"]\n' });
  expect(told.stderr).toMatch(/^docs: 1 file could not be read: scan\.pdf \(.+\)\.$/m);
  expect(await belayHere(line, options)).toEqual({ code: 0, stdout: '["scan.pdf"]\n', stderr: "" });
});

test("a session goes on after its folder is gone, and says so; --reload takes another one in its place", async () => {
  const folder = folderWith({ "docs/a.md": "alpha", "other/b.md": "b", "more.md": "beta" });
  const [docs, other, more, home] = ["docs", "other", "more.md", "home"].map((name) => join(folder, name)).map(String);
  const run = (...args: string[]) => belayHere([...args, "--json"], { home: String(home) });
  const exec = (code: string, ...args: string[]) => run("exec", "-e", code, "-s", "s", ...args);
  await exec("let n = 1; P.includes('alpha')", "-c", String(docs));
  renameSync(String(docs), join(folder, "moved"));
  const gone = `${docs} does not exist any more: P comes from the store, and sub-agents cannot read files there.`;
  const runs = [await exec("[n, P.includes('alpha')]"), await run("resume", "s"), await exec("[n, true]", "--discard")];
  for (const one of runs) {
    expect(json(one)).toMatchObject({ result_json: [1, true] });
    expect(one.stderr).toContain(`${gone} --reload -c PATH loads another context\n`);
  }
  expect(json(await exec("P.includes('beta')", "-c", String(more), "--append"))).toMatchObject({ result_json: true });
  const missing = await exec("1", "--root", join(folder, "typo"));
  expect(json(missing)).toMatchObject({ error_code: "path_not_found" });
  for (const args of [["-c", String(other), "--reload"], []]) {
    const reloaded = await exec("stats().sources", ...args);
    expect(json(reloaded)).toMatchObject({ result_json: [other] });
    expect(reloaded.stderr).not.toContain("any more");
  }
});

test("a session without a context is not reset by -c in passing", async () => {
  const folder = folderWith({ "a.md": "alpha" });
  const [path, home] = [join(folder, "a.md"), join(folder, "home")];
  const run = (code: string, ...args: string[]) =>
    belayHere(["exec", "-e", code, "-s", "s", ...args, "--json"], { home });
  expect(json(await run("let n = 1; n"))).toMatchObject({ result_json: 1 });
  expect(json(await run("n", "-c", path)).error_message).toMatch(
    /^the session has no context, and -c is [0-9a-f]{12}$/,
  );
  expect(json(await run("[n, P]", "-c", path, "--append"))).toMatchObject({ result_json: [1, "alpha"] });
});

test("a dry run looks at a session and changes nothing; for a new name it makes none", async () => {
  const home = join(folderWith(), "home");
  const run = (...args: string[]) => belayHere(["exec", "--json", ...args], { home });
  expect(json(await run("--dry-run", "-e", "1", "-s", "new"))).toMatchObject({ success: true });
  const { code, stdout } = await belayHere(["sessions"], { home });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^no sessions in /)]);
  await run("-e", "let n = 1", "-s", "kept");
  expect(json(await run("--dry-run", "-e", "n += 1", "-s", "kept"))).toMatchObject({ result_json: 2 });
  expect(json(await run("-e", "n", "-s", "kept"))).toMatchObject({ result_json: 1 });
  const { sessions } = json(await belayHere(["sessions", "--json"], { home }));
  expect(sessions).toMatchObject([{ name: "kept", execs: 2, status: "idle" }]);
});

test("a run that ended while it loaded is simply begun again", async () => {
  const folder = folderWith({ "a.md": "alpha", "b.md": "beta" });
  const [a, b, home] = ["a.md", "b.md", "home"].map((name) => join(folder, name)).map(String);
  const run = (...args: string[]) =>
    belayHere(["exec", "-e", "P.length", "-s", "s", ...args, "--json"], { home: String(home) });
  const session = await openSession({ store: String(home), session: "s", roots: [folder] });
  await session.load(String(a));
  const { id } = session;
  await session.close();
  // The second load was begun, and nothing more is known of it.
  const store = await openStore(String(home));
  await store.lease(id);
  const start = {
    ...{ record: "rlm_start", exec_id: "01X", kind: "append", input: { path: b, roots: [folder] }, cell: null },
  };
  await store.commit(id, { records: [{ ...start, ...{ limits: {}, helpers_hash: null, rest: [], at: 1 } }] });
  await store[Symbol.asyncDispose]();
  const other = await run("-c", String(a));
  const error_message = expect.stringContaining("append: /");
  expect(json(other)).toMatchObject({ error_code: "exec_unfinished", error_message });
  const both = await run("-c", String(a), "-c", String(b));
  const length = "alpha".length + `\n\n===== APPENDED: ${b} =====\n\n`.length + "beta".length;
  expect(json(both)).toMatchObject({ success: true, result_json: length });
});

test("a session that another process has open is busy", async () => {
  const home = join(folderWith(), "home");
  const repl = startBelay(["repl", "-s", "s"], { home });
  const ended = finished(repl);
  const ready = once(repl.stdout ?? repl, "data");
  repl.stdin?.write("'ready'\n");
  await ready;
  const held = { error_code: "session_busy", error_message: expect.stringContaining(`${repl.pid}`) };
  for (const args of [
    ["exec", "-e", "1", "-s", "s"],
    ["resume", "s"],
  ]) {
    expect(json(await belayHere([...args, "--json"], { home }))).toMatchObject(held);
  }
  const { sessions } = json(await belayHere(["sessions", "--json"], { home }));
  expect(sessions).toMatchObject([{ name: "s", status: "open", holder: { pid: repl.pid } }]);
  repl.stdin?.end();
  await ended;
  expect(json(await belayHere(["exec", "-e", "1", "-s", "s", "--json"], { home }))).toMatchObject({ result_json: 1 });
});

test("a pipe or device is no context: what a command prints comes from stdin", () => {
  const folder = folderWith({ "a.md": "a" });
  checkPaths(["-", folder, join(folder, "a.md")]);
  const suggestion = expect.stringContaining("COMMAND | belay exec -c -");
  const refused = { code: "invalid_argument", message: "/dev/null is neither a file nor a folder", suggestion };
  expect(() => checkPaths(["/dev/null"])).toThrow(expect.objectContaining(refused));
});

test("sessions over equal documents of two folders each show their own", async () => {
  const [home, report] = [join(folderWith(), "home"), ORIGINALS["report.pdf"]?.() ?? ""];
  const folders = [folderWith({ "report.pdf": report }), folderWith({ "report.pdf": report })];
  for (const [at, cwd] of folders.entries())
    await belayHere(["exec", "-q", "-c", "report.pdf", "--session", `s${at}`, "-e", "1"], { cwd, home });
  for (const [at, cwd] of folders.entries()) {
    const own = join(cwd, "report.pdf");
    const shown = await belayHere(["show", `s${at}`], { home });
    expect(shown.stdout).toContain(`context   ${own} (`);
    const { sessions } = json(await belayHere(["sessions", "--json"], { home }));
    expect(sessions.find(({ name }: { name: string }) => name === `s${at}`).context.sources).toEqual([own]);
  }
});
