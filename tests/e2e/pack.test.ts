import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { packWithoutTypes } from "../../scripts/package.ts";
import { mustRun, ROOT, run } from "../../scripts/process.ts";
import { pageSource } from "../../src/view/index.ts";
import { ORIGINALS } from "../src/documents/originals.ts";
import { zip } from "../src/documents/packed.ts";
import { newUserOf } from "../support/pi/installed.ts";
import { subCallAnswer } from "../support/pi/model.ts";
import { NEWEST_PI } from "../support/pi/process.ts";
import { HAS_TMUX } from "../support/pi/terminal.ts";

// The tarball that npm would publish, installed into an empty folder. `npm run verify -- package` looks at its types, and tries it over a server.

const INSTALLED = mkdtempSync(join(tmpdir(), "belay-installed-"));
let missing: string | undefined;

beforeAll(async () => {
  const dependencies = { "belay-rlm": `file:${await packWithoutTypes(INSTALLED)}` };
  writeFileSync(join(INSTALLED, "package.json"), JSON.stringify({ private: true, dependencies }));
  writeFileSync(join(INSTALLED, "package-lock.json"), JSON.stringify(lockWith(dependencies)));
  const install = await run("npm", ["install", "--offline", "--no-audit", "--no-fund"], { cwd: INSTALLED });
  if (install.output.includes("ENOTCACHED")) {
    missing = /request to (\S+) failed/.exec(install.output)?.[1] ?? "a dependency";
    console.log(`skipped: npm's cache does not hold ${missing}, and this test does not use the network`);
  } else {
    expect(install.code, install.output).toBe(0);
  }
  return () => rmSync(INSTALLED, { recursive: true, force: true });
}, 120_000);

/**
 * The versions that this checkout has. npm finds them in its cache by their hashes, where `npm ci` has put them; the
 * address is not asked.
 */
function lockWith(dependencies: Readonly<Record<string, string>>) {
  const { packages }: { packages: Record<string, Locked> } = readJson("package-lock.json");
  const needed = Object.entries(packages).filter(([at, { dev, devOptional, optional }]) => {
    return at !== "" && !dev && !devOptional && !optional;
  });
  const addressed = needed.map(([at, locked]) => {
    const name = at.slice(at.lastIndexOf("node_modules/") + "node_modules/".length);
    return [at, { ...locked, resolved: `http://127.0.0.1/${name}-${locked.version}.tgz` }];
  });
  return { lockfileVersion: 3, packages: { "": { dependencies }, ...Object.fromEntries(addressed) } };
}

interface Locked {
  readonly version: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
}

const readJson = (file: string) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));

beforeEach(({ skip }) => {
  if (missing !== undefined) skip();
});

const LIBRARY_PROGRAM = `
const required = require("belay-rlm");
import("belay-rlm").then(async ({ openSession }) => {
  const session = await openSession();
  await session.load("notes.txt");
  await session.memory.put("word", "TODO");
  const answer = await session.exec("({ found: find(memory.get('word')).matches.length, best: search('first', 1)[0]?.text })");
  const { openRuns } = await import("belay-rlm/runs");
  const runs = await openRuns({ store: "state" });
  const run = await runs.submit({ script: "2 * job", inputs: [21] });
  const { state } = await run.follow();
  console.log(JSON.stringify({ ...answer.result_json, isRequired: required.openSession === openSession, state }));
  await runs.close();
  await session.close();
});
`;
/** The cells, and what docs name. Examples that measure the project itself stay in the repository. */
const EXAMPLES = [
  ...["01-explore.js", "02-multi-pass.js", "03-helpers.js", "04-batch.js", "README.md"],
  ...["batch", "eval", "hosts", "inspect", "library-functions.ts", "library-session.ts", "promptfoo", "workflows"],
];
const NOTES = "TODO: the first\nTODO: the second\n";

test("the command and the library work in it", async () => {
  writeFileSync(join(INSTALLED, "library.cjs"), LIBRARY_PROGRAM);
  writeFileSync(join(INSTALLED, "notes.txt"), NOTES);
  const options = { cwd: INSTALLED, env: { ...process.env, BELAY_HOME: join(INSTALLED, "home") } };
  const { version } = readJson("package.json");
  const belay = join(INSTALLED, "node_modules/.bin/belay");
  const shown = await mustRun(belay, ["--version"], options);
  expect(shown.stdout).toContain(version);

  const find = ["-c", "notes.txt", "-e", 'find("TODO").matches.length', "--json", "--session", "viewed"];
  const counted = await mustRun(belay, ["exec", ...find], options);
  expect(JSON.parse(counted.stdout)).toMatchObject({ success: true, result_json: 2, warnings: [] });

  const viewed = await mustRun(belay, ["view", "viewed", "-o", "-"], options);
  const { script } = await pageSource();
  // The page stands in a chunk of the package, as it was built.
  expect(viewed.stdout.includes(`<script>${script}</script>`)).toBe(true);

  const licenses = join(INSTALLED, "node_modules/belay-rlm/dist/THIRD-PARTY-LICENSES.txt");
  expect(readFileSync(licenses, "utf8")).toContain("partial-json\n\n");

  expect(readdirSync(join(INSTALLED, "node_modules/belay-rlm/examples"))).toEqual(EXAMPLES);

  expect(existsSync(join(INSTALLED, "node_modules/belay-rlm/docs/pictures"))).toBe(false);

  const demo = await mustRun(belay, ["demo", "--json"], options);
  const expected = { success: true, sub_calls: 12, recorded: 5, sent_again: 7, requests: 19 };
  expect(JSON.parse(demo.stdout)).toMatchObject({ ...expected, killed: { signal: "SIGKILL" } });

  const library = await mustRun(process.execPath, ["library.cjs"], options);
  expect(JSON.parse(library.stdout)).toEqual({ found: 2, best: NOTES, isRequired: true, state: "over" });
  expect(library.stderr).toBe("");
});

test("documents become text in it, each by a reader that finds its packages", async () => {
  const members = Object.entries(ORIGINALS).map(([name, make]) => ({ name, data: make() }));
  writeFileSync(join(INSTALLED, "all.zip"), zip(members));
  const options = { cwd: INSTALLED, env: { ...process.env, BELAY_HOME: join(INSTALLED, "home") } };
  const belay = join(INSTALLED, "node_modules/.bin/belay");
  const cell = "list_docs().map(({ id, start, end }) => [id, P.slice(start, end).length > 9])";
  const { stdout, stderr } = await mustRun(belay, ["exec", "-c", "all.zip", "-e", cell], options);
  const loaded = members.filter(({ name }) => name !== "cities.parquet" && name !== "memo.msg");
  expect(JSON.parse(stdout)).toEqual(loaded.map(({ name }) => [`all.zip/${name}`, true]));
  expect(stderr).toContain(
    "all.zip/cities.parquet (needs a package that is not installed (npm i hyparquet hyparquet-compressors))",
  );
  expect(stderr).toContain(
    "all.zip/memo.msg (is a message of Outlook, which needs a package that is not installed (npm i @kenjiuno/msgreader))",
  );
});

const COPY = join(INSTALLED, "node_modules/belay-rlm/dist/src/models/pi-ai/copy-entry.js");

/** Asks a model of each protocol, at a port where nobody answers, and loads the logins. */
const PROTOCOLS_PROGRAM = `
const copy = await import(process.argv[2]);
const models = copy.getProviders().flatMap((provider) => copy.getModels(provider));
const claims = Buffer.from('{"https://api.openai.com/auth":{"chatgpt_account_id":"a"}}').toString("base64");
const asked = { messages: [{ role: "user", content: "Q", timestamp: 0 }] };
const said = {};
for (const model of new Map(models.map((model) => [model.api, model])).values()) {
  const options = { apiKey: "a." + claims + ".b", maxRetries: 0, maxTokens: 5, transport: "sse" };
  const answer = copy.streamSimple({ ...model, baseUrl: "http://127.0.0.1:9" }, asked, options);
  said[model.api] = (await answer.result()).errorMessage;
}
await copy.loadLogins();
const logins = copy.builtinProviders().filter(({ auth }) => auth?.oauth);
console.log(JSON.stringify({ said, logins: logins.length }));
`;

test("each protocol of the bundle gets as far as the socket, and its logins load", async () => {
  writeFileSync(join(INSTALLED, "protocols.mjs"), PROTOCOLS_PROGRAM);
  const aws = { AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "y", AWS_REGION: "us-east-1" };
  const google = { GOOGLE_CLOUD_PROJECT: "p", GOOGLE_CLOUD_LOCATION: "l" };
  const env = { ...process.env, ...aws, ...google };
  const { stdout } = await mustRun(process.execPath, ["protocols.mjs", COPY], { cwd: INSTALLED, env });
  // An SDK prints too.
  const { said, logins } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
  expect(Object.keys(said).length).toBeGreaterThanOrEqual(10);
  for (const [api, message] of Object.entries(said)) {
    expect(message, api).toMatch(/Connection error|fetch failed|ECONNREFUSED/);
  }
  expect(logins).toBe(9);
});

test.for(NEWEST_PI)("Pi $version installs it and works with it", { timeout: 120_000 }, async (line, { skip }) => {
  // Sub-calls in Pi are sent by the host's copy of pi-ai: Belay's own is a part of the bundle.
  rmSync(COPY);
  await using user = await newUserOf(line, join(INSTALLED, "node_modules/belay-rlm"));
  const { printed, prompt, envelope } = await user.prompt();
  expect(printed, printed.stderr).toEqual({ code: 0, stdout: `done: ${prompt}\n`, stderr: "" });
  expect(envelope).toMatchObject({ success: true, result_json: [2, subCallAnswer("how many?")] });

  skip(!HAS_TMUX, "tmux is not installed");
  expect(await user.startScreen()).toMatch(/^\[Extensions\]\n {2}belay\n\n/m);
});
