import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { mustRun, ROOT } from "./process.ts";

/**
 * Writes the types of entries as files of their own: a caller's compiler reads nothing that they do not export. Each has a copy for callers
 * that are CommonJS, since compilers of Node's earlier module systems (`node16`, `node18`) let these import no ES module.
 */
export async function writeTypes(folder: string, entries: readonly string[]): Promise<void> {
  const modules = await mkdtemp(join(tmpdir(), "belay-types-"));
  try {
    const tsc = join(dirname(fileURLToPath(import.meta.resolve("typescript/package.json"))), "bin/tsc");
    await mustRun(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", modules], { cwd: ROOT });
    const build = await rolldown({
      cwd: modules,
      input: Object.fromEntries(entries.map((entry) => [entry, join(modules, `${entry}.d.ts`)])),
      external: (id) => !/^[./]/.test(id),
      plugins: [dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false, generator: "oxc" })],
    });
    const written = { dir: folder, format: "esm", entryFileNames: "[name].ts", chunkFileNames: "[name].ts" } as const;
    const { output } = await build.write(written);
    await build.close();
    for (const file of output) {
      if (file.type === "chunk") await writeFile(join(folder, commonJsName(file.fileName)), forCommonJs(file.code));
    }
  } finally {
    await rm(modules, { recursive: true, force: true });
  }
}

const commonJsName = (name: string) => name.replace(/\.ts$/, ".cts");

/** Declarations that name the copies of the others. */
function forCommonJs(code: string): string {
  return code.replaceAll(/(\bfrom "\.[^"]*)\.js"/g, '$1.cjs"');
}
