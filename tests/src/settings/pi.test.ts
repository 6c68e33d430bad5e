import { join } from "node:path";
import { expect, test } from "vitest";
import { RlmError } from "../../../src/index.ts";
import { type PiSettings, piOrigins, readPiConfig } from "../../../src/settings/pi.ts";
import { KEYS_OF_PI } from "../../../src/settings/pi-table.ts";
import { folderWith } from "../../support/tree.ts";

const PI_KEYS = KEYS_OF_PI.map(({ key }) => key);

interface Case {
  readonly below?: object;
  readonly agent?: object;
  readonly project?: object;
  readonly env?: Readonly<Record<string, string>>;
}

function read({ below, agent, project, env = {} }: Case): { settings: PiSettings; folder: string } {
  const folder = folderWith({
    "project/": "",
    ...(below ? { "home/config.json": JSON.stringify(below) } : {}),
    ...(agent ? { "agent/belay.json": JSON.stringify(agent) } : {}),
    ...(project ? { "project/.pi/belay.json": JSON.stringify(project) } : {}),
  });
  const userFile = join(folder, "home/config.json");
  const places = { cwd: join(folder, "project"), env, agentDir: join(folder, "agent"), userFile };
  return { settings: readPiConfig(places), folder };
}

function refusal(given: Case): string {
  try {
    return `accepted: ${JSON.stringify(read(given).settings)}`;
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return `${error.message} | ${error.suggestion}`.replaceAll(/\S*belay-test-\w+/g, "~");
  }
}

test("the project's file lies over the one of the agent dir, that one over ~/.belay", () => {
  expect(read({}).settings).toEqual({});
  const below = { max_tokens: 1_000, concurrency: 2, model: "user/m", base_url: "http://u" };
  const agent = { max_tokens: 2_000, sub_model: "a/b", auto_continue: true };
  const project = { max_tokens: 500, sub_model: "c/d" };
  expect(read({ below }).settings).toEqual({ max_tokens: 1_000, concurrency: 2 });
  const merged = { max_tokens: 2_000, concurrency: 2, sub_model: "a/b", auto_continue: true };
  expect(read({ below, agent }).settings).toEqual(merged);
  expect(read({ below, agent, project }).settings).toMatchObject({ max_tokens: 500, sub_model: "c/d" });
  expect(read({ below, agent, project, env: { BELAY_MAX_TOKENS: "9000" } }).settings.max_tokens).toBe(9_000);
});

test("a project may lower limits and choose the model, and nothing else", () => {
  expect(refusal({ project: { max_sub_calls: 51 } })).toContain("max_sub_calls is 51; a project may lower a limit");
  expect(read({ agent: { max_sub_calls: 5 }, project: { max_sub_calls: 7 } }).settings.max_sub_calls).toBe(5);
  const lending = { allowed_tool_overrides: ["bash"], require_approval: false };
  const own = {
    ...lending,
    auto_continue: true,
    background: false,
    prompt_wait_s: 1,
    inline_tokens: 100,
    child_max_tokens: 100_000,
  };
  for (const [key, value] of Object.entries(own)) {
    expect(refusal({ project: { [key]: value } })).toBe(
      `~/project/.pi/belay.json: a project may not set ${key} | Set it in ~/agent/belay.json.`,
    );
    expect(read({ agent: { [key]: value } }).settings).toEqual({ [key]: value });
  }
  expect(refusal({ project: { roots: ["../other"] } })).toContain("lies outside the project");
});

test("a project may have the user asked earlier and less ingested, and not the other way round", () => {
  const confirm = (agent: object, project: object) => read({ agent, project }).settings.confirm_calls;
  expect(confirm({ confirm_calls: 20 }, {})).toBe(20);
  expect(confirm({}, { confirm_calls: 0 })).toBe(0);
  expect(confirm({ confirm_calls: 20 }, { confirm_calls: 15 })).toBe(15);
  expect(confirm({ confirm_calls: 5 }, { confirm_calls: 8 })).toBe(5);
  expect(refusal({ project: { confirm_calls: 11 } })).toBe(
    "~/project/.pi/belay.json: confirm_calls is 11; a project may lower it, and it is 10 | Set it in ~/agent/belay.json.",
  );
  const files = (agent: object, project: object) => read({ agent, project }).settings.max_ingest_files;
  expect([files({}, { max_ingest_files: 5 }), files({ max_ingest_files: 3 }, { max_ingest_files: 5 })]).toEqual([5, 3]);
  expect(refusal({ project: { max_ingest_bytes: 100_000_001 } })).toContain("a project may lower it");
  expect(refusal({ agent: { max_ingest_files: 10_001 } })).toContain("must be a whole number of files from 1 to 10000");
  expect(refusal({ agent: { confirm_calls: -1 } })).toContain("confirm_calls must be a whole number of calls from 0");
  expect(refusal({ agent: { inline_tokens: 99 } })).toContain(
    "inline_tokens must be a whole number of tokens from 100",
  );
});

test("in Pi max_depth is 3 at the most, and the place that names another is named", () => {
  const problem = (place: string, depth: number) =>
    `${place} is ${depth}; in Pi it is 3 at the most | Set it to 3 or less`;
  const agentFile = "~/agent/belay.json";
  expect(read({ agent: { max_depth: 3 } }).settings.max_depth).toBe(3);
  expect(refusal({ agent: { max_depth: 4 } })).toBe(`${problem(`${agentFile}: max_depth`, 4)}.`);
  expect(refusal({ env: { BELAY_MAX_DEPTH: "5" } })).toBe(`${problem("BELAY_MAX_DEPTH", 5)}.`);
  const below = { max_depth: 5 };
  expect(refusal({ below })).toBe(`${problem("~/home/config.json: max_depth", 5)} in ${agentFile}.`);
  expect(refusal({ below, project: { max_depth: 4 } })).toBe(`${problem("~/project/.pi/belay.json: max_depth", 4)}.`);
  // What the command may do stays as it is: the file for Pi lies over it.
  expect(read({ below, agent: { max_depth: 1 } }).settings.max_depth).toBe(1);
  expect(read({ below, project: { max_depth: 2 } }).settings.max_depth).toBe(2);
});

test("roots are relative to the project, or to the file of the user", () => {
  const { settings, folder } = read({ project: { roots: ["docs"] } });
  expect(settings.roots).toEqual([join(folder, "project/docs")]);
  const agent = read({ agent: { roots: ["../shared"] } });
  expect(agent.settings.roots).toEqual([join(agent.folder, "shared")]);
});

test("unknown keys are named, with what was meant", () => {
  expect(refusal({ agent: { auto_continu: true } })).toBe(
    `~/agent/belay.json: unknown key auto_continu; did you mean auto_continue? | Keys are ${PI_KEYS.join(", ")}.`,
  );
  expect(refusal({ agent: { model: "a/b" } })).toContain("unknown key model; did you mean sub_model?");
  expect(refusal({ project: { base_url: "http://evil" } })).toContain("unknown key base_url");
  expect(refusal({ agent: { sub_model: "scripted" } })).toContain("sub_model must be PROVIDER/ID");
  expect(refusal({ agent: { max_tokens: "many" } })).toContain("max_tokens must be a whole number");
});

test("the read cache is the user's to turn on; a project may turn it off and exempt more files", () => {
  const agent = { read_cache: true, read_cache_exclude: ["*.secret"] };
  const project = { read_cache: false, read_cache_exclude: ["notes*"] };
  expect(read({ agent, project }).settings).toEqual({ read_cache: false, read_cache_exclude: ["*.secret", "notes*"] });
  expect(refusal({ project: { read_cache: true } })).toBe(
    "~/project/.pi/belay.json: a project may set read_cache to false only | Set it in ~/agent/belay.json.",
  );
  for (const names of ["*.secret", [""], ["a/b"], ["x".repeat(101)], Array(101).fill("a"), [7]]) {
    expect(refusal({ agent: { read_cache_exclude: names } })).toContain(
      "read_cache_exclude must be a list of at most 100 names of files",
    );
  }
});

test("every setting is there with its value in force and the place that it comes from", () => {
  const folder = folderWith({
    "home/config.json": JSON.stringify({ max_tokens: 1000, max_sub_calls: 7, concurrency: 2, model: "a/b" }),
    "agent/belay.json": JSON.stringify({ sub_model: "a/b", max_sub_calls: 9, allowed_tool_overrides: ["bash"] }),
    "project/.pi/belay.json": JSON.stringify({ sub_model: "a/c", max_sub_calls: 10, max_tokens: 900, roots: ["docs"] }),
  });
  const [cwd, agentDir] = [join(folder, "project"), join(folder, "agent")];
  const userFile = join(folder, "home/config.json");
  const { settings, files } = piOrigins({ cwd, agentDir, userFile, env: { BELAY_CONCURRENCY: "3" } });
  const [project = "", agent = ""] = files;
  expect(files).toEqual([join(cwd, ".pi/belay.json"), join(agentDir, "belay.json"), userFile]);
  expect(settings.map(({ key }) => key)).toEqual(PI_KEYS);
  const set = settings.filter(({ from }) => from !== null);
  expect(Object.fromEntries(set.map(({ key, value, from }) => [key, [value, from]]))).toEqual({
    sub_model: ["a/c", project],
    allowed_tool_overrides: ["bash", agent],
    // Of a project's limit and the user's the lesser holds.
    max_sub_calls: ["9", agent],
    max_tokens: ["900", project],
    concurrency: ["3", "BELAY_CONCURRENCY"],
    roots: [join(cwd, "docs"), project],
  });
});

test("a setting without a value is shown with its default", () => {
  const places = { cwd: folderWith(), agentDir: folderWith(), userFile: join(folderWith(), "config.json"), env: {} };
  const { settings } = piOrigins(places);
  expect(settings).toContainEqual({ key: "max_cost_usd", value: "none", from: null });
  expect(settings).toContainEqual({ key: "memory_mb", value: "128", from: null });
});
