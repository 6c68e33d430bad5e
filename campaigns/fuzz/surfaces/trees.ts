import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { load } from "../../../src/context/index.ts";
import { below, mutated, pick, type Random } from "../mutate.ts";
import { type OpenSurface, unnamed } from "../surface.ts";

const NAMES = [
  ...["a", "b.txt", "c", ".gitignore", ".git", "d.json", "é", "x y", "-rf", "*", "%00", "a\nb", "\u202etxt.exe", "CON"],
  ...["_routes.json", "index.md", "node_modules", ".env", "n".repeat(200), "\\", "'", "]"],
];
const SECRET = "what lies outside of the folder";
const CONTENTS = [
  "*\n!b.txt\n",
  "plain text\n",
  '{"routes": [{"path": "b.txt"}]}',
  "**/**/**/a\n[\n\\",
  "\0\u0001binary",
];

/** Folders of odd names, rules, links and loops: a load ends, and has nothing of what lies outside. */
export const openTrees: OpenSurface = async (folder) => {
  const outside = join(folder, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), SECRET);
  const root = join(folder, "root");
  return {
    async play(random) {
      mkdirSync(root);
      try {
        for (let left = 1 + below(random, 24); left > 0; left -= 1) plant(random, root, outside);
        const { text } = await load({ kind: "path", path: "." }, { cwd: root, roots: [root] });
        return text.slice(0, text.length).includes(SECRET) ? "P has what lies outside" : null;
      } catch (error) {
        return unnamed(error);
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    },
    async [Symbol.asyncDispose]() {},
  };
};

function plant(random: Random, root: string, outside: string): void {
  const path = join(root, ...Array.from({ length: 1 + below(random, 4) }, () => pick(random, NAMES)));
  try {
    mkdirSync(dirname(path), { recursive: true });
    if (below(random, 3) > 0) writeFileSync(path, mutated(random, Buffer.from(pick(random, CONTENTS))));
    else
      symlinkSync(pick(random, [outside, join(outside, "secret.txt"), root, ".", "..", "../../outside", path]), path);
  } catch {
    // A file lies where a folder would be, or the name is taken.
  }
}
