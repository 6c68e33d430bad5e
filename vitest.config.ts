import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { COMPILED } from "./tests/support/command.ts";

/** Tests that start many processes: to start one takes the longer the more memory its parent has. */
const PROCESSES = ["tests/e2e/**/*.test.ts", "tests/src/cli/**/*.test.ts", "tests/src/context/load/walk.test.ts"];

/** Tests that need a PostgreSQL server share one, which the first of them has started. */
const POSTGRES = "./tests/support/postgres/setup.ts";

export default defineConfig({
  test: {
    testTimeout: 60_000,
    // The key that signs settings is one for all tests, and not that of whoever runs them.
    // Most tests start threads: a thread that finds its modules compiled is ready in two thirds of the time.
    env: { NODE_COMPILE_CACHE: COMPILED, XDG_CONFIG_HOME: join(COMPILED, "config") },
    // Many tests wait for processes of their own.
    maxWorkers: availableParallelism() + 1,
    reporters: ["default", "./tests/support/closing-line.ts"],
    projects: [
      {
        extends: true,
        test: { name: "processes", include: PROCESSES, globalSetup: ["./tests/support/prepare.ts", POSTGRES] },
      },
      {
        extends: true,
        // A module is loaded once for all files of a worker: no test may count on a fresh one.
        test: {
          name: "units",
          include: ["tests/**/*.test.ts"],
          exclude: PROCESSES,
          isolate: false,
          globalSetup: POSTGRES,
        },
      },
    ],
  },
});
