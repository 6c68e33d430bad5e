import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generatedFiles } from "./docs/files.ts";
import { ROOT } from "./process.ts";

for (const [path, content] of await generatedFiles()) {
  await writeFile(join(ROOT, path), content);
  console.log(path);
}
