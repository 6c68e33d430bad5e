import { glob, lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { install, pack } from "./package.ts";
import { checkServer } from "./package-server.ts";
import { mustRun, ROOT, run } from "./process.ts";

// What publint and "are the types wrong?" find in the tarball, whether its types compile, how much it installs, what a bundled program of
// it says, what it does in Bun and Deno, and whether it works over a server.

const CHECKS: readonly (readonly [string, ...string[]])[] = [
  ["publint", "run", "--strict"],
  // One build, as ES modules: Node's `require` loads it too, so `.d.cts` has the same types for it.
  ["attw", "--profile", "esm-only", "--ignore-rules", "false-cjs", "--"],
];

const WASM = Buffer.from("\0asm");
const MOST_BYTES = 50e6;
const MOST_PACKAGES = 32;

/** Passes on an option that may be undefined. */
const CALLER = `import { openSession } from "belay-rlm";
import { openRuns } from "belay-rlm/runs";
import { openTools } from "belay-rlm/tools";
export const opened = async (signal: AbortSignal | undefined, store: string | undefined) => {
  const session = await openSession({ memoryMb: 64, store });
  const [tool] = await openTools(session);
  await tool?.execute({}, { signal });
  await using runs = await openRuns({ store: store ?? "state" });
  const run = await runs.submit({ script: "job", inputs: [1], signal });
  await run.follow({ signal });
  for await (const { result } of run.results()) console.log(result);
  return session.exec("1 + 1", { signal });
};
`;

/** Prints what a session answers, or why it was not opened. */
const PROGRAM = `import { openSession } from "belay-rlm";
openSession().then(async (session) => {
  console.log(JSON.stringify((await session.exec("6 * 7")).result_json));
  await session.close();
}, (error) => console.log(JSON.stringify(error)));
`;

/** Counts its runs in a kept session. */
const KEPT_PROGRAM = `import { openSession, openStore } from "belay-rlm";
try {
  const session = await openSession({ store: "kept", session: "runs" });
  const { result_json } = await session.exec("var runs = (globalThis.runs ?? 0) + 1; runs");
  await session.close();
  const store = await openStore("kept");
  console.log("run", result_json, "of", (await store.list())[0]?.name);
  await store.close();
} catch (error) {
  console.log(error.message);
}
`;

/** Other runtimes from npm: how they are told to run a file, and what the second run prints. */
const RUNTIMES = [
  { name: "bun", args: [], said: "run 2 of runs" },
  { name: "deno", args: ["run", "-A"], said: "run 2 of runs" },
] as const;

const folder = await mkdtemp(join(tmpdir(), "belay-package-"));
try {
  const tarball = await pack(folder);
  for (const [program, ...args] of CHECKS) {
    const { code, output } = await run(program, [...args, tarball], { cwd: ROOT });
    console.log(output.trim());
    if (code !== 0) process.exitCode = 1;
  }
  await checkTypes(tarball);
  await checkSize(tarball);
  await checkBundled();
  await checkRuntimes();
  await checkServer(tarball, folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Installs the tarball as a user would, and compares what there is then with its bounds: it has nothing of one processor or system. */
async function checkSize(tarball: string): Promise<void> {
  const user = join(folder, "user");
  await mkdir(user);
  await install(user, tarball);
  let [bytes, packages] = [0, 0];
  const native: string[] = [];
  for await (const path of glob("node_modules/**/*", { cwd: user })) {
    const stats = await lstat(join(user, path));
    if (stats.isFile()) bytes += stats.size;
    // The engine's extensions are called .so, too: they are WebAssembly.
    const isCode = /\.(?:node|so|dll|dylib|gyp)$/.test(path);
    if (isCode && !(await readFile(join(user, path))).subarray(0, 4).equals(WASM)) native.push(path);
    if (!/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/@.][^/]*\/package\.json$/.test(path)) continue;
    packages++;
    const { scripts = {} }: { scripts?: object } = JSON.parse(await readFile(join(user, path), "utf8"));
    if (["preinstall", "install", "postinstall"].some((name) => name in scripts)) native.push(path);
  }
  const isSmall = bytes <= MOST_BYTES && packages <= MOST_PACKAGES;
  const most = `at most ${MOST_BYTES / 1e6} MB, ${MOST_PACKAGES} packages`;
  console.log(`It installs ${(bytes / 1e6).toFixed(1)} MB in ${packages} packages (${most}).`);
  console.log(`Native code and scripts of an installation: ${native.join(", ") || "none"}.`);
  if (!isSmall || native.length > 0) process.exitCode = 1;
}

/** A program that esbuild bundles works with the package left out, and says so with the package in it, in both formats. */
async function checkBundled(): Promise<void> {
  const cwd = join(folder, "user");
  await writeFile(join(cwd, "program.mjs"), PROGRAM);
  for (const format of ["esm", "cjs"] as const) {
    await checkBuild(cwd, format, ["belay-rlm"], "42");
    await checkBuild(cwd, format, [], "serverExternalPackages");
  }
  console.log("A program that esbuild makes works without the package in it, and else names the setting.");
}

/** The installed package works in Bun and in Deno as in Node. */
async function checkRuntimes(): Promise<void> {
  const cwd = join(folder, "user");
  await writeFile(join(cwd, "kept.mjs"), KEPT_PROGRAM);
  for (const { name, args, said } of RUNTIMES) {
    const place = join(folder, name);
    const program = join(place, "node_modules/.bin", name);
    await mkdir(place);
    try {
      await install(place, name);
      await mustRun(program, ["--version"], { cwd: place });
    } catch {
      console.log(`${name} cannot be installed: not tried.`);
      continue;
    }
    await rm(join(cwd, "kept"), { recursive: true, force: true });
    await run(program, [...args, "kept.mjs"], { cwd });
    const { output } = await run(program, [...args, "kept.mjs"], { cwd });
    if (!output.includes(said)) throw new Error(`in ${name} the program says ${output.trim()}, and not ${said}`);
    console.log(`In ${name} the program says: ${output.trim()}`);
  }
}

/** @param said a part of what the program prints */
async function checkBuild(cwd: string, format: "esm" | "cjs", external: string[], said: string): Promise<void> {
  const outfile = `out.${format === "esm" ? "mjs" : "cjs"}`;
  await build({
    absWorkingDir: cwd,
    entryPoints: ["program.mjs"],
    outfile,
    bundle: true,
    platform: "node",
    format,
    external,
    logLevel: "error",
  });
  const { output } = await run(process.execPath, [outfile], { cwd });
  if (output.includes(said)) return;
  const how = external.length > 0 ? "without the package" : "with the package";
  throw new Error(`a program that esbuild made as ${format} ${how} says ${output.trim()}, and not ${said}`);
}

/** Compiles a caller of each kind as strictly as can be: without the DOM, and with the declarations checked too. */
async function checkTypes(tarball: string): Promise<void> {
  const app = join(folder, "app");
  const modules = join(app, "node_modules");
  await mkdir(join(modules, "belay-rlm"), { recursive: true });
  await symlink(join(ROOT, "node_modules/@types"), join(modules, "@types"));
  await mustRun("tar", ["-xzf", tarball, "--strip-components=1", "-C", join(modules, "belay-rlm")], { cwd: app });
  await writeFile(join(app, "a.mts"), CALLER);
  await writeFile(join(app, "b.cts"), CALLER);
  for (const system of ["node16", "node20", "nodenext"]) await checkStrictly(app, system);
  console.log("The types compile without the DOM and with skipLibCheck: false, from ES modules and CommonJS.");
}

async function checkStrictly(app: string, moduleSystem: string): Promise<void> {
  const strict = [
    "--strict",
    "--exactOptionalPropertyTypes",
    "--skipLibCheck",
    "false",
    "--lib",
    "es2022",
    "--types",
    "node",
    "--target",
    "es2022",
    "--module",
    moduleSystem,
  ];
  const { code, output } = await run("tsc", ["--noEmit", ...strict, "a.mts", "b.cts"], { cwd: app });
  if (code !== 0) throw new Error(`the types do not compile under module: ${moduleSystem}\n${output.trim()}`);
}
