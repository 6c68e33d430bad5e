import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

/** Text of so many characters, in which no 64 stand twice. */
const textOf = (name: string, units: number) =>
  Array.from({ length: units / 4 }, (_, at) => `${name}${at * 7919}`)
    .join(" ")
    .slice(0, units);

const FILES = {
  "a.txt": textOf("a", 4000),
  "b.txt": textOf("b", 5000),
  "c.txt": textOf("c", 900),
  "d.txt": textOf("d", 100),
};

test("show tells the coverage of a session, and --unread lists what was never opened", async () => {
  const folder = folderWith(FILES);
  const home = join(folderWith(), "home");
  const belay = (...args: string[]) => belayHere(args, { cwd: folder, home });
  expect(await belay("exec", "-e", "1", "-c", ".", "--session", "s", "-q")).toMatchObject({ code: 0 });
  expect((await belay("show", "s", "--unread")).stdout).toBe("b.txt\na.txt\nc.txt\nd.txt\n");
  await belay("exec", "-e", 'peek_doc("a.txt"); find("c0 ")', "--session", "s", "-q");
  const { stdout } = await belay("show", "s");
  expect(stdout).toContain(
    "coverage  shown at least 0 % of 10k characters · found 0 % · ranked 0 % · touched 40 % · never opened 2 of 4 documents\n",
  );
  expect(await belay("show", "s", "--unread")).toMatchObject({ code: 0, stdout: "b.txt\nd.txt\n" });
  const json = JSON.parse((await belay("show", "s", "--unread", "--json")).stdout);
  const unread = [
    { id: "b.txt", chars: 5000 },
    { id: "d.txt", chars: 100 },
  ];
  const skipped = { count: 0, unread: 0, files: [], capped: false };
  expect(json).toEqual({ success: true, session: { id: expect.any(String), name: "s" }, unread, skipped });
  const { session } = JSON.parse((await belay("show", "s", "--json")).stdout);
  expect(session.coverage).toMatchObject({ chars: 10_000, touched: 4000, found: 3, never_opened: ["b.txt", "d.txt"] });
  const [, , { coverage }] = session.execs;
  const [[start, end]] = coverage.ranges.given;
  expect(end - start).toBe(4000);

  expect(await belay("show", "s", "--unread", "--last")).toMatchObject({ code: 2 });
  await belay("exec", "-e", "1", "--session", "none", "-q");
  expect((await belay("show", "none")).stdout).not.toContain("coverage");
  expect(await belay("show", "none", "--unread")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("context_not_loaded"),
  });
});

test("an ask ends with what its model read, and how many documents were never opened", async () => {
  const cells = ['print(peek_doc("a.txt").slice(100, 3100))', 'peek_doc("c.txt"); answer("done")'];
  const server = await startModelServer(({ body }) => {
    const turn = body.messages.filter(({ role }) => role === "assistant").length;
    return { text: "", tools: [{ id: `u${turn}`, name: "rlm_exec", arguments: { code: cells[turn % 2] } }] };
  });
  onTestFinished(() => server.close());
  const [cwd, home] = [folderWith(FILES), join(folderWith(), "home")];
  const belay = (...args: string[]) => belayHere(args, { cwd, home });
  const ask = (...args: string[]) => belay("ask", ...args, "--model", "local/m", "--base-url", server.url);
  const sentence = "A model read at least 30 % of 10k characters; never opened: 2 of 4 documents";
  const first = await ask("What?", "-c", ".", "--session", "s");
  expect(first).toMatchObject({ code: 0, stdout: "done\n" });
  expect(first.stderr.trimEnd().split("\n").at(-1)).toBe(`${sentence} (belay show s --unread).`);
  expect((await belay("show", "s")).stdout).toContain("shown at least 30 % of 10k characters");
  // An ask tells of its own cells alone; what a cell prints outside an ask is read by a person.
  await belay("exec", "-e", 'print(peek_doc("b.txt")); peek_doc("d.txt")', "--session", "s", "-q");
  const again = await ask("Again?", "--session", "s", "--json");
  expect(JSON.parse(again.stdout).coverage).toMatchObject({ shown: 3000, touched: 1900, documents: { never: 2 } });
  const words = "every document was opened since the last load, according to the records\n";
  expect(await belay("show", "s", "--unread")).toEqual({ code: 0, stdout: "", stderr: words });
  const { stdout, stderr } = await belay("show", "s", "--unread", "--json");
  expect([JSON.parse(stdout), stderr]).toMatchObject([{ success: true, unread: [] }, ""]);
  expect(await ask("Quiet?", "--session", "s", "-q")).toMatchObject({ code: 0, stderr: "" });
  const gone = await ask("Without a session?", "-c", ".", "--no-store");
  expect(gone.stderr).not.toContain("belay show");
});

test("files that could not be read are told by the load, by an ask's last line, by show and by the page", async () => {
  const server = await startModelServer(() => ({
    text: "",
    tools: [{ id: "u", name: "rlm_exec", arguments: { code: 'answer("No addendum.")' } }],
  }));
  onTestFinished(() => server.close());
  const files = { "lease.txt": "The rent is 100.\n", "addendum\u202e.pdf": "%PDF-1.4 cut off", "logo.png": "P\0" };
  const [cwd, home] = [folderWith(files), join(folderWith(), "home")];
  const belay = (...args: string[]) => belayHere(args, { cwd, home });
  const ask = (...args: string[]) => belay("ask", ...args, "--model", "local/m", "--base-url", server.url);
  const unread = "1 file could not be read: addendum\\u202e.pdf (";
  const first = await ask("Is there an addendum?", "-c", ".", "--session", "s");
  expect(first.stderr).toContain(`.: ${unread}`);
  expect(first.stderr).toContain(".: skipped 1 file: logo.png (binary)\n");
  expect(first.stderr.trimEnd().split("\n").at(-1)).toMatch(/^A model read .*\. 1 file could not be read: addendum/);
  const again = await ask("Again?", "--session", "s", "--quiet");
  expect(again.stderr).toMatch(/^1 file could not be read: addendum\\u202e\.pdf \([^\n]+\)\.\n$/);
  const { skipped } = JSON.parse((await ask("Again?", "--session", "s", "--json")).stdout);
  expect(skipped).toMatchObject({ count: 2, unread: 1, files: [{ path: "addendum\u202e.pdf" }, { path: "logo.png" }] });
  expect((await belay("show", "s")).stdout).toContain(`unread    ${unread}`);
  const listed = await belay("show", "s", "--unread");
  expect(listed.stdout).toMatch(/^lease\.txt\naddendum\\u202e\.pdf: could not be read: [^\n]+\n$/);
  const page = JSON.parse((await belay("view", "s", "--json")).stdout);
  expect(page.trace.coverage.unread).toMatchObject({
    count: 1,
    files: [["addendum\u202e.pdf", skipped.files[0].reason]],
  });
  const bare = JSON.parse((await belay("view", "s", "--json", "--no-texts")).stdout);
  expect(bare.trace.coverage.unread).toEqual({ count: 1, files: [] });
});
