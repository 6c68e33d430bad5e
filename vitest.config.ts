import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { PROVIDERS } from "./src/models/keys/keys.ts";
import { COMPILED, QUICK } from "./tests/support/command.ts";

/** Tests that start many processes: to start one takes the longer the more memory its parent has. Others share what they load. */
const PROCESSES = ["tests/e2e/**/*.test.ts"];

/** Tests that replace a module or look at the heap: a file before theirs may have loaded it, or left something there. */
const ALONE = ["tests/src/context/find/engine.test.ts", "tests/e2e/soak.test.ts"];

/** They take the longest, and what they start, they start in turn: whichever began last would work alone at the end. */
const LONGEST = ["bench", "workflow-guarantee", "view-page", "soak"].map((name) => `tests/e2e/${name}.test.ts`);

/** The longest first, and then as Vitest has it: what took longest before, or the largest. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = (await super.sort(files)).filter((file) => !isLong(file));
    return [...files.filter(isLong), ...others];
  }
}

const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((file) => moduleId.endsWith(file));

/** Tests that need a PostgreSQL server share one, which the first of them has started. */
const POSTGRES = "./tests/support/postgres/setup.ts";

/** Many tests wait: for processes of their own, for commits, for times that must pass. */
const WORKERS = availableParallelism() + 3;

/**
 * Workers live long, and what they load they keep: V8 begins to look for garbage among it when so
 * many MB have been allocated, and not after the first ten.
 */
const FEW_COLLECTIONS = "--initial-old-space-size=256";

/** Nobody's keys and logins: a test that names no model asks none. */
const noKeys = {
  ...Object.fromEntries(Object.values(PROVIDERS).map(({ variable }) => [variable, ""])),
  ANTHROPIC_AUTH_TOKEN: "",
  PI_CODING_AGENT_DIR: join(COMPILED, "agent"),
};

export default defineConfig({
  test: {
    // The key that signs settings is one for all tests, and not that of whoever runs them.
    // Most tests start threads: a thread that finds its modules compiled is ready in two thirds of the time.
    env: { ...noKeys, NODE_COMPILE_CACHE: COMPILED, XDG_CONFIG_HOME: join(COMPILED, "config") },
    // For tests that wait for processes of their own. A computer that is busy takes many times as long.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: WORKERS,
    // A module is loaded once for all files of a worker: no test may count on a fresh one.
    isolate: false,
    // Node loads the sources, as it does without tests, and keeps them compiled.
    experimental: { viteModuleRunner: false },
    setupFiles: ["./tests/support/setup.ts"],
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./tests/support/closing-line.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "processes",
          include: PROCESSES,
          exclude: ALONE,
          globalSetup: ["./tests/support/prepare.ts", POSTGRES],
          execArgv: [...QUICK, FEW_COLLECTIONS],
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: ALONE,
          isolate: true,
          experimental: { viteModuleRunner: true },
          globalSetup: ["./tests/support/bundle.ts", POSTGRES],
          execArgv: [...QUICK],
        },
      },
      {
        extends: true,
        test: {
          name: "units",
          include: ["tests/**/*.test.ts"],
          exclude: [...PROCESSES, ...ALONE],
          globalSetup: ["./tests/support/bundle.ts", POSTGRES],
          execArgv: [...QUICK.slice(0, 1), FEW_COLLECTIONS],
        },
      },
    ],
  },
});
