import { access } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { withHome } from "../../platform/home.ts";

// As Pi finds the file that a model names. A wrong guess does no harm: what is read there does not fit what Pi sends.

/** The absolute path of the file that Pi reads. Links are not followed: a link is another name to the model. */
export async function readPath(path: string, cwd: string): Promise<string> {
  const [plain = "", ...others] = variants(path, cwd);
  for (const variant of [plain, ...others]) if (await exists(variant)) return variant;
  return plain;
}

/** True if the name may be that of the file. */
export function canName(path: string, cwd: string, file: string): boolean {
  return variants(path, cwd).includes(file);
}

/** True if there is a file under this name. */
export async function isThere(path: string, cwd: string): Promise<boolean> {
  return exists(await readPath(path, cwd));
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** The path, and how macOS writes the names of screenshots; those of Pi, in its order. */
function variants(path: string, cwd: string): readonly string[] {
  const plain = absolute(path, cwd);
  const decomposed = plain.normalize("NFD");
  const curly = (name: string) => name.replaceAll("'", "\u2019");
  const narrow = plain.replace(/ (AM|PM)\./gi, "\u202f$1.");
  return [plain, narrow, decomposed, curly(plain), curly(decomposed)];
}

const SPACES = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g;

function absolute(path: string, cwd: string): string {
  const named = (path.startsWith("@") ? path.slice(1) : path).replace(SPACES, " ");
  const expanded = fromUrl(withHome(named));
  return isAbsolute(expanded) ? resolve(expanded) : resolve(cwd, expanded);
}

function fromUrl(path: string): string {
  if (!path.startsWith("file://")) return path;
  try {
    return fileURLToPath(path);
  } catch {
    return path;
  }
}
