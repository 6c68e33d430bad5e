import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "./package.ts";
import { checkServer } from "./package-server.ts";
import { mustRun, ROOT, run } from "./process.ts";

// What publint and "are the types wrong?" find in the tarball, whether its types compile, and whether it works over a server.

const CHECKS: readonly (readonly [string, ...string[]])[] = [
  ["publint", "run", "--strict"],
  // One build, as ES modules: `require` loads it too.
  ["attw", "--profile", "esm-only"],
];

const folder = await mkdtemp(join(tmpdir(), "belay-package-"));
try {
  const tarball = await pack(folder);
  for (const [program, ...args] of CHECKS) {
    const { code, output } = await run(program, [...args, tarball], { cwd: ROOT });
    console.log(output.trim());
    if (code !== 0) process.exitCode = 1;
  }
  await checkTypes(tarball);
  await checkServer(tarball, folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Compiles a caller of each kind as strictly as can be: without the DOM, and with the declarations checked too. */
async function checkTypes(tarball: string): Promise<void> {
  const app = join(folder, "app");
  const modules = join(app, "node_modules");
  await mkdir(join(modules, "belay-rlm"), { recursive: true });
  await symlink(join(ROOT, "node_modules/@types"), join(modules, "@types"));
  await mustRun("tar", ["-xzf", tarball, "--strip-components=1", "-C", join(modules, "belay-rlm")], { cwd: app });
  const use = "export const opened = openSession({ memoryMb: 64 }).then((session) => session.exec('1 + 1'));";
  await writeFile(join(app, "a.mts"), `import { openSession } from "belay-rlm";\n${use}\n`);
  await writeFile(join(app, "b.cts"), `import { openSession } from "belay-rlm";\n${use}\n`);
  const strict = ["--strict", "--skipLibCheck", "false", "--lib", "es2022", "--types", "node", "--module", "nodenext"];
  const { code, output } = await run("tsc", ["--noEmit", ...strict, "a.mts", "b.cts"], { cwd: app });
  console.log(code === 0 ? "The types compile without the DOM and with skipLibCheck: false." : output.trim());
  if (code !== 0) process.exitCode = 1;
}
