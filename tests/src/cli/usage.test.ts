import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { COMMANDS } from "../../../src/cli/commands/index.ts";
import { parseArguments } from "../../../src/cli/flags/arguments.ts";
import { sessionFlags } from "../../../src/cli/flags/session-flags.ts";
import { commandLine, UsageError } from "../../../src/cli/flags/usage.ts";
import { commandHelp, help, helpWidth, wholeHelp } from "../../../src/cli/render/help.ts";
import { run } from "../../../src/cli/run.ts";
import { KEYS } from "../../../src/settings/index.ts";
import { type ChatBody, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belay } from "./belay.ts";
import { belayHere } from "./in-process.ts";

/** Message and line of the UsageError that these arguments of a command give. */
function refusal(name: string, ...args: string[]): string {
  const command = COMMANDS.find((known) => known.name === name);
  try {
    sessionFlags(parseArguments(name, command?.options ?? [], args), name);
    return "accepted";
  } catch (error) {
    if (error instanceof UsageError) return `${error.message} | ${error.tryThis}`;
    throw error;
  }
}

test.each<[args: string[], expected: string | RegExp]>([
  [["--jsn", "a b.js"], "unknown option --jsn; did you mean --json? | belay exec --json 'a b.js'"],
  [
    ["--max-output-byte=7"],
    "unknown option --max-output-byte; did you mean --max-output-bytes? | belay exec --max-output-bytes=7",
  ],
  [["--memory", "9"], "unknown option --memory; did you mean --memory-mb? | belay exec --memory-mb 9"],
  [["-x"], "unknown option -x | belay help exec"],
  [["--json=yes"], "--json takes no value | belay help exec"],
  [["-c"], "-c needs PATH | belay help exec"],
  [["-c", "--json"], "-c needs PATH, but --json follows | belay help exec"],
  [["-c", "-docs"], "-c needs PATH, but -docs looks like an option (if it is a path, write ./-docs) | belay help exec"],
  [["--root="], "--root needs DIR, but it is empty | belay help exec"],
  [["--max-execution-ms", "1.5"], "--max-execution-ms must be a whole number from 1 | belay help exec"],
  [["--max-output-bytes", "9e99"], "--max-output-bytes must be a whole number from 1 | belay help exec"],
  [["--max-cost-usd", "$2"], "--max-cost-usd must be a number of dollars above 0 | belay help exec"],
  [["--depth", "0"], "accepted"],
  [
    ["--api-key-env", "sk-1"],
    "--api-key-env must be the name of an environment variable, not the key itself | belay help exec",
  ],
  [["--base-url", "", "--api-key-env=", "--max-cost-usd", ""], "accepted"],
  [["--model", ""], "--model must be PROVIDER/ID, such as anthropic/claude-sonnet-5 | belay help exec"],
  [["-c", "-", "-c", "-"], "stdin can be read only once: -c - is given twice | belay help exec"],
  [["-e", "-1", "--", "--json", "-c"], "accepted"],
  [["-s", "été 2.b", "-c", "x", "--append"], "accepted"],
  [["--session", "-x"], /^--session: "-x" is not a valid session name\. Use up to 100 letters.* \| belay help exec$/],
  [["-s", "a@b"], /^--session: "a@b" is not a valid session name/],
  [["-s", ""], /^--session: "" is not a valid session name/],
  [["--reload", "-c", "x"], "--reload needs --session NAME | belay help exec"],
  [["--discard"], "--discard needs --session NAME | belay help exec"],
  [["-s", "a", "--append"], "--append needs --context PATH | belay help exec"],
  [["-s", "a", "-c", "x", "--append", "--reload"], "--reload and --append exclude each other | belay help exec"],
  [["-s", "a", "--no-store"], "--no-store and --session exclude each other | belay help exec"],
  [["--cache", "--no-store"], "--no-store and --cache exclude each other | belay help exec"],
  [["--on-restart", "ask"], "--on-restart is ask: it takes send or fail | belay help exec"],
  [["--json", "--format", "csv"], "--json prints envelopes; --format needs --output | belay help exec"],
])("exec %j", (args, expected) => {
  if (typeof expected === "string") expect(refusal("exec", ...args)).toBe(expected);
  else expect(refusal("exec", ...args)).toMatch(expected);
});

test("arguments keep their order, and the last of a repeated number counts", () => {
  const command = COMMANDS.find(({ name }) => name === "exec");
  const args = ["a.js", "-e", "-1", "-cdocs", "--memory-mb", "16", "--memory-mb=32", "--", "--b.js"];
  const parsed = parseArguments("exec", command?.options ?? [], args);
  expect(parsed.inOrder.map(({ option, value }) => [option, value])).toEqual([
    [null, "a.js"],
    ["eval", "-1"],
    ["context", "docs"],
    ["memory-mb", "16"],
    ["memory-mb", "32"],
    [null, "--b.js"],
  ]);
  expect(sessionFlags(parsed, "exec")).toEqual({
    ...{
      command: "exec",
      contexts: ["docs"],
      loading: { raw: false, includeSecrets: false, lossy: false },
      settings: { memory_mb: 32 },
      store: expect.any(String),
    },
    ...{ isStoreNamed: false, session: null, change: null, discard: false, workflow: null, options: {} },
    ...{
      output: { file: null, format: null },
      waiting: { resendDoubtful: false },
      quiet: false,
      verbose: false,
      typed: args,
    },
  });
});

test.each<[args: string[], problem: RegExp, line: string]>([
  [["what is this?"], /^a question is not a command/, "belay ask 'what is this?' -c ."],
  [["what", "is", "this"], /^a question is not a command/, "belay ask 'what is this' -c ."],
  [["why?", "--quiet"], /^a question is not a command/, "belay ask 'why?' -c . --quiet"],
  [["這是什麼"], /^a question is not a command/, "belay ask '這是什麼' -c ."],
  [["What is due?", "tests"], /^a question is not a command/, "belay ask 'What is due?' -c tests"],
  [["tests", "What is due?"], /^tests is not a command; ask/, "belay ask 'What is due?' -c tests"],
  [["tests", "what", "is", "due"], /^tests is not a command; ask/, "belay ask 'what is due' -c tests"],
  [["what", "is", "in", "tests"], /^a question is not a command/, "belay ask 'what is in tests' -c tests"],
  [["tests"], /^tests is not a command; ask/, "belay ask 'What is this about?' -c tests"],
  [["what", "are", "tests", "-q"], /^a question/, "belay ask 'what are tests' -c tests -q"],
  [["why?", "-c", "x"], /^a question/, "belay ask 'why?' -c x"],
  [["-c", "tests", "what is due"], /^options come after/, "belay ask -c tests 'what is due'"],
  [["-c", "tests", "why?"], /^options come after/, "belay ask -c tests 'why?'"],
  [["-c", "tests"], /^options come after/, "belay ask 'What is this about?' -c tests"],
  [["-c", "tests", "-e", "1"], /^options come after/, "belay exec -c tests -e 1"],
  [["serach", "lease", "tests"], /^unknown command serach; did you mean search/, "belay search lease tests"],
  [["foo"], /^unknown command foo$/, "belay --help"],
])("the first line of a newcomer is told as the line to type: %j", async (args, problem, line) => {
  const { code, stderr } = await belayHere(args, { home: folderWith() });
  const [told, typed] = stderr.trimEnd().split("\n");
  expect([code, told?.replace("belay: ", ""), typed]).toEqual([2, expect.stringMatching(problem), `try: ${line}`]);
});

test.each<[args: string[], env: Record<string, string>, problem: string, line: string]>([
  [["--model", "claude-haiku-4-5"], {}, "--model must be", "belay ask q --model anthropic/claude-haiku-4-5"],
  [["--model=gpt5"], {}, "--model must be", "belay ask q --model=openai/gpt-5"],
  [["--sub-model", "haiku"], {}, "--sub-model must be", "belay ask q --sub-model anthropic/claude-haiku-4-5"],
  [
    ["--model", "claude-haiku-4-5"],
    { OPENROUTER_API_KEY: "k" },
    "--model must be",
    "belay ask q --model openrouter/anthropic/claude-haiku-4.5",
  ],
  [["--model", "q", "--base-url", "http://h/v1"], {}, "--model", "belay ask q --model local/q --base-url http://h/v1"],
  [[], { BELAY_MODEL: "gpt5" }, "BELAY_MODEL must be", "export BELAY_MODEL=openai/gpt-5"],
])("a model without its provider is named whole: %j with %j", async (args, more, problem, line) => {
  const keys = { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", OPENROUTER_API_KEY: "" };
  const env = { PI_CODING_AGENT_DIR: folderWith(), ...keys, ...more };
  const { code, stderr } = await belayHere(["ask", "q", ...args], { home: folderWith(), env });
  expect([code, stderr]).toEqual([2, expect.stringContaining(`belay ask: ${problem}`)]);
  expect(stderr).toContain(`\ntry: ${line}\n`);
});

test("what is not like a model's name may be a key, and is not repeated", async () => {
  const { code, stderr } = await belayHere(["ask", "q", "--model", "sk-0123456789abcdef"], { home: folderWith() });
  expect([code, stderr]).toEqual([2, expect.not.stringContaining("sk-0")]);
  expect(stderr).toContain("no model is named like it");
});

test("wrong usage ends with code 2 and a line that can be typed", async () => {
  const folder = folderWith({ "docs/a.md": "a", "cell.js": "1", "latin1.js": new Uint8Array([0xe9]) });
  const [docs, cell, latin1] = ["docs", "cell.js", "latin1.js"].map((name) => join(folder, name));
  const cases: [args: (string | undefined)[], stderr: string][] = [
    [[cell], `belay: ${cell} is not a command; exec runs cells\ntry: belay exec ${cell}\n`],
    [["help", "exce"], "belay: unknown command exce; did you mean exec?\ntry: belay help exec\n"],
    [["-e", "1"], "belay: options come after the command; -e is not an option of belay itself\ntry: belay exec -e 1\n"],
    [["-q"], "belay: options come after the command; -q is not an option of belay itself\ntry: belay --help\n"],
    [["exec", "-c", docs], `try: belay exec -e 'stats()' -c ${docs}\n`],
    [["exec"], "name a FILE, pass -e CODE, or - to read it from stdin\ntry: belay exec -e 'stats()' -c .\n"],
    [["exec", docs], `to load it as the context use -c\ntry: belay exec -e 'stats()' -c ${docs}\n`],
    [["exec", "P.length", "-c", "docs"], "belay exec: P.length: no such file\ntry: belay help exec\n"],
    [["exec", "stats()", "-c", "docs"], "code is passed with -e\ntry: belay exec -e 'stats()' -c docs\n"],
    [["exec", "-", "-c", "-"], "`-` is given twice, but stdin can be read only once\ntry: belay help exec\n"],
    [["exec", latin1], `belay exec: ${latin1} is not UTF-8 text\n`],
    [["exec", "--dry-run", "-e", "1", cell], "belay exec: --dry-run takes one cell, and there are 2"],
    [["exec", "--dry-run", "-e", "1", "-o", "x"], "--output needs a result, and --dry-run prints an estimate"],
    [
      ["exec", "-e", "1", "-o", "-"],
      "belay exec: --output is -: it takes a file; on stdout the result is without it\n",
    ],
    [
      ["exec", "-e", "1", "--format", "xml"],
      "--format is xml: it takes json, jsonl, csv, table or raw\ntry: belay help exec\n",
    ],
    [["query", "why", "-c", docs, "--json", "--format", "csv"], "--json prints envelopes; --format needs --output\n"],
    [["query", "-c", docs], "belay query: no question given\ntry: belay query 'What is this about?' -c .\n"],
    [["query", "what", "is it", "-c", docs], `put it in quotes\ntry: belay query 'what is it' -c ${docs}\n`],
    [
      ["query", "why?", "-c", docs, cell, latin1],
      `each -c takes one path; did you mean -c ${cell} -c ${latin1}?\ntry: belay query 'why?' -c ${docs} -c ${cell} -c ${latin1}\n`,
    ],
    [["query", "why?"], "no context given\ntry: belay query 'why?' -c .\n"],
    [
      ["query", "why", "-c", docs, "--max-sections", "51"],
      "belay query: --max-sections is 51: it takes a whole number from 1 to 50\n",
    ],
    [["query", "why", "-c", docs, "--search-strategy", "x"], "is x: it takes regex, bm25, routing or auto\n"],
    [["repl", docs], `belay repl: repl takes no argument ${docs}\ntry: belay repl -c ${docs}\n`],
    [["repl", "-c", "-"], "use belay exec\ntry: belay exec -e 'stats()' -c -\n"],
    [["exec", "--dry-run", "-e", "1", "-s", "a", "--discard"], "--dry-run changes nothing, and --discard would"],
    [["resume", "a", "b"], "belay resume: resume takes one session\ntry: belay resume a\n"],
    [["resume", "-c", "x"], "belay resume: unknown option -c\ntry: belay help resume\n"],
    [["rm"], "belay rm: name a session; belay sessions lists them\ntry: belay sessions\n"],
    [["fork", "a", "b"], "belay fork: fork takes one session\ntry: belay fork a\n"],
    [["fork", "a", "--name", "b@c"], 'belay fork: --name: "b@c" is not a valid session name.'],
    [["gc", "--older-than", "30"], "--older-than is 30: it takes an age such as 30d, 12h or 2w\ntry: belay help gc\n"],
    [["gc", "--pi"], "--pi needs --older-than AGE\ntry: belay help gc\n"],
    [["show", "--exec", "1", "--last"], "--exec and --last exclude each other\ntry: belay help show\n"],
    [["show", "--call", "x"], "--call is x: it takes a whole number from 1\ntry: belay help show\n"],
    [["sessions", "a"], "belay sessions: sessions takes no argument a\ntry: belay help sessions\n"],
    [["doctor", "twice"], "belay doctor: doctor takes no argument twice\ntry: belay help doctor\n"],
  ];
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  for (const [args, stderr] of cases) {
    written.length = 0;
    expect(await run(args.map(String)), stderr).toBe(2);
    expect(written.join("")).toContain(stderr);
  }
  const spawned = await belay(["exce", "-e", "1"]);
  const stderr = "belay: unknown command exce; did you mean exec?\ntry: belay exec -e 1\n";
  expect(spawned).toEqual({ code: 2, stdout: "", stderr });
});

test("what a flag says of other flags and of configuration is there", () => {
  const flags = COMMANDS.flatMap(({ options }) => options);
  const names = flags.map(({ name }) => name);
  for (const { excludes = [], needs = [] } of flags)
    expect(names).toEqual(expect.arrayContaining([...excludes, ...needs]));
  expect(KEYS).toEqual(expect.arrayContaining(flags.flatMap(({ setting }) => setting ?? [])));
});

test("the whole help names every option and example of every command, in lines that are not long", () => {
  for (const command of COMMANDS) {
    for (const line of command.examples[0].lines) expect(help()).toContain(`$ ${commandLine(line)}\n`);
    for (const option of command.options) expect(wholeHelp(command)).toContain(`--${option.name}`);
    for (const line of command.examples.flatMap(({ lines }) => lines))
      expect(wholeHelp(command)).toContain(`$ ${commandLine(line)}\n`);
    for (const text of [wholeHelp(command), commandHelp(command)]) {
      const [usage = ""] = text.split("\n\n").slice(1);
      const named = usage.match(/--[a-z-]+/g) ?? [];
      expect(named).toEqual([...new Set(named)]);
    }
  }
  // Help lists options that have no heading too.
  for (const command of COMMANDS) {
    const bare = { ...command, options: command.options.map(({ heading: _, ...flag }) => flag) };
    for (const { name } of command.options) expect(wholeHelp(bare)).toContain(`--${name}`);
  }
  const texts = COMMANDS.flatMap((command) => [wholeHelp(command), commandHelp(command)]);
  const lengths = texts.flatMap((text) => text.split("\n")).map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(100);
});

test("the help of a command with many options has those that most people need, and the way to all", () => {
  for (const command of COMMANDS) {
    const { name, options, common } = command;
    expect([name, common !== undefined]).toEqual([name, options.length > 25]);
    if (common === undefined) continue;
    const names = options.map((option) => option.name);
    expect(names, name).toEqual(expect.arrayContaining([...common]));
    const text = commandHelp(command);
    const listed = names.filter((option) => new RegExp(`^ {2}(?:-.,| {3}) --${option}\\b(?!-)`, "m").test(text));
    expect(listed.toSorted(), name).toEqual([...new Set(common)].toSorted());
    expect(listed.length, name).toBeLessThan(20);
    expect(text).toMatch(`These are ${common.length} of ${options.length} options.`);
    expect(text).toMatch(new RegExp(`\\n {2}\\$ belay help ${name} --all\\n$`));
  }
});

test("the whole help comes by --all, and as data by --json", async () => {
  const exec = COMMANDS.find(({ name }) => name === "exec");
  if (!exec) throw new Error("there is no exec");
  const lines = [
    ["help", "exec"],
    ["exec", "--help"],
    ["help", "--all", "exec"],
    ["exec", "-c", "x", "--all", "-h"],
  ];
  const runs = await Promise.all(lines.map((line) => belayHere(line, { cwd: folderWith() })));
  const [short, whole] = [commandHelp(exec), wholeHelp(exec)];
  expect(runs.map(({ stdout }) => stdout)).toEqual([short, short, whole, whole]);
  const data = JSON.parse((await belayHere(["help", "exec", "--json"], { cwd: folderWith() })).stdout);
  expect(data).toMatchObject({ name: "exec", summary: exec.summary, takes: "[FILE | -]..." });
  expect(data.options.map(({ name }: { name: string }) => name)).toEqual(exec.options.map(({ name }) => `--${name}`));
  const more = await belayHere(["help", "exec", "--al"], { cwd: folderWith() });
  expect(more).toMatchObject({
    code: 2,
    stderr: "belay: help takes a command, --all and --json, and no --al\ntry: belay help exec\n",
  });
});

describe("the examples of help run", () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-examples-"));
  let server: ModelServer;
  beforeAll(async () => {
    writeFileSync(join(folder, "a.txt"), "TODO\n");
    writeFileSync(join(folder, "reviews.csv"), "id,text\n1,good\n");
    writeFileSync(
      join(folder, "review.js"),
      'export const meta = { name: "review", description: "one agent" };\nreturn await agent("Review a.txt.");\n',
    );
    writeFileSync(join(folder, "questions.jsonl"), '{"question":"What is left?","answer":"TODO","file":"a.txt"}\n');
    const look = { id: "1", name: "rlm_exec", arguments: { code: "peek(0, 4)" } };
    // The model of an ask looks before it answers.
    const isAsk = ({ tools }: ChatBody) => tools?.some(({ function: { name } }) => name === look.name) === true;
    server = await startModelServer(
      ({ body }) => {
        if (isAsk(body) && body.messages.every(({ role }) => role !== "tool")) return { tools: [look] };
        return { text: JSON.stringify(body).includes("praise") ? '{"label":"praise","why":"good"}' : "the answer" };
      },
      ["scripted", "sonnet"],
    );
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  // demo.test.ts runs the demo. Each example finds what those before it left, as in a new user's store.
  test.each(COMMANDS.filter(({ name }) => name !== "demo"))("$name", async ({ name, options, examples }) => {
    const env = { BELAY_MODEL: "local/scripted", BELAY_BASE_URL: server.url };
    const home = join(folder, "home");
    const asked = server.requests.length;
    for (const line of examples.flatMap(({ lines }) => lines)) {
      const isOwn = line[0] === name;
      // What takes long on a busy machine would be said on stderr.
      const quiet = isOwn && options.some((option) => option.name === "quiet" && !option.needs) ? ["-q"] : [];
      const input = name === "repl" ? "1 + 1\n" : "";
      const { code, stdout, stderr } = await belayHere([...line, ...quiet], { cwd: folder, home, env, input });
      // Of a page stderr says where it is.
      expect([code, stderr.replace(/^.*\.html.*\n/m, "")], line.join(" ")).toEqual([0, ""]);
      if (isOwn && !QUIET.has(line.join(" "))) expect(stdout, line.join(" ")).toMatch(/./);
    }
    expect(server.requests).toHaveLength(asked + (REQUESTS.get(name) ?? 0));
  });
});

/** Lines that only write a file, or change a session. */
const QUIET = new Set([
  "exec -e let n = 42 --session demo",
  "view demo -o demo.html",
  "batch reviews.js --jobs reviews.csv -o out.jsonl",
]);

/** Requests that a command's examples send. */
const REQUESTS = new Map(Object.entries({ exec: 1, ask: 8, query: 6, batch: 1, workflow: 1 }));

test("help is wrapped at the width of the terminal, within reason", () => {
  expect([30, 60, 500].map((columns) => helpWidth({ isTTY: true, columns }))).toEqual([40, 60, 100]);
  expect(helpWidth({ isTTY: false, columns: 60 })).toBe(100);
  for (const width of [40, 60, 80]) {
    const helps = COMMANDS.flatMap((command) => [commandHelp(command, width), wholeHelp(command, width)]);
    const texts = [help(width), ...helps];
    const lines = texts.flatMap((text) => text.split("\n")).filter((line) => !/^ +\$ /.test(line));
    const long = lines.filter((line) => line.length > width);
    expect(long, String(width)).toEqual([]);
  }
});

test("help names every exit code", () => {
  for (const code of [0, 1, 2, 3, 4, 129, 130, 143]) expect(help()).toMatch(new RegExp(`^ +${code} +\\w`, "m"));
});

test("on Windows the examples have the quotes of PowerShell", () => {
  const [exec] = COMMANDS.filter(({ name }) => name === "exec");
  if (!exec) throw new Error("there is no exec");
  for (const text of [help(100, "win32"), commandHelp(exec, 100, "win32"), wholeHelp(exec, 100, "win32")])
    expect(text).toContain('$ belay exec -e "list_docs().map(({ id }) => id).slice(0, 5)" -c .\n');
  expect(commandHelp(exec, 100, "win32")).toContain(
    "$ belay exec -e 'await llm_query(`Sum up: ` + peek(0, 4000))' -c .",
  );
  expect(help(100, "win32")).not.toMatch(/\$ belay [a-z]+ .*'/);
});

test("help and version, by all their names", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  const [one, two] = await Promise.all([belay(["--version"]), belay(["exec", "-c", "x", "--help"])]);
  expect(one).toEqual({ code: 0, stdout: `belay ${version}\n`, stderr: "" });
  expect(two.stdout).toMatch(/^belay exec: .*\n\nusage: belay exec \[FILE \| -\]/);
});

const SECRET_URL = "postgres://me:s3cret@127.0.0.1:1/db";

test("a line to type has no --store with a password, and the user is told where to put the URL", async () => {
  const told =
    "the URL of --store has a password, so lines to type next leave it out: put the URL into BELAY_STORE for them\n";
  const jobs = await belayHere(["jobs", "--store", SECRET_URL]);
  expect(jobs).toMatchObject({ code: 1, stderr: expect.stringContaining(told) });
  const kept = await belayHere(["jobs", "--store", SECRET_URL], { env: { BELAY_STORE: SECRET_URL } });
  expect(kept.stderr).not.toContain("has a password");
  const plain = await belayHere(["jobs", "--store", SECRET_URL.replace(":s3cret", "")]);
  expect(plain.stderr).not.toContain("has a password");
  const mistyped = await belayHere(["jbs", `--store=${SECRET_URL}`, "mine"]);
  expect(mistyped).toMatchObject({ code: 2, stderr: expect.stringContaining("try: belay jobs mine\n") });
  expect(commandLine(["jobs", "--store", SECRET_URL, "mine"])).toBe("belay jobs mine");
  expect(commandLine(["jobs", "--store", "postgres://me@db/x", "mine"])).toBe(
    "belay jobs --store postgres://me@db/x mine",
  );
  for (const { stdout, stderr } of [jobs, kept, mistyped]) expect(stdout + stderr).not.toContain("s3cret");
});

test.each([
  ["ask", /--max-time-ms N .*\(default 1800000\)/],
  ["batch", /--max-time-ms N .*\(default 3600000\)/],
  ["exec", /--max-time-ms N .*\(default 300000; 1800000/],
  ["mcp", /--session NAME .*BELAY_SESSION/],
])("help %s says what the command does if nobody says otherwise", async (name, line) => {
  const { stdout } = await belayHere(["help", name, "--all"], { cwd: folderWith() });
  expect(stdout).toMatch(line);
});
