import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    testTimeout: 60_000,
    globalSetup: "./tests/support/command.ts",
    // A module is loaded once for all files of a worker: no test may count on a fresh one.
    isolate: false,
    // Many tests wait for processes of their own.
    maxWorkers: Math.max(2, availableParallelism()),
    reporters: ["default", "./tests/support/closing-line.ts"],
  },
});
