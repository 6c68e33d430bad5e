import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkScripts } from "../../../src/cli/input/cells.ts";
import { RlmError } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

const CONTEXT = { option: "context", value: "a.log" };

function refusalOf(files: readonly string[], context = [CONTEXT]): string {
  const args = [...context, ...files.map((value) => ({ option: null, value }))];
  try {
    checkScripts(args);
    return "accepted";
  } catch (error) {
    return error instanceof RlmError ? `${error.code}: ${error.message} | ${error.suggestion}` : `${error}`;
  }
}

test("a FILE next to -c is a script, or what was probably meant is said", () => {
  const folder = folderWith({
    ...{ "scan.js": "this does not parse", "SCAN.MJS": "import 1", "plain.ts": "await llm_query('x')" },
    ...{
      "typed.ts": "let n: number = 1;",
      "module.ts": "import a from 'a';\nlet n: number = 1;",
      cell: "#!/usr/bin/env belay\nconst n = 1;\nn",
    },
    ...{ prose: "hello there, world", "data.json": '{ "a": 1 }', "ok.log": "ok" },
    "big.ts": `1;${" ".repeat(300_000)}`,
  });
  mkdirSync(join(folder, "sub.log"));
  const at = (name: string) => join(folder, name);
  const scripts = ["scan.js", "SCAN.MJS", "plain.ts", "typed.ts", "cell", "sub.log", "missing.log"].map(at);
  expect(refusalOf(["-", ...scripts])).toBe("accepted");
  for (const name of ["module.ts", "prose", "data.json", "ok.log", "big.ts"]) {
    expect(refusalOf([at("scan.js"), at(name)])).toMatch(`invalid_argument: ${at(name)}: next to -c, and not a script`);
    expect(refusalOf([at(name)])).toContain(` | Did you mean -c ${at(name)}? Each -c takes one path`);
    expect(refusalOf([at(name)], [])).toBe("accepted");
  }
  const many = ["module.ts", "prose", "data.json", "ok.log", "big.ts"].map(at);
  expect(refusalOf(many)).toMatch(
    /data\.json \(and 2 more\): .* \| Did you mean -c \S+ -c \S+ -c \S+ \(and 2 more\)\?/,
  );
});

test("a shell's glob after -c runs nothing, and tracebacks name the file of a cell", async () => {
  const cwd = folderWith({
    "a.log": "one\n",
    "b.log": "two\n",
    "scan.js": "print('ran');\nfunction fail() { throw new Error('no'); }",
    "use.js": "fail()",
  });
  const [glob, failed] = await Promise.all([
    belayHere(["exec", "--json", "-e", "print('ran')", "-c", "a.log", "b.log"], { cwd }),
    belayHere(["exec", "scan.js", "use.js", "-c", "a.log"], { cwd }),
  ]);
  expect(glob).toMatchObject({ code: 1, stderr: "" });
  expect(JSON.parse(glob.stdout)).toMatchObject({
    ...{ success: false, error_code: "invalid_argument", stdout: "" },
    suggestion: expect.stringMatching(/^Did you mean -c b\.log\?/),
  });
  expect(failed.stdout).toBe("ran\n");
  expect(failed.stderr).toMatch(/^Error: no\n {4}at fail \(scan\.js:2:\d+\)\n {4}at use\.js:1:\d+\n/);
});
