import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "./package.ts";
import { ROOT, run } from "./process.ts";

// What publint and "are the types wrong?" find in the tarball.

const CHECKS: readonly (readonly [string, ...string[]])[] = [
  ["publint", "run", "--strict"],
  // ESM alone: CommonJS callers use `import()`.
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
} finally {
  await rm(folder, { recursive: true, force: true });
}
