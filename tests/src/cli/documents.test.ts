import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mustRun, ROOT } from "../../../scripts/process.ts";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { html, ORIGINALS, scan } from "../documents/originals.ts";
import { pdfWith, streamOf, zip } from "../documents/packed.ts";
import { belay, json, startBelay } from "./belay.ts";
import { belayHere, killedHere } from "./in-process.ts";

const report = ORIGINALS["report.pdf"]?.() ?? Buffer.alloc(0);
const IDS = "list_docs().map(({ id }) => id)";

test("-c takes a document, also from stdin, and --raw leaves it as it is", async () => {
  const cwd = folderWith({
    "report.pdf": report,
    "page.html": html(),
    "all.zip": zip([{ name: "in/r.pdf", data: report }]),
  });
  const named = await belayHere(["exec", "-q", "-c", "report.pdf", "-e", "P.slice(0, 19)"], { cwd });
  expect(named).toMatchObject({ code: 0, stdout: "[p.1]\nAnnual report\n" });
  const piped = await belayHere(["exec", "-q", "-c", "-", "-e", `[P.slice(0, 19), ${IDS}]`], { cwd, input: report });
  expect(json(piped)).toEqual(["[p.1]\nAnnual report", ["stdin"]]);
  const archive = await belayHere(["exec", "-q", "-c", "all.zip", "-e", IDS], { cwd });
  expect(json(archive)).toEqual(["all.zip/in/r.pdf"]);
  const found = await belayHere(["find", "-q", "Annual", "all.zip", "report.pdf"], { cwd });
  expect(found.stdout).toBe("all.zip/in/r.pdf:2:1: Annual report\nreport.pdf:2:1: Annual report\n");
  const passage = await belayHere(["search", "-q", "quoted", "report.pdf"], { cwd });
  expect(passage.stdout).toMatch(/^report\.pdf p\.3: /);
  const raw = await belayHere(["exec", "-q", "--raw", "-c", ".", "-e", IDS], { cwd });
  // The page is a text that is nearly UTF-8.
  expect(json(raw)).toEqual(["page.html"]);
});

test("readers of a checkout import nothing that they may not read", async () => {
  const cwd = folderWith(Object.fromEntries(Object.entries(ORIGINALS).map(([name, make]) => [name, make()])));
  const env = { ...process.env, BELAY_HOME: join(cwd, ".home") };
  const main = join(ROOT, "src/cli/main.ts");
  const { stdout } = await mustRun(process.execPath, [main, "exec", "-q", "-c", ".", "-e", "list_docs().length"], {
    cwd,
    env,
  });
  expect(Number(stdout)).toBe(Object.keys(ORIGINALS).length);
});

test("--encoding and --lossy read what is not UTF-8, find and search take them too, and stderr tells it", async () => {
  const cwd = folderWith({ "a.log": Buffer.from("caf\xe9 one\ncaf\xe9 two\n", "latin1") });
  const refused = await belayHere(["exec", "-c", "a.log", "-e", "P"], { cwd });
  expect(refused).toMatchObject({
    code: 1,
    stderr:
      "error: a.log cannot be loaded: not UTF-8 in 2 of 18 bytes, first on line 1 (invalid_argument)\nsuggestion: Name its encoding, such as `--encoding latin1`, or read such bytes as U+FFFD with `--lossy`.\n",
  });
  const other = folderWith({ "one.log": Buffer.from("one caf\xe9, and more of it\n", "latin1") });
  const few = await belayHere(["exec", "-c", "one.log", "-e", "P", "--json"], { cwd: other });
  const told = "one.log: 1 byte that is not UTF-8, read as U+FFFD: line 1\n";
  expect(few).toMatchObject({ code: 0, stderr: expect.stringContaining(told) });
  expect(json(few)).toMatchObject({
    warnings: [expect.stringMatching(/^documents_lost: 1 document, 1 byte that is not/)],
  });
  const lossy = await belayHere(["exec", "-c", "a.log", "--lossy", "-e", "stats().converted.lost"], { cwd });
  expect(json(lossy)).toEqual({ "byte that is not UTF-8": 2 });
  expect(lossy.stderr).toContain("a.log: 2 bytes that are not UTF-8, read as U+FFFD: line 1, line 2\n");
  const piped = ["exec", "-c", "-", "--encoding", "latin1", "-e", "P"];
  const named = await belayHere(piped, { cwd, input: Buffer.from("\xe9", "latin1") });
  expect(named).toMatchObject({ code: 0, stdout: "\u00e9\n" });
  expect(named.stderr).toContain("1 document converted (1 windows-1252 text)");
  const found = await belayHere(["find", "-q", "--encoding", "latin1", "caf\u00e9 two", "."], { cwd });
  expect(found.stdout).toBe("./a.log:2:1: caf\u00e9 two\n");
  const skipped = await belayHere(["search", "two", "."], { cwd });
  expect(skipped.stderr).toContain("Name its encoding, such as `--encoding latin1`");
  const searched = await belayHere(["search", "-q", "--lossy", "two", "."], { cwd });
  expect(searched.stdout).toContain("a.log:2:");
  const wrong = await belayHere(["exec", "-c", "a.log", "--encoding", "latin99", "-e", "P"], { cwd });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("it takes an encoding such as latin1") });
});

test("a session keeps the encoding of its load", async () => {
  const [cwd, home] = [folderWith({ "a.log": Buffer.from("caf\xe9", "latin1") }), join(folderWith(), "home")];
  const line = ["exec", "-q", "--session", "s", "-c", "a.log", "--encoding", "latin1", "-e", "P"];
  expect(await belayHere(line, { cwd, home })).toMatchObject({ code: 0, stdout: "caf\u00e9\n" });
  expect(await belayHere(line, { cwd, home })).toMatchObject({ code: 0, stdout: "caf\u00e9\n" });
  const other = [...line.slice(0, 6), "--encoding", "koi8-r", "-e", "P"];
  expect(await belayHere(other, { cwd, home })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("context_changed"),
  });
});

test("a document that cannot be read says what to type", async () => {
  const cwd = folderWith({ "my scan.pdf": scan(), "old.doc": Buffer.from("d0cf11e0a1b11ae10000", "hex") });
  const scanned = await belayHere(["exec", "-c", "my scan.pdf", "-e", "P"], { cwd });
  expect(scanned).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "error: my scan.pdf has text on none of its 2 pages (document_unreadable)\nsuggestion: Run `ocrmypdf 'my scan.pdf' 'my scan-text.pdf'`, then the same line with `'my scan-text.pdf'` in its place.\n",
  });
  const old = await belayHere(["exec", "-c", "old.doc", "-e", "P"], { cwd });
  expect(old.stderr).toContain(
    "Run `soffice --headless --convert-to docx old.doc`, then the same line with `old.docx` in its place.",
  );
});

test("a session that was killed goes on without the original and the texts that are kept, so that no reader has one", async () => {
  let isFast = false;
  const server = await startModelServer(() => ({ text: "yes", ...(isFast ? {} : { delayMs: 60_000 }) }));
  onTestFinished(() => server.close());
  const [cwd, home] = [folderWith({ "report.pdf": report }), join(folderWith(), "home")];
  const code = 'const said = await llm_query("?", { tools: [] }); [said, doc_at(P.indexOf("Annual")).place]';
  const line = ["exec", "-q", "--session", "s", "-c", "report.pdf", "-e", code];
  const flags = ["--model", "local/scripted", "--base-url", server.url];
  await killedHere(server, 1, [...line, ...flags], { cwd, home });
  isFast = true;
  renameSync(join(cwd, "report.pdf"), join(cwd, "moved.pdf"));
  rmSync(join(home, "index"), { recursive: true });
  expect(json(await belayHere(["resume", "s", "-q"], { cwd, home }))).toEqual(["yes", "p.1"]);
  expect(readdirSync(home)).not.toContain("index");
  renameSync(join(cwd, "moved.pdf"), join(cwd, "report.pdf"));
  const raw = await belayHere(["exec", "-q", "--session", "s", "-c", "report.pdf", "-e", "1", "--raw"], { cwd, home });
  expect(raw.stderr).toContain("invalid_argument");
});

test("an ask that was killed tells files that could not be read, by what its load has kept", async () => {
  let isFast = false;
  const text = "There is none.";
  const server = await startModelServer(() => ({ text, ...(isFast ? {} : { delayMs: 60_000 }) }));
  onTestFinished(() => server.close());
  const files = { "docs/lease.txt": "The rent is 100.\n", "docs/scan.pdf": "%PDF-1.4 cut off" };
  const [cwd, home] = [folderWith(files), join(folderWith(), "home")];
  const flags = ["--model", "local/scripted", "--base-url", server.url];
  const line = ["ask", "Is there an addendum?", "-q", "--session", "s", "-c", "docs", ...flags];
  await killedHere(server, 1, line, { cwd, home });
  isFast = true;
  rmSync(join(cwd, "docs"), { recursive: true });
  const told = { count: 1, unread: 1, files: [{ path: "scan.pdf" }], capped: false };
  expect(json(await belayHere(["resume", "s", "--json"], { cwd, home }))).toMatchObject({
    answer: text,
    skipped: told,
  });
  await belayHere(["fork", "s", "--name", "t"], { cwd, home });
  const again = await belayHere(["exec", "-q", "--session", "t", "-e", "stats().skipped"], { cwd, home });
  expect(json(again)).toMatchObject(told);
});

test("the user's settings may name a converter, and those of a project may not", async () => {
  const cwd = folderWith({ "a.abc": "words", ".git/HEAD": "" });
  const home = folderWith({ "config.json": '{ "convert": { "abc": ["tr", "a-z", "A-Z", "{}"], "xyz": false } }' });
  const wrong = await belayHere(["exec", "-c", "a.abc", "-e", "P"], { cwd, home });
  expect(wrong.stderr).toMatch(/^error: a\.abc cannot be read: tr ended with 1: tr: extra operand/);
  expect(wrong.stderr).toContain("suggestion: Correct `convert.abc` in ~/.belay/config.json.");
  const own = folderWith({ "config.json": '{ "convert": { "abc": ["sed", "s/w/W/", "{}"] } }' });
  const converted = await belayHere(["exec", "-q", "-c", "a.abc", "-e", "P"], { cwd, home: own });
  expect(converted).toMatchObject({ code: 0, stdout: "Words\n" });
  const project = folderWith({ "a.abc": "words", "belay.config.json": '{ "convert": { "abc": ["cat", "{}"] } }' });
  const refused = await belayHere(["exec", "-c", "a.abc", "-e", "P"], { cwd: project });
  expect(refused.stderr).toMatch(
    /a project may not set convert \(invalid_config\)\nsuggestion: Set it in \S+config\.json\.\n/,
  );
});

/** Readers of this parent. */
function readersOf(parent: number | undefined): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return (/^\d+$/.test(name) && readFileSync(`/proc/${name}/stat`, "utf8").includes(`) S ${parent} `)) ||
        readFileSync(`/proc/${name}/stat`, "utf8").includes(`) R ${parent} `)
        ? readFileSync(`/proc/${name}/cmdline`, "utf8").includes("documents/child-entry")
        : false;
    } catch {
      return false;
    }
  });
}

test("a command that is killed leaves no reader, and the next one removes its copies", async () => {
  const slow = pdfWith([streamOf(`BT /F 1 Tf ${"(a) Tj 0 1 Td ".repeat(3_000_000)}ET`)]);
  const cwd = folderWith({ "slow.pdf": slow, "shop.db": ORIGINALS["shop.db"]?.() ?? "" });
  const home = join(folderWith(), "home");
  const command = startBelay(["exec", "-c", "slow.pdf", "-e", "P", "-s", "slow"], { cwd, home });
  let readers: string[] = [];
  await expect.poll(() => (readers = readersOf(command.pid))).toHaveLength(1);
  command.kill("SIGKILL");
  const isThere = () =>
    readers.some((pid) => existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
  await expect.poll(isThere, { timeout: 8000 }).toBe(false);
  const temporary = folderWith();
  mkdirSync(join(temporary, `belay-documents-${command.pid}-abc`));
  const next = await belay(["exec", "-q", "-c", "shop.db", "-e", "P.length > 0"], { cwd, env: { TMPDIR: temporary } });
  expect(next).toMatchObject({ code: 0, stdout: "true\n" });
  expect(readdirSync(temporary).filter((name) => name.startsWith("belay-documents-"))).toEqual([]);
  // The cell had not begun.
  renameSync(join(cwd, "shop.db"), join(cwd, "slow.pdf"));
  const { stderr } = await belayHere(["resume", "slow"], { cwd, home });
  expect(stderr).toMatch(/\nthe load is finished; for what was to follow it, run the same command again\n$/);
});
