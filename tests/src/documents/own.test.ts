import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { load } from "../../../src/context/load/load.ts";
import type { Converters } from "../../../src/documents/kinds.ts";
import { folderWith } from "../../support/tree.ts";
import { html, ORIGINALS } from "./originals.ts";

async function loaded(
  convert: Converters,
  name: string,
  bytes: string | Uint8Array,
  more: Readonly<Record<string, string>> = {},
) {
  const cwd = folderWith({ [name]: bytes, ...more });
  const { text, documents } = await load({ kind: "path", path: name }, { cwd, roots: [cwd], documents: { convert } });
  return { text: text.slice(0, text.length), document: documents[0] };
}

const shell = (line: string) => ["sh", "-c", line, "sh", "{}"];

test("a program of the user's own makes the text, and a form feed begins the next page", async () => {
  const { text, document } = await loaded({ abc: shell('cat "$1"; printf "\\ftwo\\f\\fend\\f"') }, "a.abc", "one");
  expect(text).toBe("[p.1]\none\n\n[p.2]\ntwo\n\n[p.3]\n[p.4]\nend");
  expect(document).toMatchObject({
    original: { kind: "abc", bytes: 3, reader: expect.stringMatching(/^own\/1 sh [0-9a-f]{12}$/) },
    lost: [{ kind: "page without text", count: 1, where: [3] }],
  });
  expect(document?.places?.map(([, label]) => label)).toEqual(["p.1", "p.2", "p.3", "p.4"]);
});

test("it gets a private copy, a folder of its own and three variables", async () => {
  const { text } = await loaded({ abc: shell('stat -c "%a %n" . "$1"; env | sed "s/=.*//" | sort') }, "a.abc", "one");
  expect(text).toMatch(/^700 \.\n600 \/\S+\/belay-documents-\d+-\w+\/original\.abc\n/);
  expect(
    text
      .split("\n")
      .slice(2)
      .filter((name) => !/^(PWD|SHLVL|_|OLDPWD)?$/.test(name)),
  ).toEqual(["HOME", "LANG", "PATH"]);
});

test.for([
  ["exit 3", shell("echo 'no such font' >&2; exit 3"), "a.abc cannot be read: sh ended with 3: no such font"],
  ["what is not UTF-8", shell("printf '\\377'"), "a.abc cannot be read: sh printed what is not UTF-8"],
  [
    "no program",
    ["belay-has-no-such-program", "{}"],
    "a.abc cannot be read: belay-has-no-such-program cannot be started: spawn belay-has-no-such-program ENOENT",
  ],
] as const)("%s is an error that shows what the program said", async ([, argv, message]) => {
  await expect(loaded({ abc: argv }, "a.abc", "one")).rejects.toMatchObject({
    ...{ code: "document_unreadable", message, suggestion: "Correct `abc` in `convert`." },
  });
});

test("what the program has started ends with it", async () => {
  const { text } = await loaded({ abc: shell("sleep 600 & echo $!") }, "a.abc", "one");
  await expect.poll(() => isAlive(Number(text.trim()))).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    // One that has ended is there until its parent has asked for it.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("false leaves files as they are, and true converts HTML in a repository", async () => {
  const asIs = html().toString("latin1").replace("\xe9", "e");
  expect((await loaded({ html: false }, "a.html", asIs)).text).toBe(asIs);
  expect((await loaded({}, "a.html", asIs, { ".git/HEAD": "" })).text).toBe(asIs);
  expect((await loaded({ html: true }, "a.html", asIs, { ".git/HEAD": "" })).text).toContain("# Big");
  expect((await loaded({}, "a.html", asIs)).text).toContain("# Big");
  await expect(loaded({ pdf: false }, "a.pdf", ORIGINALS["shop.db"]?.() ?? "")).rejects.toMatchObject({
    code: "invalid_argument",
    suggestion: "Pass UTF-8 text in a regular file, or a document of a kind that Belay reads.",
  });
});
