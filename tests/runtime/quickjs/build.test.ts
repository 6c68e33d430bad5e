import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BUNDLED } from "../../support/command.ts";
import { folderWith } from "../../support/tree.ts";

const MACHINES = new URL("../../../runtime/threads/machines.ts", import.meta.url).href;
const ENTRY = new URL("../../../src/machine-thread-entry.ts", import.meta.url).href;

/** A module whose `run(times)` calls its import `e.f`. V8 replaces the code of both when they are called often. */
const CALLS =
  "0061736d01000000010a0260017f017f60017f00020701016501660000030201010707010372756e00010a15011300034020001000" +
  "1a200041016b22000d000b0b";

/** Calls it often, by many instances, after `before`. V8 prints each time that it frees code. */
function freedCode(before: string): string {
  const program = `
    ${before}
    console.log("from here on");
    const module = new WebAssembly.Module(Buffer.from("${CALLS}", "hex"));
    for (let i = 0; i < 20; i++) {
      new WebAssembly.Instance(module, { e: { f: (x) => x } }).exports.run(20_000);
      await new Promise(setImmediate);
    }`;
  const flags = ["--stress-wasm-code-gc", "--trace-wasm-code-gc", "--input-type=module", "-e", program];
  const { stdout, status } = spawnSync(process.execPath, flags, { encoding: "utf8" });
  expect(status).toBe(0);
  return stdout.slice(stdout.indexOf("from here on"));
}

describe.runIf(process.versions.v8.startsWith("13."))("on V8 13, which can free the code of an import twice", () => {
  test("code is freed in a process without the engine", () => {
    expect(freedCode("")).toContain("[wasm-gc]");
  });

  test("none is freed once a thread is up", () => {
    const before = `
      const { openMachines } = await import("${MACHINES}");
      const { seat } = await openMachines().take(new URL("${ENTRY}"));
      await seat.leave(false);`;
    expect(freedCode(before)).not.toContain("[wasm-gc]");
  });
});

test("a command ends before the engine is optimized; the value to which its flag is set back is V8's own", () => {
  const command = [join(BUNDLED, "src/cli/main.js"), "exec", "-e", "1 + 1"];
  const env = { ...process.env, BELAY_HOME: folderWith() };
  const run = spawnSync(process.execPath, ["--trace-wasm-compilation-times", ...command], { encoding: "utf8", env });
  expect(run.stdout).toContain("using Liftoff");
  expect(run.stdout).not.toContain("using TurboFan");
  const { stdout } = spawnSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  expect(stdout).toContain("default: --wasm-tiering-budget=13000000");
});
