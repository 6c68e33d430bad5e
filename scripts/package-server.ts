import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { binariesFolder, startCluster } from "../tests/support/postgres/cluster.ts";
import { type Finished, mustRun, ROOT, run } from "./process.ts";

// A store on a server takes two packages that nobody gets unasked: `pg` and `pg-boss`.

const CLIENTS = ["pg", "pg-boss"] as const;
const CURE = "npm install pg pg-boss@";

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/**
 * Runs the packed command over a server: without the two packages, with one of them, and with both. Its dependencies are those of
 * this checkout, so nothing is installed.
 * @throws Error if it does otherwise than it promises
 */
export async function checkServer(tarball: string, folder: string): Promise<void> {
  const app = join(folder, "server");
  const modules = join(app, "node_modules");
  const own = join(modules, "belay-rlm");
  await mkdir(own, { recursive: true });
  await mustRun("tar", ["-xzf", tarball, "--strip-components=1", "-C", own], { cwd: app });
  const manifest: Manifest = JSON.parse(await readFile(join(own, "package.json"), "utf8"));
  checkManifest(manifest);
  for (const name of Object.keys(manifest.dependencies)) await link(modules, name);
  await writeFile(join(app, "package.json"), "{}");
  await writeFile(join(app, "double.js"), "job.n * 2");
  await writeFile(join(app, "jobs.jsonl"), '{"id":"a","n":1}\n{"id":"b","n":2}\n');

  const belay = (...args: string[]) => run(process.execPath, [join(own, "dist/src/cli/main.js"), ...args], options);
  const options = { cwd: app, env: { ...process.env, BELAY_HOME: join(folder, "home") } };
  const exec = (store: string) => belay("exec", "-e", "6 * 7", "--quiet", "--store", store);
  const batch = (store: string) =>
    belay("batch", "double.js", "--jobs", "jobs.jsonl", "--out", "-", "--quiet", "--store", store);

  for (const work of [exec, batch]) expectRefusal(await work("postgres://nobody@127.0.0.1:1/none"), "pg");
  console.log("Without pg a URL is refused with the line that installs it.");
  if (binariesFolder() === null) {
    console.log(`Skipped: there is no PostgreSQL for ${process.platform}-${process.arch}.`);
    return;
  }
  await using cluster = await startCluster();
  await link(modules, "pg");
  expectOutput(await exec(`${cluster.url}?schema=alone`), "42\n");
  expectRefusal(await batch(`${cluster.url}?schema=alone`), "pg-boss");
  console.log("With pg alone an exec runs, and a batch is refused with that line.");
  await link(modules, "pg-boss");
  expectOutput(await exec(`${cluster.url}?schema=both`), "42\n");
  expectResults(await batch(`${cluster.url}?schema=both`));
  console.log("With pg and pg-boss an exec and a batch of two jobs run.");
  await rm(app, { recursive: true });
}

/** What npm installs with the package, and what the user may add. */
function checkManifest({ dependencies, optionalDependencies = {}, peerDependenciesMeta }: Manifest): void {
  for (const name of CLIENTS) {
    if (name in dependencies || name in optionalDependencies || peerDependenciesMeta[name]?.optional !== true) {
      throw new Error(`${name} is to be an optional peer dependency of the package, and nothing else`);
    }
  }
}

async function link(modules: string, name: string): Promise<void> {
  const at = join(modules, name);
  await mkdir(dirname(at), { recursive: true });
  await symlink(join(ROOT, "node_modules", name), at);
}

function expectRefusal({ code, output }: Finished, missing: string): void {
  if (code === 1 && output.includes(`needs the package ${missing},`) && output.includes(CURE)) {
    if (output.includes("(store_failed)")) return;
  }
  throw new Error(`without ${missing} the command ended with ${code}:\n${output}`);
}

function expectOutput({ code, stdout, output }: Finished, expected: string): void {
  if (code !== 0 || stdout !== expected) throw new Error(`the command ended with ${code}:\n${output}`);
}

function expectResults({ code, stdout, output }: Finished): void {
  const lines = stdout.split("\n").filter((line) => line !== "");
  const results = lines.map((line) => JSON.parse(line)).map(({ job, status, result }) => `${job} ${status} ${result}`);
  if (code !== 0 || results.join() !== "a done 2,b done 4") throw new Error(`the batch ended with ${code}:\n${output}`);
}
