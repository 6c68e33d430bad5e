import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { run } from "../../scripts/process.ts";
import { BUNDLED } from "../support/command.ts";
import { folderWith } from "../support/tree.ts";

/** The files that Node links before the first line of this one runs, and the modules of Node's own that they name. */
function linkedBy(file: string, known = new Set<string>()): ReadonlySet<string> {
  known.add(relative(BUNDLED, file));
  for (const [, from = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export) (?:[^"]* from )?"([^"]+)";$/gm)) {
    if (!from.startsWith(".")) known.add(from);
    else if (!known.has(relative(BUNDLED, join(dirname(file), from)))) linkedBy(join(dirname(file), from), known);
  }
  return known;
}

test("the command looks at the version of Node before anything is linked that an old one lacks", () => {
  const [main, guard, ...others] = linkedBy(join(BUNDLED, "src/cli/main.js"));
  expect([main, guard?.replace(/-[\w-]+\.js$/, ""), others]).toEqual(["src/cli/main.js", "chunks/guard", []]);
});

test("the guard of a child that reads documents runs before all else, and the child starts without packages and readers", () => {
  const linked = (entry: string) =>
    [...linkedBy(join(BUNDLED, "src/documents", entry))].filter((name) => !isBuiltin(name));
  expect(linked("guard-entry.js")).toEqual(["src/documents/guard-entry.js", expect.stringMatching(/^chunks\/guard-/)]);
  const others = linked("child-entry.js").slice(1);
  expect(others).toContainEqual(expect.stringMatching(/^chunks\/of-readers-/));
  const readers = "docx|epub|html|mail|notebook|odf|ods|outlook|pdf|pptx|rows|tables|xlsx";
  expect(others.filter((name) => !name.startsWith("chunks/") || new RegExp(`/(${readers})-`).test(name))).toEqual([]);
});

const PROGRAM = `import { openSession, openStore } from "belay-rlm";
const told = async (work) => console.log(JSON.stringify(await work().then(() => "works", (error) => error)));
told(openSession).then(() => told(() => openStore("state")));`;

test.each(["esm", "cjs"] as const)(
  "a program that a bundler has put the library into names the one setting (%s)",
  async (format) => {
    const cwd = folderWith({ "program.mjs": PROGRAM });
    const library = (id: string) => (id === "belay-rlm" ? join(BUNDLED, "src/index.js") : null);
    const build = await rolldown({
      ...{ cwd, input: "program.mjs", platform: "node", external: isBuiltin, logLevel: "silent" },
      plugins: [{ name: "library", resolveId: library }],
    });
    await build.write({
      dir: join(cwd, "out"),
      format,
      entryFileNames: format === "esm" ? "[name].mjs" : "[name].cjs",
    });
    await build.close();
    const { output } = await run(process.execPath, [`out/program.${format === "esm" ? "mjs" : "cjs"}`], { cwd });
    const error = {
      code: "invalid_config",
      message: "the files of belay-rlm are not beside it: the program was bundled with it",
      suggestion: expect.stringContaining('`serverExternalPackages: ["belay-rlm"]` in Next.js'),
    };
    expect(
      output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
      output,
    ).toEqual([error, error]);
  },
);
