import { spawn } from "node:child_process";
import { cpSync, readdirSync, renameSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ENV, finished, json, type Run } from "../src/cli/belay.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { LOW_BORDER_COMMAND } from "../support/command.ts";
import { flipByte } from "../support/flip-byte.ts";
import { FEW_FILES, lowerBorder } from "../support/low-border.ts";
import { folderWith } from "../support/tree.ts";

// A context of many files lies in files itself. These are damaged, and the disk is full: the error
// is named, nothing else is lost, and the same line works again once the cure is done.

const FILES = FEW_FILES + 1;
const LINES = 8;
const KB = 1024;

afterAll(lowerBorder());

interface Ground {
  /** Where the files lie, in `files`. */
  readonly cwd: string;
  readonly home: string;
}

function ground(): Ground {
  const line = (n: number, at: number) => `${"of-line-".repeat(3)}${n}x${at} größe of the connection reset\n`;
  const textOf = (n: number) => Array.from({ length: LINES }, (_, at) => line(n, at)).join("");
  const tree = Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`files/${n}.txt`, textOf(n)]));
  return { cwd: folderWith(tree), home: join(folderWith(), "home") };
}

const LOAD = ["-c", "files", "--max-files", "20000"];
const COUNT = 'count("reset")';
const argsOf = (code: string, ...args: string[]) => ["exec", "-s", "a", "--json", "-q", "-e", code, ...args];

/** The answer of a cell in another process that has the store. */
async function answer({ cwd, home }: Ground, code: string, ...args: string[]): Promise<Record<string, unknown>> {
  return json(await belayHere(argsOf(code, ...args), { cwd, home }));
}

const found = (result_json: unknown) => expect.objectContaining({ success: true, result_json });
const lost = (words: string) =>
  expect.objectContaining({
    success: false,
    error_code: "context_lost",
    error_message: expect.stringMatching(`the context .*/files is damaged: .*${words}`),
    suggestion: expect.stringContaining("open the session again, which reads unchanged sources again"),
  });

/** The files of a folder of the store that have names of hashes, the largest first. */
function filesIn({ home }: Ground, folder: string): string[] {
  const isData = (name: string) => /^[0-9a-f]{64}/.test(name) && !name.endsWith(".damaged");
  const paths = readdirSync(join(home, folder))
    .filter(isData)
    .map((name) => join(home, folder, name));
  return paths.sort((one, other) => statSync(other).size - statSync(one).size);
}

test("damage is named, what is whole can be read, and an unchanged source is read again", async () => {
  const whole = ground();
  expect(await answer(whole, COUNT, ...LOAD)).toEqual(found(FILES * LINES));
  expect(await answer(whole, 'search("reset").length')).toEqual(found(10));
  const taken = [...filesIn(whole, "texts"), ...filesIn(whole, "index")].map((path) => statSync(path).size);
  const { sessions } = json(await belayHere(["sessions", "--json"], whole));
  expect(sessions).toMatchObject([{ text_bytes: taken.reduce((sum, size) => sum + size, 0) }]);
  const backup = join(folderWith(), "home");
  cpSync(whole.home, backup, { recursive: true });
  const kept = filesIn(whole, "texts");
  /** The store as it was, with something damaged. It stays where it is: settings are signed for their store. */
  function damage(how: (text: string, table: string, index: string) => void): void {
    rmSync(whole.home, { recursive: true });
    cpSync(backup, whole.home, { recursive: true });
    const [text = "", table = ""] = filesIn(whole, "texts");
    how(text, table, filesIn(whole, "index")[0] ?? "");
  }
  async function isWhole(): Promise<void> {
    expect(await answer(whole, COUNT)).toEqual(found(FILES * LINES));
    await belayHere(["gc"], whole);
    expect(filesIn(whole, "texts")).toEqual(kept);
  }

  damage((text) => flipByte(text, 200_000));
  expect(await answer(whole, COUNT)).toEqual(lost("is damaged in the 64 KB that begin at 196608"));
  await isWhole();

  damage((_, table) => flipByte(table, statSync(table).size - 10 * KB));
  expect(await answer(whole, "doc_at(P.length - 5).id")).toEqual(lost("is damaged in the 64 KB"));
  expect(await answer(whole, "doc_at(P.length - 5).id")).toEqual(found("999.txt"));
  await isWhole();

  const harms = [
    (text: string) => truncateSync(text, 100_000),
    (_: string, table: string) => flipByte(table, 100),
    (_: string, table: string) => rmSync(table),
  ];
  for (const harm of harms) {
    damage(harm);
    await isWhole();
  }

  damage((_text, _table, index) => flipByte(index, 100));
  expect(await answer(whole, 'search("reset").length')).toEqual(found(10));
  await isWhole();
  expect((await belayHere(["doctor"], whole)).code).toBe(0);

  // Nothing can be read again: what is not damaged can still be read, and nothing else is taken for right.
  damage((text) => flipByte(text, 200_000));
  renameSync(join(whole.cwd, "files"), join(whole.cwd, "away"));
  for (let time = 0; time < 2; time++) {
    expect(await answer(whole, COUNT)).toEqual(lost("is damaged"));
    expect(await answer(whole, "P.slice(-6)")).toEqual(found("reset\n"));
  }
  expect((await belayHere(["doctor"], whole)).code).toBe(1);
  damage((text) => truncateSync(text, 100_000));
  expect(await answer(whole, COUNT)).toMatchObject({ success: false, error_code: "context_lost" });
}, 600_000);

/** Runs the command with a limit on the size of files, as a full disk: a write ends with EFBIG. */
function withLargestFile({ cwd, home }: Ground, kb: number, args: readonly string[]): Promise<Run> {
  const script = `trap '' XFSZ; ulimit -f ${kb}; exec "$@"`;
  const line = ["-c", script, "bash", process.execPath, ...LOW_BORDER_COMMAND, ...args];
  return finished(spawn("bash", line, { cwd, env: { ...ENV, BELAY_HOME: home } }));
}

test("a text or an index that cannot be written is told, leaves nothing, and is made once it can be", async ({
  skip,
}) => {
  skip(process.platform === "win32", "there is no bash");
  const full = ground();
  expect(json(await withLargestFile(full, 200, argsOf(COUNT, ...LOAD)))).toMatchObject({
    error_code: "store_failed",
    error_message: `a large context cannot be kept in ${join(full.home, "texts")}: the system refuses to write (EFBIG)`,
  });
  expect(readdirSync(join(full.home, "texts"))).toEqual([]);
  expect(await answer(full, COUNT, ...LOAD)).toEqual(found(FILES * LINES));
  const failed = json(await withLargestFile(full, 200, argsOf('search("reset").length')));
  expect(failed).toMatchObject({ success: false, error_message: expect.stringContaining("(EFBIG)") });
  expect(filesIn(full, "index")).toEqual([]);
  expect(await answer(full, 'search("reset").length')).toEqual(found(10));
}, 600_000);
