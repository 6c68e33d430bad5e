import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { ROOT } from "./scripts/process.ts";
import { KEY_VARIABLES } from "./src/model/keys/variables.ts";
import { BUNDLED, COMPILED, QUICK } from "./tests/support/command.ts";

/** Tests that start many processes, since to start one takes the longer the more memory its parent has, or that take the streams of theirs. */
const PROCESSES = ["tests/e2e/**/*.test.ts", "tests/src/cli/**/*.test.ts", "tests/src/context/load/walk.test.ts"];

/** Tests that need a PostgreSQL server share one, which the first of them has started. */
const POSTGRES = "./tests/support/postgres/setup.ts";

/**
 * Tests start a thousand threads. One from the bundle takes half the time of one that strips and links a hundred modules. While
 * files are watched, the bundle would be older than they are.
 */
const bundledThreads: Plugin = {
  name: "bundled-threads",
  enforce: "pre",
  transform(code, id) {
    if (!process.argv.includes("run") || !id.endsWith("/src/entries.ts")) return null;
    return code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(join(BUNDLED, "src/entries.js")).href));
  },
};

/** Stores of tests work in the thread of the test: tests open hundreds, and to start a thread takes longer than they have one open. */
const storesWithoutThreads: Plugin = {
  name: "stores-without-threads",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/src/store/thread/thread.ts")) return null;
    const threads = /import \{ type Transferable, Worker \} from "node:worker_threads";/;
    if (!threads.test(code)) throw new Error(`${id} imports its threads in another way`);
    const near = JSON.stringify(join(ROOT, "tests/support/store-worker.ts"));
    return code.replace(
      threads,
      `import type { Transferable } from "node:worker_threads"; import { Worker } from ${near};`,
    );
  },
};

/** Sessions of tests come and go: threads of machines are kept for those that follow, as many as a test has at once. */
const keptThreads: Plugin = {
  name: "kept-threads",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/runtime/threads/machines.ts")) return null;
    const few = /const KEPT_AT_LEAST = 2;/;
    if (!few.test(code)) throw new Error(`${id} keeps its threads in another way`);
    return code.replace(few, "const KEPT_AT_LEAST = 6;");
  },
};

/** Nobody's keys and logins: a test that names no model asks none. */
const noKeys = {
  ...Object.fromEntries(Object.values(KEY_VARIABLES).map((name) => [name, ""])),
  ANTHROPIC_AUTH_TOKEN: "",
  PI_CODING_AGENT_DIR: join(COMPILED, "agent"),
};

const plugins = [bundledThreads, storesWithoutThreads, keptThreads];

export default defineConfig({
  test: {
    testTimeout: 60_000,
    // The key that signs settings is one for all tests, and not that of whoever runs them.
    // Most tests start threads: a thread that finds its modules compiled is ready in two thirds of the time.
    env: { ...noKeys, NODE_COMPILE_CACHE: COMPILED, XDG_CONFIG_HOME: join(COMPILED, "config") },
    // Many tests wait for processes of their own.
    maxWorkers: availableParallelism() + 1,
    reporters: ["default", "./tests/support/closing-line.ts"],
    projects: [
      {
        extends: true,
        plugins,
        test: {
          name: "processes",
          include: PROCESSES,
          globalSetup: ["./tests/support/prepare.ts", POSTGRES],
          execArgv: [...QUICK],
        },
      },
      {
        extends: true,
        plugins,
        // A module is loaded once for all files of a worker: no test may count on a fresh one.
        test: {
          name: "units",
          include: ["tests/**/*.test.ts"],
          exclude: PROCESSES,
          isolate: false,
          globalSetup: ["./tests/support/bundle.ts", POSTGRES],
          // Little garbage is collected.
          execArgv: QUICK.slice(0, 1),
        },
      },
    ],
  },
});
