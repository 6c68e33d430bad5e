import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { RlmError } from "../../../src/index.ts";
import { readConfig, refuseVariables } from "../../../src/settings/config.ts";
import { type AskedSettings, KEYS, recordedOf, type Settings } from "../../../src/settings/settings.ts";
import { folderWith } from "../../support/tree.ts";

interface Case {
  readonly user?: string | object;
  readonly project?: string | object;
  readonly env?: Record<string, string>;
  readonly flags?: AskedSettings;
  /** Folder of the command, in the repository. */
  readonly cwd?: string;
}

const text = (file: string | object) => (typeof file === "string" ? file : JSON.stringify(file));

/** Reads the configuration of a repository `repo` with these files. */
function read({ user, project, env = {}, flags = {}, cwd = "" }: Case): { settings: Settings; folder: string } {
  const folder = folderWith({
    "repo/.git/HEAD": "",
    "repo/src/deep/a.js": "",
    ...(user === undefined ? {} : { "home/config.json": text(user) }),
    ...(project === undefined ? {} : { "repo/belay.config.json": text(project) }),
  });
  const userFile = join(folder, "home/config.json");
  return { settings: readConfig(flags, { cwd: join(folder, "repo", cwd), env, userFile }), folder };
}

/** `code: message | suggestion` of what is refused, with the test's folder written as `~`. */
function refusal(given: Case): string {
  try {
    return `accepted: ${JSON.stringify(read(given).settings)}`;
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return `${error.code}: ${error.message} | ${error.suggestion}`.replaceAll(/\S*belay-test-\w+/g, "~");
  }
}

test("flags go before variables, variables before the project, the project before the user", () => {
  const user = { model: "user/a", max_tokens: 400, concurrency: 3, base_url: "http://user" };
  const project = { model: "project/b", max_tokens: 300, max_cost_usd: 2.5 };
  const env = { BELAY_MODEL: "env/c", BELAY_BASE_URL: "http://env", BELAY_MAX_COST_USD: "0.5", BELAY_CONCURRENCY: "" };
  expect(read({}).settings).toEqual({});
  expect(read({ user }).settings).toEqual(user);
  expect(read({ user, project }).settings).toEqual({ ...user, ...project });
  const merged = { model: "env/c", base_url: "http://env", max_tokens: 300, max_cost_usd: 0.5, concurrency: 3 };
  expect(read({ user, project, env }).settings).toEqual(merged);
  const seen = read({ user, project, env, flags: { model: "flag/d", max_tokens: 9 } }).settings;
  expect(seen).toMatchObject({ model: "flag/d", max_tokens: 9, base_url: "http://env" });
});

test("every key but those of programs has its variable", () => {
  const inFiles = ["convert", "agents", "agent_models"];
  const keys = KEYS.filter((key) => !inFiles.includes(key));
  const values: Record<string, string> = {
    ...{ model: "a/b", base_url: "http://c", api_key_env: "KEY", thinking: "low", delivery: "batch", max_depth: "4" },
    price: "3/15",
    leave_out: "schema,cache@local/*",
    ...{ temperature: "0.2", top_p: "1", seed: "-7", stop: '["\\n", "END"]' },
    models: "a/b,c/*",
    otlp: "env",
    roots: ["/x", "/y"].join(delimiter),
  };
  const env = Object.fromEntries(keys.map((key) => [`BELAY_${key.toUpperCase()}`, values[key] ?? "9"]));
  const { settings } = read({ env });
  expect(Object.keys(settings).toSorted()).toEqual(keys.toSorted());
  for (const key of ["convert", "agents", "agent_models"] as const) {
    const name = `BELAY_${key.toUpperCase()}`;
    // A command that does not use the setting leaves the variable alone; one that does, refuses it.
    expect(read({ env: { ...env, [name]: "{}" } }).settings).toEqual(settings);
    expect(() => refuseVariables([key], { [name]: "{}" })).toThrow(`${name} is set, and ${key} is read from files`);
    expect(() => refuseVariables([key], { [name]: "" })).not.toThrow();
  }
  expect(settings).toMatchObject({
    roots: ["/x", "/y"],
    memory_mb: 9,
    temperature: 0.2,
    seed: -7,
    stop: ["\n", "END"],
  });
});

test("an empty variable or flag takes back a server, its key and a limit of cost, and leaves the rest alone", () => {
  const user = { model: "user/a", base_url: "http://user", api_key_env: "K", max_cost_usd: 2 };
  const model = { model: user.model };
  const env = { BELAY_BASE_URL: "", BELAY_API_KEY_ENV: "", BELAY_MAX_COST_USD: "", BELAY_MODEL: "", BELAY_ROOTS: "" };
  expect(read({ user: { otlp: "env", seed: 7 }, env: { BELAY_OTLP: "", BELAY_SEED: "" } }).settings).toStrictEqual({});
  expect(read({ user, env }).settings).toStrictEqual(model);
  expect(read({ user, project: { max_cost_usd: 1 }, env }).settings).toStrictEqual(model);
  const flags = { base_url: undefined, max_cost_usd: undefined };
  const set = { BELAY_BASE_URL: "http://env", BELAY_API_KEY_ENV: "E", BELAY_MAX_COST_USD: "3" };
  expect(read({ user, env: set, flags }).settings).toStrictEqual({ ...model, api_key_env: "E" });
  expect(read({ user, env, flags: { base_url: "http://flag", max_cost_usd: 9 } }).settings).toStrictEqual({
    ...model,
    base_url: "http://flag",
    max_cost_usd: 9,
  });
});

test("agents are those of the user's file, to whose short names of models a project adds", () => {
  const agents = { claude: { command: ["claude", "-p"], retry: "safe" } };
  const user = { agents, agent_models: { haiku: "a/haiku", opus: "a/opus" } };
  const project = { agent_models: { opus: "b/opus", fast: "b/fast" } };
  const agent_models = { haiku: "a/haiku", opus: "b/opus", fast: "b/fast" };
  expect(read({ user }).settings).toEqual(user);
  expect(read({ user, project }).settings).toEqual({ agents, agent_models });
  expect(recordedOf(read({ user, project }).settings)).toEqual({});
});

test("the nearest file of the repository counts; outside of one only the folder's own", () => {
  const project = { max_tokens: 300 };
  expect(read({ project, cwd: "src/deep" }).settings).toEqual(project);
  const folder = folderWith({ "belay.config.json": "{}", "a/belay.config.json": '{"max_tokens":1}', "a/b/c.txt": "" });
  const at = (cwd: string) => readConfig({}, { cwd: join(folder, cwd), env: {}, userFile: join(folder, "none") });
  expect(at("a")).toEqual({ max_tokens: 1 });
  expect(at("a/b")).toEqual({});
});

test("of the project's limits and the user's the lesser holds", () => {
  const max = (value: number) => ({ max_sub_calls: value });
  expect(read({ user: max(20), project: max(30) }).settings).toEqual(max(20));
  expect(read({ user: max(200), project: max(100) }).settings).toEqual(max(100));
  expect(read({ project: { max_cost_usd: 1000 } }).settings).toEqual({ max_cost_usd: 1000 });
  // Who says more by flag or variable has seen the project's wish.
  expect(read({ project: max(100), flags: max(70) }).settings).toEqual(max(70));
  expect(read({ project: max(10), env: { BELAY_MAX_SUB_CALLS: "80" } }).settings).toEqual(max(80));
});

test("roots are relative to their file, and to home after ~/", () => {
  const { settings, folder } = read({ user: { roots: ["notes", "~/more", "/abs"] } });
  expect(settings.roots).toEqual([join(folder, "home/notes"), join(homedir(), "more"), "/abs"]);
  const inside = read({ project: { roots: ["src", "./src/not-yet", "."] }, cwd: "src" });
  const roots = inside.settings.roots?.map((root) => root.slice(inside.folder.length));
  expect(roots).toEqual(["/repo/src", "/repo/src/not-yet", "/repo"]);
});

const PROJECT = "~/repo/belay.config.json";
const USER = "~/home/config.json";
const elsewhere = (key: string) => `Set it in ${USER}, as BELAY_${key}, or with a flag.`;

const agent = (more: object) => ({ agents: { a: { command: ["x"], ...more } } });

test.each<[Case, string]>([
  [{ project: { base_url: "http://x" } }, `${PROJECT}: a project may not set base_url | ${elsewhere("BASE_URL")}`],
  [{ project: { seed: 7 } }, `${PROJECT}: a project may not set seed | ${elsewhere("SEED")}`],
  [{ project: { stop: "x" } }, `${PROJECT}: a project may not set stop | ${elsewhere("STOP")}`],
  [{ env: { BELAY_TEMPERATURE: "hot" } }, "BELAY_TEMPERATURE must be a number from 0 to 2"],
  [{ user: { top_p: 1.1 } }, `${USER}: top_p must be a number from 0 to 1`],
  [{ project: { otlp: "env" } }, `${PROJECT}: a project may not set otlp | ${elsewhere("OTLP")}`],
  [{ project: { api_key_env: "K" } }, `${PROJECT}: a project may not set api_key_env | ${elsewhere("API_KEY_ENV")}`],
  [{ project: { roots: [".", ".."] } }, `${PROJECT}: the root ~ lies outside the project | ${elsewhere("ROOTS")}`],
  [{ project: { roots: ["/etc"] } }, `${PROJECT}: the root /etc lies outside the project | `],
  [
    { project: { max_sub_calls: 51 } },
    `${PROJECT}: max_sub_calls is 51; a project may lower a limit, and this one is 50 | ${elsewhere("MAX_SUB_CALLS")}`,
  ],
  [{ project: { memory_mb: 256 } }, `${PROJECT}: memory_mb is 256; a project may lower a limit, and this one is 128`],
  [
    { project: { max_session_mb: 4096 } },
    `${PROJECT}: max_session_mb is 4096; a project may lower a limit, and this one is 2048`,
  ],
  [
    { project: { max_context_mb: 101 } },
    `${PROJECT}: max_context_mb is 101; a project may lower a limit, and this one is 100 | ${elsewhere("MAX_CONTEXT_MB")}`,
  ],
  [
    { user: { max_files: 20_000 }, project: { max_files: 20_001 } },
    `${PROJECT}: max_files is 20001; a project may lower a limit, and this one is 20000`,
  ],
  [{ user: { max_context_mb: 0 } }, `${USER}: max_context_mb must be a whole number from 1 to 16384`],
  [{ env: { BELAY_MAX_FILES: "1000001" } }, "BELAY_MAX_FILES must be a whole number from 1 to 1000000"],
  [{ project: { max_subcalls: 5 } }, `${PROJECT}: unknown key max_subcalls; did you mean max_sub_calls? | Keys are `],
  [{ user: { maxTokens: 5 } }, `${USER}: unknown key maxTokens; did you mean max_tokens? | Keys are model, `],
  [{ user: { api_key: "sk-secret" } }, `${USER}: unknown key api_key; did you mean api_key_env? | Keys are `],
  [{ user: { api_key_env: "sk-secret" } }, `${USER}: api_key_env must be the name of an environment variable, not `],
  [{ user: { colour: 1 } }, `${USER}: unknown key colour | Keys are `],
  [{ user: { base_url: "" } }, `${USER}: base_url must be an address such as `],
  [{ user: { max_cost_usd: null } }, `${USER}: max_cost_usd must be a number of dollars above 0 |`],
  [{ user: { model: "gpt-5" } }, `${USER}: model must be PROVIDER/ID, such as `],
  [{ user: { max_tokens: "9" } }, `${USER}: max_tokens must be a whole number from 1 | Correct it`],
  [{ user: { max_tokens: 1.5 } }, `${USER}: max_tokens must be a whole number from 1 |`],
  [{ user: { max_cost_usd: 0 } }, `${USER}: max_cost_usd must be a number of dollars above 0 |`],
  [{ user: { concurrency: 101 } }, `${USER}: concurrency must be a whole number from 1 to 100 |`],
  [{ user: { max_depth: 6 } }, `${USER}: max_depth must be a whole number from 0 to 5 |`],
  [
    { project: { max_depth: 3 } },
    `${PROJECT}: max_depth is 3; a project may lower a limit, and this one is 2 | ${elsewhere("MAX_DEPTH")}`,
  ],
  [{ env: { BELAY_MAX_DEPTH: "-1" } }, "BELAY_MAX_DEPTH must be a whole number from 0 to 5 | "],
  [{ user: { memory_mb: 4 } }, `${USER}: memory_mb must be a whole number from 8 to 2048 |`],
  [{ user: { roots: "src" } }, `${USER}: roots must be a list of folders |`],
  [
    { user: { leave_out: "form" } },
    `${USER}: leave_out must be schema or cache, each for all models or as PART@PROVIDER/ID, with commas between |`,
  ],
  [{ env: { BELAY_LEAVE_OUT: "schema@m" } }, "BELAY_LEAVE_OUT must be schema or cache,"],
  [{ project: { leave_out: "cache" } }, `${PROJECT}: a project may not set leave_out |`],
  [{ project: { agents: {} } }, `${PROJECT}: a project may not set agents | Set it in ${USER}.`],
  [{ user: agent({ retry: "always" }) }, `${USER}: agents.a.retry must be "safe" | Correct it`],
  [{ user: agent({ retri: "safe" }) }, `${USER}: agents.a.retri is no key of an agent; did you mean retry? |`],
  [{ user: agent({ zzz: 1 }) }, `${USER}: agents.a.zzz is no key of an agent, whose keys are command, with, output, `],
  [{ user: agent({ with: { model: "-m" } }) }, `${USER}: agents.a.with.model must be a list of arguments |`],
  [{ user: agent({ output: { text: "result" } }) }, `${USER}: agents.a.output.text must be a JSON pointer, such as `],
  [{ user: { agents: { a: {} } } }, `${USER}: agents.a.command is missing |`],
  [{ user: { agents: { a: "claude" } } }, `${USER}: agents.a must be an object |`],
  [{ user: { agents: { "a b": { command: ["x"] } } } }, `${USER}: agents.a b must be a name of letters, digits, `],
  [{ user: { agents: 7 } }, `${USER}: agents must be an object such as {`],
  [{ user: { agent_models: { haiku: "haiku" } } }, `${USER}: agent_models.haiku must be PROVIDER/ID, such as `],
  [{ user: { agent_models: { "a/b": "a/b" } } }, `${USER}: agent_models.a/b must be a short name of a model: `],
  [{ user: '{\n  "model": sk-secret\n}' }, `${USER} is not valid JSON`],
  [{ user: "[1]" }, `${USER} does not hold a JSON object | Write {`],
  [{ env: { BELAY_MAX_TOKENS: "1e9" } }, "BELAY_MAX_TOKENS must be a whole number from 1 | "],
  [{ env: { BELAY_API_KEY_ENV: "sk-secret" } }, "BELAY_API_KEY_ENV must be the name of an environment variable, "],
  [
    { env: { BELAY_MAX_SUBCALLS: "5" } },
    "unknown variable BELAY_MAX_SUBCALLS; did you mean BELAY_MAX_SUB_CALLS? | Rename",
  ],
])("%j is refused", (given, expected) => {
  const message = refusal(given);
  expect(message.startsWith(`invalid_config: ${expected}`), message).toBe(true);
  expect(message).not.toContain("secret");
});

test("variables that are no settings are left alone", () => {
  expect(read({ env: { BELAY_HOME: "/x", BELAY_DEBUG: "1", BELAY_STORE_TEST: "y" } }).settings).toEqual({});
});

test("a symlink does not lead a project's root outside", () => {
  const folder = folderWith(
    { "repo/.git/HEAD": "", "repo/belay.config.json": '{"roots":["way/in"]}', "other/in/a": "" },
    { "repo/way": "../other" },
  );
  const places = { cwd: join(folder, "repo"), env: {}, userFile: join(folder, "none") };
  expect(() => readConfig({}, places)).toThrow("way/in lies outside the project");
});
