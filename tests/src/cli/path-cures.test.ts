import { spawnSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { checkContexts } from "../../../src/cli/input/sources.ts";
import { RlmError } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { belayLine } from "./belay.ts";

/** Three lines, packed by bzip2. */
const LINES_BZ2 = Buffer.from("QlpoOTFBWSZTWYTJglwAAAXBAAAQAiUgACI9JtBmggiUTC7kinChIQmTBLg=", "base64");

/** Code and suggestion for `belay exec` with these arguments; the contexts are those after -c. */
function cure(...typed: string[]): string {
  const contexts = typed.filter((_, index) => typed[index - 1] === "-c");
  try {
    checkContexts({ command: "exec", contexts, typed });
    return "accepted";
  } catch (error) {
    if (error instanceof RlmError) return `${error.code}: ${error.suggestion}`;
    throw error;
  }
}

function folder(): string {
  const made = folderWith({
    ...{ "app.log.bz2": LINES_BZ2, "notes.bz2": "text with a misleading name", "log.gz": gzipSync("line\n") },
    ...{ "src.tar.xz": Buffer.from("fd377a585a000004", "hex"), "docs.zip": Buffer.from("504b03040000", "hex") },
    "a.log": "a",
    "b.log": "b",
    "it's.log": "c",
  });
  const before = process.cwd();
  process.chdir(made);
  onTestFinished(() => process.chdir(before));
  return made;
}

test("what is compressed or a pattern gets the line to type instead", () => {
  truncateSync(join(folder(), "b.log"), 101 * 2 ** 20);
  expect(cure("-c", "app.log.bz2", "-e", "P")).toBe(
    "invalid_argument: Type: bzip2 -dc app.log.bz2 | belay exec -c - -e P",
  );
  expect(cure("-", "-c", "app.log.bz2")).toBe(
    "invalid_argument: Type: bzip2 -dc app.log.bz2 > app.log.bz2.txt && belay exec - -c app.log.bz2.txt",
  );
  expect(cure("-c", "src.tar.xz")).toBe(
    "invalid_argument: Type: mkdir src && tar -xf src.tar.xz -C src && belay exec -c src",
  );
  expect(cure("-c", "*.log", "-q")).toBe("path_not_found: Type: belay exec -c a.log -c b.log -c 'it'\\''s.log' -q");
  expect(cure("-c", "https://example.com/a/report.pdf?x=1", "-q")).toBe(
    "path_not_found: Type: curl -fL 'https://example.com/a/report.pdf?x=1' -o report.pdf && belay exec -c report.pdf -q",
  );
  expect(cure("-c", "http://example.com")).toBe(
    "path_not_found: Type: curl -fL http://example.com -o page.html && belay exec -c page.html",
  );
  expect(cure("-c", "*.md")).toBe("path_not_found: Check its spelling, or name a folder.");
  // The load knows what it may hold, and names the flag.
  for (const path of ["b.log", "notes.bz2", "docs.zip", "log.gz", "a.log", ".", "missing", "x".repeat(300), "-"])
    expect(cure("-c", path)).toBe("accepted");
});

test("the line runs as it is told", () => {
  const cwd = folder();
  const line = cure("-c", "app.log.bz2", "--no-store", "-e", "P").replace(/^.*Type: /, "");
  const { stdout } = spawnSync("sh", ["-c", line.replace("belay ", belayLine(""))], { cwd, encoding: "utf8" });
  expect(stdout).toBe("line\nline\nline\n");
});
