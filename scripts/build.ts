import { chmod, copyFile, glob, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { exit } from "node:process";
import { fileURLToPath } from "node:url";
import { ROOT, run } from "./process.ts";

// dist/ is the sources as JavaScript with their types, in the same folders: paths relative to a module hold in both.

const DIST = join(ROOT, "dist");

await rm(DIST, { recursive: true, force: true });
await compile();
await copyGuestFiles();
await chmod(join(DIST, "src/cli/main.js"), 0o755);

async function compile(): Promise<void> {
  const tsc = join(dirname(fileURLToPath(import.meta.resolve("typescript/package.json"))), "bin/tsc");
  const { code, output } = await run(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: ROOT });
  if (code === 0) return;
  console.error(output);
  exit(1);
}

/** Guest code is data of the module beside it: it is read at run time, never compiled. */
async function copyGuestFiles(): Promise<void> {
  for await (const file of glob("{runtime,builtins,src}/**/*.js", { cwd: ROOT })) {
    if (!file.endsWith(".guest.js")) {
      console.error(`${file}: a file of guest code is named *.guest.js, or it could hide a compiled module`);
      exit(1);
    }
    await mkdir(dirname(join(DIST, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(DIST, file));
  }
}
