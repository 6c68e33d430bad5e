import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../scripts/process.ts";

const FOLDER = fileURLToPath(new URL("./peers", import.meta.url));

/** The Python that has what bench/peers/requirements.txt names, once `installPython` has made it. */
export const PYTHON = join(FOLDER, ".venv/bin/python");

/** True if its packages are there. */
export const hasPython = () => existsSync(join(FOLDER, ".venv/installed"));

/** Installs peers in Python into a folder of their own. Returns why they could not be; null: they are there. */
export async function installPython(): Promise<string | null> {
  if (hasPython()) return null;
  const wanted = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ["python3", ["-m", "venv", ".venv"]],
    [PYTHON, wanted],
    // The mark comes last: half an installation is begun again.
    [PYTHON, ["-c", "open('.venv/installed', 'w')"]],
  ];
  for (const [program, args] of steps) {
    const problem = await run(program, args, { cwd: FOLDER }).then(
      ({ code, output }) => (code === 0 ? null : output),
      String,
    );
    if (problem !== null) return problem.trim().split("\n").at(-1) ?? "it failed";
  }
  return null;
}
