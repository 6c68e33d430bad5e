import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pack } from "./package.ts";
import { mustRun, run } from "./process.ts";

// The packed package on the oldest Node that package.json admits, or on another one. Node and package go into folders of their
// own: two `node` packages in one tree would fight over the same bin. An older Node must be told so in a sentence.
// Usage: npm run verify -- floor 24

const [, , FLOOR = "22.19.0"] = process.argv;
/** A Node that is too old. */
const OLDER = "20";
const CELL = 'result = { sum: 1 + 1, found: find("TODO").matches.length, best: search("second")[0].start };';
/** The library, by both ways to load it. */
const LIBRARY = `openSession().then(async (session) => {
  await session.load("notes.txt");
  const answer = await session.exec(${JSON.stringify(CELL)});
  await session.close();
  console.log(JSON.stringify(answer));
});`;
const PROGRAMS = {
  "library.mjs": `import { openSession } from "belay-rlm";\n${LIBRARY}`,
  "library.cjs": `const { openSession } = require("belay-rlm");\n${LIBRARY}`,
};
const EXPECTED = { sum: 2, found: 2, best: 0 };
/** Commands that need more of Node: jobs in a database, a process that is killed, and a look at everything. */
const COMMANDS = [["batch", "keep.js", "--jobs", "rows.jsonl"], ["demo"], ["doctor"]] as const;

const folder = await mkdtemp(join(tmpdir(), "belay-floor-"));
try {
  const node = await installed("node", `node@${FLOOR}`);
  const belay = await installed("app", await pack(folder));
  await check(node, belay);
  await checkRefusal(await installed("older", `node@${OLDER}`), belay);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Installs one package into a new folder; answers the folder of its programs. */
async function installed(name: string, spec: string): Promise<string> {
  const cwd = join(folder, name);
  await mkdir(cwd);
  await writeFile(join(cwd, "package.json"), JSON.stringify({ private: true, allowScripts: { node: true } }));
  await mustRun("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", spec], { cwd });
  return join(cwd, "node_modules/.bin");
}

async function check(node: string, belay: string): Promise<void> {
  const home = join(folder, "home");
  const env = { ...process.env, BELAY_HOME: home, PATH: [node, belay, process.env.PATH].join(delimiter) };
  const { stdout: version } = await mustRun("node", ["--version"], { cwd: folder, env });
  if (!`${version.trim()}.`.startsWith(`v${FLOOR}.`))
    throw new Error(`the folder has Node ${version.trim()}, not v${FLOOR}`);
  const app = join(folder, "app");
  await writeFile(join(app, "notes.txt"), "TODO: the first\nTODO: the second\n");
  await checkAnswer(["belay", "exec", "-c", "notes.txt", "-e", CELL, "--json", "--quiet"], { cwd: app, env });
  for (const [name, program] of Object.entries(PROGRAMS)) {
    await writeFile(join(app, name), program);
    await checkAnswer(["node", name], { cwd: app, env });
  }
  await writeFile(join(app, "keep.js"), "result = job;");
  await writeFile(join(app, "rows.jsonl"), "1\n2\n");
  for (const command of COMMANDS) {
    await mustRun("belay", command, { cwd: app, env });
    console.log(`belay ${command[0]} runs on Node ${FLOOR}`);
  }
}

/** The sentence about Node, and nothing else: no trace of a module that it lacks. */
async function checkRefusal(node: string, belay: string): Promise<void> {
  const env = { ...process.env, PATH: [node, belay, process.env.PATH].join(delimiter) };
  for (const args of [["--version"], ["exec", "-e", "1"]]) {
    const { code, output } = await run("belay", args, { cwd: folder, env });
    if (code !== 1 || !/^belay: Node 20\.\S+ is too old: Belay needs 22\.19\.0 or newer\. [^\n]+\n$/.test(output))
      throw new Error(`on Node ${OLDER} belay ${args[0]} ends with ${code}:\n${output}`);
  }
  console.log(`belay names the Node that it needs on Node ${OLDER}`);
}

/** The right answer, and nothing on stderr: no warning of Node's either. */
async function checkAnswer(
  [program = "", ...args]: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  const { stdout, stderr } = await mustRun(program, args, options);
  const answer = JSON.parse(stdout);
  if (JSON.stringify(answer.result_json) !== JSON.stringify(EXPECTED) || answer.warnings.length > 0 || stderr !== "") {
    throw new Error(`on Node ${FLOOR} ${program} ${args[0]} answers otherwise:\n${stdout}\n${stderr}`);
  }
  console.log(`${program} ${args[0]} runs on Node ${FLOOR}: ${JSON.stringify(answer.result_json)}`);
}
