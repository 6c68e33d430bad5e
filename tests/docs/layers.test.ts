import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importsIn, layeredFiles, readLayers, refusalOf } from "../../scripts/layers.ts";
import { ROOT } from "../../scripts/process.ts";

const WRONG: readonly [file: string, specifier: string][] = [
  ["runtime/machine.ts", "../builtins/index.ts"],
  ["runtime/machine.ts", "../src/index.ts"],
  ["runtime/machine.ts", "quickjs-wasi"],
  ["runtime/machine.ts", "quickjs-wasi/quickjs.wasm"],
  ["runtime/quickjs/quickjs.ts", "acorn"],
  ["builtins/peek.ts", "../runtime/limits.ts"],
  ["builtins/peek.ts", "../src/context/load/load.ts"],
  ["builtins/peek.ts", "quickjs-wasi"],
  ["src/index.ts", "./cli/main.ts"],
  ["src/index.ts", "../runtime/machine.ts"],
  ["src/context/load/load.ts", "../../../runtime/limits.ts"],
  ["src/context/load/load.ts", "../../../builtins/index.ts"],
  ["src/context/load/load.ts", "../../session/session.ts"],
  ["src/context/load/load.ts", "node:sqlite"],
  ["src/context/search/search.ts", "rregex"],
  ["src/context/search/search.ts", "node:sqlite"],
  ["src/context/find/engine.ts", "minisearch"],
  ["src/session/session.ts", "../cli/terminal.ts"],
  ["src/session/session.ts", "../../builtins/peek.ts"],
  ["src/session/session.ts", "acorn"],
  ["src/cli/run.ts", "../../runtime/machine.ts"],
  ["src/session/session.ts", "@mariozechner/pi-ai"],
  ["src/models/sub-call/sub-call.ts", "@mariozechner/pi-ai"],
  ["src/session/session.ts", "belay-pi-ai"],
  ["src/models/pi-ai/model.ts", "@mariozechner/pi-ai"],
  ["src/pi/opened/models.ts", "belay-pi-ai"],
  ["src/models/pi-ai/model.ts", "../../session/store.ts"],
  ["src/settings/config.ts", "../cli/run.ts"],
  ["src/session/session.ts", "node:sqlite"],
  ["src/store/sqlite/store.ts", "../../session/journal.ts"],
  ["src/store/sqlite/store.ts", "../../../runtime/machine.ts"],
  ["src/tools/define.ts", "../pi/host.ts"],
  ["src/tools/define.ts", "@mariozechner/pi-coding-agent"],
  ["src/session/session.ts", "@mariozechner/pi-tui"],
  ["src/pi/extension.ts", "../cli/run.ts"],
  ["src/pi/extension.ts", "../tools/define.ts"],
  ["src/cli/running/exec.ts", "rregex"],
  ["src/index.ts", "./session/session.ts"],
  ["src/session/session.ts", "../context/load.ts"],
  ["src/session/session.ts", "../store/port.ts"],
  ["src/cli/running/exec.ts", "../../session/session.ts"],
  ["src/cli/running/exec.ts", "../../settings/config.ts"],
  ["src/pi/extension.ts", "../session/session.ts"],
];

const RIGHT: readonly [file: string, specifier: string][] = [
  ["runtime/machine.ts", "./limits.ts"],
  ["runtime/machine.ts", "node:fs"],
  ["runtime/quickjs/quickjs.ts", "quickjs-wasi"],
  ["runtime/cells/scripts.ts", "acorn"],
  ["builtins/peek.ts", "../runtime/index.ts"],
  ["src/index.ts", "./session/index.ts"],
  ["src/context/load/load.ts", "../../../runtime/index.ts"],
  ["src/context/find/engine.ts", "rregex"],
  ["src/context/routes/routes.ts", "minisearch"],
  ["src/context/load/ignore-rules.ts", "ignore"],
  ["src/session/session.ts", "../../builtins/index.ts"],
  ["src/session/session.ts", "../context/index.ts"],
  ["src/models/pi-ai/model.ts", "belay-pi-ai"],
  ["src/pi/opened/models.ts", "@mariozechner/pi-ai"],
  ["src/models/models.ts", "../../runtime/index.ts"],
  ["src/cli/running/exec.ts", "../../session/index.ts"],
  ["src/cli/running/exec.ts", "../../settings/index.ts"],
  ["src/session/session.ts", "../store/index.ts"],
  ["src/store/sqlite/store.ts", "node:sqlite"],
  ["src/platform/patch.ts", "diff"],
  ["src/pi/extension.ts", "@mariozechner/pi-coding-agent"],
  ["src/pi/extension.ts", "../tools/index.ts"],
  ["tests/runtime/machine.test.ts", "../../runtime/machine.ts"],
];

// A fork of Pi may lack what is imported by its name: that file looks whether it is there.
test("values of Pi's packages are imported by one file", () => {
  const importing = globSync("src/pi/**/*.ts", { cwd: ROOT }).filter((file) =>
    /^(?:import|export) (?!type ).*"@(?:mariozechner|earendil-works)\//m.test(readFileSync(join(ROOT, file), "utf8")),
  );
  expect(importing).toEqual(["src/pi/host.ts"]);
});

const layers = readLayers();
const refused = (imports: readonly (readonly [file: string, specifier: string])[]) =>
  imports.filter(([file, specifier]) => refusalOf({ file, specifier }, layers) !== null);

test("imports against the layers are refused", () => {
  expect(refused(WRONG)).toEqual(WRONG);
});

test("imports that the layers allow are accepted", () => {
  expect(refused(RIGHT)).toEqual([]);
});

test("imports of types and imports while a file runs count too", () => {
  const source = 'type A = import("../session/api.ts").A;\nawait import("node:sqlite");\nexport { a } from "./a.ts";\n';
  expect(importsIn("src/tools/define.ts", source).map(({ specifier }) => specifier)).toEqual([
    "../session/api.ts",
    "node:sqlite",
    "./a.ts",
  ]);
});

test("every file imports what its layer allows", () => {
  const imports = layeredFiles().flatMap((file) => importsIn(file));
  expect(imports.length).toBeGreaterThan(1000);
  expect(imports.flatMap((one) => refusalOf(one, layers) ?? [])).toEqual([]);
});

test("a test that replaces a source is run by Vite: elsewhere nothing would be replaced", () => {
  const replacing = globSync("tests/**/*.test.ts", { cwd: ROOT }).filter((file) =>
    /\bvi\.(?:m|doM)ock\(/.test(readFileSync(join(ROOT, file), "utf8")),
  );
  const [, alone = ""] = /^const ALONE = \[(.*)\];$/m.exec(readFileSync(join(ROOT, "vitest.config.ts"), "utf8")) ?? [];
  expect(replacing).toContain("tests/src/context/find/engine.test.ts");
  expect(replacing.filter((file) => !alone.includes(`"${file}"`))).toEqual([]);
});
