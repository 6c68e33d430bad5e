import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type ModelScript, startModelServer } from "../../../support/model-server.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";
import { belayHere } from "../in-process.ts";

export const META = 'export const meta = { name: "audit", description: "looks at files" };';

/** Finds each file of args, then verifies what was found. */
export const AUDIT = `${META}
phase("Find");
const found = await parallel(args.files.map((file) => () => agent("find " + file, { label: file })));
phase("Verify");
const checked = await pipeline(found, (one) => agent("verify " + one));
log(checked.length + " checked");
return checked;
`;

/** A folder with a script `audit.js` and these files, and a model that answers agents. */
export async function scene(tree: Tree = {}, script: ModelScript = ({ prompt }) => ({ text: `did ${prompt}` })) {
  const folder = folderWith({ "work/audit.js": AUDIT, "home/.keep": "", ...tree });
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const work = join(folder, "work");
  const home = join(folder, "home");
  const env = {
    BELAY_BASE_URL: server.url,
    BELAY_MODEL: "local/m",
    HOME: join(folder, "user"),
    XDG_CONFIG_HOME: join(folder, "config"),
  };
  return {
    work,
    home,
    server,
    env,
    /** Runs \`belay workflow\` with these arguments. */
    workflow: (...args: readonly string[]) => belayHere(["workflow", ...args], { cwd: work, home, env }),
    belay: (...args: readonly string[]) => belayHere(args, { cwd: work, home, env }),
    edit: (text: string, file = "audit.js") => writeFileSync(join(work, file), text),
    read: (file: string) => readFileSync(join(folder, file), "utf8"),
  };
}

export const FILES = ["--args", '{"files":["a","b"]}'] as const;
