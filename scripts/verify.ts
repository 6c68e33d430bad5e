import { startNamed } from "./named.ts";
import { mustRun, ROOT } from "./process.ts";

// Checks that ask npm's registry for packages, need another program, or take minutes: they are run before a release.

/** Runs tests with output as it comes. */
const tests =
  (paths: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  async () => {
    const { output } = await mustRun("vitest", ["run", ...paths], { cwd: ROOT, env: { ...process.env, ...env } });
    console.log(output);
  };

await startNamed("npm run verify --", {
  package: {
    about: "the packed package, installed as its user installs it",
    start: () => import("./check-package.ts"),
  },
  floor: { about: "the tests on the oldest Node", start: () => import("./check-floor.ts") },
  postgres: { about: "stores and runs on the oldest PostgreSQL", start: () => import("./check-postgres.ts") },
  windows: { about: "the packed package on Windows, or under Wine", start: () => import("./check-windows.ts") },
  pi: { about: "the package in a Pi of another line, or in a fork of it", start: () => import("./check-pi.ts") },
  "pi-lines": { about: "each scene in all lines of Pi", start: tests(["tests/e2e/pi-"], { BELAY_ALL_PI_LINES: "1" }) },
  view: { about: "the page of a session, in a Chromium", start: tests(["tests/e2e/view", "tests/src/view"]) },
  servers: { about: "a real llama-server", start: () => import("./check-servers.ts") },
  agents: { about: "real coding agents as MCP clients", start: () => import("./check-agents.ts") },
  hosts: { about: "frameworks of agents that use the tools", start: () => import("./check-hosts.ts") },
  inspector: { about: "the inspector of MCP", start: () => import("./check-inspector.ts") },
});
