import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { openBrowser, tunnelTo } from "../../../src/cli/store/view.ts";
import { folderWith } from "../../support/tree.ts";
import { finished, json, said, startBelay } from "./belay.ts";
import { belayHere } from "./in-process.ts";

/** A store with a session that has failed once. */
async function storeWith() {
  const home = folderWith();
  const run = (...args: string[]) => belayHere(args, { home, cwd: home });
  expect(await run("exec", "-e", "print('a long word')", "--session", "demo")).toMatchObject({ code: 0 });
  expect(await run("exec", "-e", "throw new Error('bad')", "--session", "demo")).toMatchObject({ code: 1 });
  return { home, run };
}

const headIn = (file: string) =>
  JSON.parse(gunzipSync(Buffer.from(/id="head">([^<]*)/.exec(file)?.[1] ?? "", "base64")).toString());

test("a session is written as a file of its owner's alone, which is replaced later", async () => {
  const { home, run } = await storeWith();
  const file = join(home, "trace.html");
  expect(await run("view", "demo", "-o", "trace.html")).toMatchObject({ code: 0, stdout: "" });
  const head = headIn(readFileSync(file, "utf8"));
  expect(head).toMatchObject({ trace: 2, texts: "all", session: { name: "demo", status: "idle" } });
  expect(head.execs).toMatchObject([{ status: "ok" }, { status: "failed", error_code: "js_error" }]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const last = await run("view", "-o", "trace.html");
  expect(last.stderr).toMatch(
    /^demo is the session changed last\ntrace\.html: 0 calls, \d\d\.\d KB, texts included\. It holds/,
  );
  expect(readdirSync(home).filter((name) => name.includes(".part"))).toEqual([]);
});

test("a file that is something else stays, also behind a link", async () => {
  const { home, run } = await storeWith();
  writeFileSync(join(home, "notes.html"), "<!doctype html>\n<html>mine</html>");
  symlinkSync("notes.html", join(home, "link.html"));
  for (const file of ["notes.html", "link.html"]) {
    expect(await run("view", "demo", "-o", file)).toMatchObject(
      said(2, `${file} is there, and is not a page of belay view`),
    );
  }
  expect(readFileSync(join(home, "notes.html"), "utf8")).toContain("mine");
  expect(await run("view", "demo", "-o", "none/trace.html")).toMatchObject(said(1, "the folder none does not exist"));
  expect(await run("view", "demo", "-o", "notes.html/trace.html")).toMatchObject(said(1, "cannot be written: ENOTDIR"));
});

test("stdout takes the same page, without texts if that is asked for, and its figures as JSON", async () => {
  const { run } = await storeWith();
  const whole = await run("view", "demo", "-o", "-");
  expect(whole).toMatchObject({ code: 0, stderr: "" });
  expect(headIn(whole.stdout)).toMatchObject({ texts: "all" });
  const bare = await run("view", "demo", "-o", "-", "--no-texts");
  expect(headIn(bare.stdout)).toMatchObject({ texts: "none", session: { name: null } });
  expect(bare.stdout).not.toContain('id="x0"');
  const told = json(await run("view", "demo", "--json"));
  expect(told).toMatchObject({ success: true, trace: { trace: 2, calls: [], execs: [{ number: 1 }, { number: 2 }] } });
});

test("with a second session the page has the comparison of both", async () => {
  const { home, run } = await storeWith();
  expect(await run("exec", "-e", "'another end'", "--session", "other")).toMatchObject({ code: 0 });
  expect(await run("exec", "-e", "'an end'", "--session", "demo")).toMatchObject({ code: 0 });
  const told = "the result changed in 1 line";
  expect(await run("view", "other", "demo", "-o", "both.html")).toMatchObject({ code: 0 });
  const { session, against } = headIn(readFileSync(join(home, "both.html"), "utf8"));
  expect([session.name, against.against.name, against.told]).toEqual(["other", "demo", told]);
  expect(against.result.hunks).toContain("-an end");
  const { trace } = json(await run("view", "other", "demo", "--json", "--no-texts"));
  expect(trace.against).toMatchObject({ told, against: { name: null }, result: { hunks: null } });
  expect(headIn((await run("view", "other", "-o", "-")).stdout)).not.toHaveProperty("against");
  expect(await run("view", "other", "none", "-o", "-")).toMatchObject(said(1, "session none not found"));
  expect(await run("view", "other", "demo", "demo")).toMatchObject(
    said(2, "view takes a session, and one to compare it with"),
  );
});

test("a run has its jobs on a page, and each of them one of its own", async () => {
  const inputs = '{"id":"a","n":21}\n{"id":"b c","n":0}\n';
  const script = "if (job.n === 0) throw new Error('no mail in it'); job.n * 2";
  const home = folderWith({ "twice.js": script, "in.jsonl": inputs });
  const run = (...args: string[]) => belayHere(args, { home, cwd: home });
  expect(await run("batch", "twice.js", "--jobs", "in.jsonl", "--name", "twice", "-o", "-")).toMatchObject({ code: 1 });
  const job = headIn((await run("view", "twice/a", "-o", "-")).stdout);
  expect(job).toMatchObject({
    subject: "session",
    session: { name: "twice/a" },
    execs: [{ status: "ok", label: script }],
  });
  expect(headIn((await run("view", "twice/a", "-o", "-", "--no-texts")).stdout).session.name).toBeNull();

  const whole = await run("view", "twice", "-o", "run.html");
  expect(whole.stderr).toMatch(/^run\.html: 2 jobs, .*, texts included\. It holds ids of jobs and words of errors;/);
  const told = json(await run("view", "twice", "--json"));
  expect(told.trace).toMatchObject({
    subject: "run",
    session: { name: "twice", status: "over" },
    calls: { length: 2 },
  });
  expect(told.trace.execs).toMatchObject([{ kind: "run", status: "failed", from: 0, to: 2 }]);
  expect(told.trace.errors).toContain("js_error");
  const bare = await run("view", "run:twice", "-o", "-", "--no-texts");
  expect(headIn(bare.stdout)).toMatchObject({ subject: "run", texts: "none", session: { name: null }, chunks: [] });

  // A session of the same name is what that name means.
  await run("exec", "-e", "1", "--session", "twice");
  const both = await Promise.all(["twice", "run:twice"].map((name) => run("view", name, "-o", "-")));
  expect(both.map(({ stdout }) => headIn(stdout).subject)).toEqual(["session", "run"]);
  expect(await run("view", "run:none", "-o", "-")).toMatchObject(said(1, "the store has no run none (run_not_found)"));
  expect(await run("view", "run:twice", "run:b", "-o", "-")).toMatchObject(
    said(2, "view compares sessions, and twice is a run\ntry: belay show twice --against b"),
  );
  expect(await run("view", "twice", "none", "-o", "-")).toMatchObject(said(1, "session none not found"));
});

test("lines for a shell name the store, unless texts are left out", async () => {
  const { home, run } = await storeWith();
  const other = join(home, "other store");
  await run("exec", "-e", "1", "--session", "there", "--store", other);
  const storeOf = async (...args: string[]) => headIn((await run("view", ...args, "-o", "-")).stdout).store;
  expect(await storeOf("there", "--store", other)).toBe(` --store '${other}'`);
  expect(await storeOf("there", "--store", other, "--no-texts")).toBe("");
  expect(await storeOf("demo")).toBe("");
});

test("what cannot be meant is refused", async () => {
  const { run } = await storeWith();
  expect(await run("view", "other", "-o", "-")).toMatchObject(said(1, "session other not found (session_not_found)"));
  expect(await run("view", "demo", "-o", "a.html", "--json")).toMatchObject(
    said(2, "--output and --json exclude each other"),
  );
  expect(await run("view", "demo", "-o", "a.html", "--max-mb", "0")).toMatchObject(said(2, "--max-mb is 0"));
  const both = await run("view", "demo", "-o", "a.html", "--max-mb", "2", "--no-texts");
  expect(both).toMatchObject(said(2, "--max-mb and --no-texts exclude each other"));
  const empty = await belayHere(["view", "-o", "-"], { home: folderWith() });
  expect(empty).toMatchObject(said(1, "no session found in"));
});

test("a session is served until Ctrl-C, to who has the address", async () => {
  const { home } = await storeWith();
  const child = startBelay(["view", "demo"], { home, env: { SSH_CONNECTION: "" } });
  const answers: unknown[] = [];
  const run = await finished(child, async (_, stdout) => {
    const { origin, hash } = new URL(/^http:.*/.exec(stdout)?.[0] ?? "http://none");
    if (hash === "" || answers.length > 0) return;
    answers.push(null);
    const headers = { Authorization: `Bearer ${hash.replace("#token=", "")}` };
    const head = await fetch(`${origin}/head?of=`, { headers });
    answers.push((await head.json()).session.name, (await fetch(`${origin}/head?of=`)).status);
    child.kill("SIGINT");
  });
  expect(answers).toEqual([null, "demo", 401]);
  expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#token=\S+\n$/) });
  expect(run.stderr).toBe("Whoever has this address sees the session. Ctrl-C ends it.\n");
});

test("a browser is opened by a file of the user's alone, and only where there is a display", async () => {
  const url = "http://127.0.0.1:1/#token=secret";
  for (const env of [{}, { DISPLAY: ":0", SSH_TTY: "/dev/pts/1" }, { DISPLAY: ":0", SSH_CONNECTION: "a b" }]) {
    expect(openBrowser(url, env, "linux")).toBeNull();
  }
  expect(openBrowser(url, {}, "aix")).toBeNull();
  const folder = folderWith({ "xdg-open": '#!/bin/sh\necho "$1" > "$OPENED.part" && mv "$OPENED.part" "$OPENED"\n' });
  chmodSync(join(folder, "xdg-open"), 0o755);
  const opened = join(folder, "opened");
  const env = { DISPLAY: ":0", PATH: `${folder}:${process.env.PATH}`, OPENED: opened };
  let file = "";
  {
    using _browser = openBrowser(url, env, "linux");
    await vi.waitFor(() => expect(readFileSync(opened, "utf8")).toMatch(/^file:.*\/open\.html\n$/));
    file = fileURLToPath(readFileSync(opened, "utf8").trim());
    expect(readFileSync(file, "utf8")).toContain(`url=${url}"`);
    expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
  }
  expect(existsSync(file)).toBe(false);
});

test("over SSH a line is told that leads a port of the user's own computer to the page", () => {
  const url = "http://127.0.0.1:4711/#token=secret";
  expect(tunnelTo(url, { SSH_CONNECTION: "10.0.0.2 50000 10.0.0.9 22" })).toBe(
    "ssh -N -L 4711:127.0.0.1:4711 10.0.0.9",
  );
  for (const env of [{ SSH_CONNECTION: undefined }, { SSH_CONNECTION: "" }]) expect(tunnelTo(url, env)).toBeNull();
});
