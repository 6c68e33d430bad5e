import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { AgentCommands } from "../../src/platform/agent-commands.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { killed, processesIn } from "../support/agents/processes.ts";
import { type AgentScene, agentScene, envelopeOf, LINE } from "../support/agents/scene.ts";
import { canMount, fillBut, smallDisk } from "../support/small-disk.ts";
import { folderWith, type Tree } from "../support/tree.ts";

// Scripts and agents that want more than they may, by the real command.

let folders: string[] = [];

afterEach(() => {
  for (const folder of folders) for (const { pid } of processesIn(folder)) killed(pid);
  folders = [];
});

/** Agents that are shell scripts, where `$box` is the path of their own outbox. */
function sceneOf(script: string, shells: Readonly<Record<string, string>> = {}, tree: Tree = {}): AgentScene {
  const agents: AgentCommands = Object.fromEntries(
    Object.entries(shells).map(([name, line]) => [
      name,
      {
        command: ["sh", "-c", `box=$(dirname "$(readlink /proc/$$/fd/0)"); echo started >> starts; ${line}`],
        max_bytes: 100_000,
        timeout_s: 20,
      },
    ]),
  );
  const scene = agentScene(script, { agents, tree });
  folders.push(scene.folder);
  return scene;
}

const run = ({ folder, home }: AgentScene, args: readonly string[] = LINE) => belayHere(args, { cwd: folder, home });

/** Characters that would change a terminal, or the order of what it shows. */
const CONTROLS = ["\u001b", "\u0007", "\u202e"];

/** How many agents of shell scripts were started. */
function startsIn({ folder }: AgentScene): number {
  const path = join(folder, "starts");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").length : 0;
}

describe("a command", () => {
  test("that prints without end is ended, and its answer is null", async () => {
    const scene = sceneOf('return await agent("x", { agentType: "endless" });', { endless: "yes" });
    const end = await run(scene);
    expect(end.code).toBe(1);
    expect(envelopeOf(end)).toMatchObject({ success: true, result_json: null });
    expect(end.stdout).toContain("printed more than it may");
    await vi.waitFor(() => expect(processesIn(scene.folder).filter(({ isKeeper }) => !isKeeper)).toEqual([]));
  });

  test("that leaves its group leaves no process behind", async () => {
    const leaves = 'setsid sh -c "echo \\$\\$ > left; sleep 300" & while [ ! -s left ]; do sleep 0.02; done; echo done';
    const scene = sceneOf('return await agent("x", { agentType: "leaves" });', { leaves });
    expect(envelopeOf(await run(scene))).toMatchObject({ success: true, result_json: "done" });
    await vi.waitFor(() => expect(processesIn(scene.folder).filter(({ isKeeper }) => !isKeeper)).toEqual([]));
  });

  test("that damages its outbox has at worst no answer, and is started once", async () => {
    const shells = {
      fifo: 'rm "$box/out"; mkfifo "$box/out"; echo said',
      link: 'rm "$box/out"; ln -s "$PWD/secret" "$box/out"; echo said',
      folder: 'mkdir "$box/result.json"; echo said',
      forged: `printf '{"tries":1,"ended":"exited","code":0,"signal":null}' > "$box/result.json"; echo said`,
      broken: 'printf "{" > "$box/started"; printf "{" > "$box/job.json"; echo said',
    };
    const names = Object.keys(shells);
    const scene = sceneOf(
      `return await parallel(${JSON.stringify(names)}.map((name) => () => agent(name, { agentType: name })));`,
      shells,
      { secret: "a secret of the user" },
    );
    const end = await run(scene);
    expect(end.stdout).not.toContain("a secret of the user");
    const answers = envelopeOf(end).result_json;
    expect(Array.isArray(answers) && answers.every((answer) => answer === null || answer === "said"), end.stdout).toBe(
      true,
    );
    expect(startsIn(scene)).toBe(names.length);
  });

  test("that gets a prompt with NUL or an option reads it as it is", async () => {
    const scene = sceneOf(
      'return [await agent("a\\0b", { agentType: "cat" }), await agent("--help", { agentType: "cat" })];',
      { cat: "cat" },
    );
    expect(envelopeOf(await run(scene))).toMatchObject({ result_json: ["a\0b", "--help"] });
  });
});

describe("a script", () => {
  test("with 4,097 items is refused, and starts nothing", async () => {
    const scene = sceneOf('return await parallel(Array.from({ length: 4097 }, () => () => ask("a", 0)));');
    const end = await run(scene);
    expect(end.code).toBe(1);
    expect(end.stdout).toContain("4097 items, the limit is 4096");
    expect(scene.runs()).toEqual([]);
  });

  test("that asks agents for ever ends at its ceiling", async () => {
    const scene = sceneOf('for (let n = 0; ; n++) await ask("a" + n, 0);');
    const end = await run(scene, [...LINE, "--max-sub-calls", "3"]);
    expect(end.code).toBe(1);
    expect(scene.runs()).toHaveLength(3);
    const dry = await run(scene, [...LINE, "--dry-run"]);
    expect(dry.stdout).toContain("1000");
    expect(scene.runs()).toHaveLength(3);
  });

  test("that prints for ever ends, and what it printed is bounded", async () => {
    const scene = sceneOf('for (;;) log("x".repeat(1000));');
    const end = await run(scene, [...LINE, "--max-execution-ms", "1000"]);
    expect(end.code).toBe(1);
    expect(end.stdout.length).toBeLessThan(3_000_000);
  });

  test("whose args have 10 MB is told so", async () => {
    const scene = sceneOf("return args.length;", {}, { "big.json": JSON.stringify("x".repeat(10_000_000)) });
    const end = await run(scene, [...LINE, "--args", "@big.json"]);
    expect(end.code).toBe(1);
    expect(envelopeOf(end)).toMatchObject({ success: false, error_code: "invalid_argument" });
  });

  test("whose name has paths and escape codes names a session, and nothing else", async () => {
    const name = "../../etc/\u001b[31mred\u202e";
    const source = `export const meta = { name: ${JSON.stringify(name)}, description: "\u001b]0;title\u0007x" };\nreturn 1;`;
    const scene = sceneOf("", {}, { "named.js": source });
    const end = await run(scene, ["workflow", "named.js"]);
    expect(end.code).toBe(0);
    expect(CONTROLS.filter((one) => `${end.stdout}${end.stderr}`.includes(one))).toEqual([]);
    const { stdout } = await run(scene, ["sessions"]);
    expect(CONTROLS.filter((one) => stdout.includes(one))).toEqual([]);
    expect(existsSync(join(scene.home, "..", "etc"))).toBe(false);
  });

  test("of a project that has changed after trust is refused, and one of a link too", async () => {
    const text = (result: number) =>
      `export const meta = { name: "p", description: "of a project" };\nreturn ${result};\n`;
    const scene = sceneOf("", {}, { ".belay/workflows/p.js": text(1) });
    const refused = await run(scene, ["workflow", "p", "--json"]);
    expect(envelopeOf(refused)).toMatchObject({ success: false, error_code: "policy_violation" });
    const file = ".belay/workflows/p.js";
    expect(envelopeOf(await run(scene, ["workflow", "p", "--trust", "--json"]))).toMatchObject({ result_json: 1 });
    writeFileSync(join(scene.folder, file), text(2));
    expect(envelopeOf(await run(scene, ["workflow", "p", "--json"]))).toMatchObject({ error_code: "policy_violation" });
    // Its text is trusted, and what it links to may change.
    const elsewhere = folderWith({ "linked.js": text(1) });
    symlinkSync(join(elsewhere, "linked.js"), join(scene.folder, ".belay/workflows/linked.js"));
    for (const line of [
      ["workflow", "linked"],
      ["workflow", "linked", "--trust"],
    ])
      expect((await run(scene, line)).stderr).toMatch(/linked\.js is a symlink/);
  });

  test("of a project cannot bring agents of its own", async () => {
    const agents = { fake: { command: ["sh", "-c", "touch stolen"] } };
    const scene = sceneOf('return await agent("x");', {}, { "belay.config.json": JSON.stringify({ agents }) });
    const end = await run(scene);
    expect(end.code).toBe(1);
    expect(end.stdout).toContain("invalid_config");
    expect(existsSync(join(scene.folder, "stolen"))).toBe(false);
  });
});

test("an outbox that somebody has filled leads nowhere else", async () => {
  const scene = sceneOf('return await ask("a", "@one");');
  const elsewhere = folderWith({ "kept.txt": "kept" });
  const life = scene.begin(LINE);
  await vi.waitFor(() => expect(scene.runs()).toHaveLength(1));
  const [key = ""] = scene.runs().map((one) => one.key);
  const box = join(scene.home, "agents", key);
  // A folder of another user's making among the files, and a link to a folder.
  mkdirSync(join(box, "more"));
  symlinkSync(elsewhere, join(box, "linked"));
  scene.open("one");
  expect(envelopeOf(await life.end)).toMatchObject({ success: true, result_json: "a(-)" });
  expect(readFileSync(join(elsewhere, "kept.txt"), "utf8")).toBe("kept");
});

test("a full disk is told, and the same line goes on when there is room", async ({ skip }) => {
  skip(!canMount(), "this process may not mount a file system");
  const disk = smallDisk(24 * 2 ** 20);
  const scene = sceneOf('return await parallel([() => ask("a", 0), () => ask("b", "@one")]);');
  const line = [...LINE, "--store", join(disk, "store")];
  const first = scene.begin(line);
  const isEnded = () => scene.runs().map(({ ended }) => ended !== null);
  await vi.waitFor(() => expect(isEnded().sort()).toEqual([false, true]));
  // The answer of the first one is on its way to the record.
  await setTimeout(500);
  fillBut(disk, 0);
  scene.open("one");
  const full = await first.end;
  // The disk took nothing of what the agent printed.
  expect(full.code, full.stdout + full.stderr).toBe(3);
  expect(envelopeOf(full).error_message).toContain("ENOSPC");
  rmSync(join(disk, "filler"));
  expect((await scene.belay(line)).code).toBe(3);
  const end = await scene.belay([...line, "--resend-doubtful"]);
  expect(envelopeOf(end)).toMatchObject({ result_json: ["a(-)", "b(-)"] });
  expect(scene.starts()).toEqual({ a: 1, b: 2 });
});
