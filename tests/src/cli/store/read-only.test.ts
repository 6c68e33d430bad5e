import { execFile } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { openSessionWith } from "../../../../src/session/session.ts";
import { shareStore } from "../../../../src/store/index.ts";
import { COMMAND } from "../../../support/command.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { folderWith } from "../../../support/tree.ts";

/** A user without an entry and without a home folder, as containers have: modes of files do not bind root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 12345, gid: 12345 } : {};

/** Copies files of a store to a folder that nobody can write. */
function mounted(from: string, to: string, files: readonly string[]): string {
  mkdirSync(to);
  for (const file of files) {
    copyFileSync(join(from, file), join(to, file));
    chmodSync(join(to, file), 0o444);
  }
  chmodSync(to, 0o555);
  onTestFinished(() => chmodSync(to, 0o755));
  return to;
}

async function run(args: readonly string[], env: Readonly<Record<string, string>>) {
  const running = promisify(execFile)(process.execPath, [...COMMAND, ...args], { ...NOBODY, cwd: "/", env });
  return running.catch(({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => ({
    stdout,
    stderr,
  }));
}

test.skipIf(process.platform === "win32")(
  "a user without a home folder reads a store that cannot be written, and is told of BELAY_HOME",
  async () => {
    const folder = folderWith({ "home/": "" });
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "home"), 0o777);
    const place = join(folder, "store");
    const store = await shareStore(place);
    const session = await openSessionWith({ session: "kept" }, { store });
    await session.load({ text: "a needle in the hay\n", name: "hay" });
    const log = mounted(place, join(folder, "log"), ["belay.db", "belay.db-wal"]);
    await session.close();
    await store[Symbol.asyncDispose]();
    const clean = mounted(place, join(folder, "clean"), ["belay.db"]);
    const server = await startModelServer(() => ({ text: "a needle" }));
    onTestFinished(() => server.close());

    const model = ["--model", "local/m", "--base-url", server.url, "--api-key-env", "NONE"];
    const env = { BELAY_HOME: join(folder, "home"), NONE: "key" };
    const [listed, asked, refused, unkept] = await Promise.all([
      run(["sessions", "--json"], { BELAY_HOME: clean }),
      run(["query", "needle", "-s", "kept", "--store", log, ...model], env),
      run(["exec", "-e", "1"], {}),
      run(["exec", "-e", "1 + 1", "--no-store"], {}),
    ]);
    expect(listed).toMatchObject({ stderr: "", stdout: expect.stringContaining('"kept"') });
    expect(asked.stdout).toBe("a needle\n");
    expect(asked.stderr).toContain(`${log} cannot be written: the answer is not kept`);
    expect(refused.stderr).toMatch(/^error: sessions cannot be kept: .*\nsuggestion: .*BELAY_HOME/);
    expect(unkept).toMatchObject({ stderr: "", stdout: "2\n" });
    expect([readdirSync(log), readdirSync(clean)]).toEqual([["belay.db", "belay.db-wal"], ["belay.db"]]);
  },
);
