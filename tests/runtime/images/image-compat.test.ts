import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "acorn";
import { expect, onTestFinished, test } from "vitest";
import type { ImageMeta } from "../../../runtime/images/image.ts";
import { imageFormat } from "../../../runtime/images/image-compat.ts";
import { ROOT } from "../../../scripts/process.ts";
import { contextOf, keepImages, openGuest, run, take } from "../../support/checkpoints.ts";

/** What lives in images and a later build must understand, a line each, as it was when BRIDGE or FORMAT was last raised. */
const FILE = join(import.meta.dirname, "image-compat.txt");
const RENEW = "npm test -- tests/runtime/images/image-compat.test.ts -u";

test("whoever changes what lives in images raises BRIDGE or FORMAT", async () => {
  const kept = readFileSync(FILE, "utf8").trim().split("\n");
  const now = await fingerprint();
  // A line that was added is harmless: extension.guest.js brings new guest code to earlier guests.
  const gone = kept.filter((line) => !now.includes(line));
  const isRaised = (await versionsOf()).some((line) => !kept.includes(line));
  expect(isRaised ? [] : gone, RAISE_BRIDGE).toEqual([]);
  await expect(`${now.join("\n")}\n`, `renew the fingerprint: ${RENEW}`).toMatchFileSnapshot(FILE);
});

const RAISE_BRIDGE = `raise BRIDGE, since what lives in images has changed:
1. Raise BRIDGE in runtime/images/image-compat.ts, or FORMAT if the layout of pages or meta changed.
2. Sessions of earlier builds go on with the guest code in their images. If they must not, because this host does not
   understand it or because the change corrects it, set OLDEST_BRIDGE to the new BRIDGE: they keep memory and helpers, and
   say variables_lost.
3. Renew the fingerprint: ${RENEW}
4. Keep sessions of this build: node scripts/store-sessions.ts bridge-N
These lines are no longer true`;

async function versionsOf(): Promise<string[]> {
  const { bridge, format } = imageFormat();
  return [`bridge: ${bridge}`, `format: ${format}`];
}

async function fingerprint(): Promise<string[]> {
  const { entries, ...meta } = await imageMeta();
  const files = globSync(["runtime/guest/*.guest.js", "builtins/*.guest.js"], { cwd: ROOT }).sort();
  const posts = readFileSync(join(ROOT, "runtime/post.ts"), "utf8").matchAll(/case "(\w+)":/g);
  return [
    ...(await versionsOf()),
    ...files.map((file) => `guest code: ${file} ${tokensOf(readFileSync(join(ROOT, file), "utf8"))}`),
    ...[...posts].map(([, kind]) => `the host understands: ${kind}`),
    ...Object.keys(entries).map((name) => `the host enters: ${name}`),
    ...shapeOf(meta).map((key) => `meta: ${key}`),
  ];
}

/** Hash of the tokens: comments and blanks do not count. */
function tokensOf(source: string): string {
  const hash = createHash("sha256");
  parse(source, { ecmaVersion: "latest", onToken: ({ start, end }) => hash.update(`${source.slice(start, end)}\n`) });
  return hash.digest("hex").slice(0, 16);
}

/** Of a guest that holds P. */
async function imageMeta(): Promise<ImageMeta> {
  const sandbox = await openGuest({ context: await contextOf("the context ".repeat(1000)) });
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  await run(sandbox, "const kept = P; 1");
  const { delta } = await take(sandbox, keepImages(), { id: "x", base: null, kind: "end", commands: [] });
  return delta.meta;
}

/** Each key with the type of its value: `gate.format: number`. */
function shapeOf(value: object, path = ""): string[] {
  return Object.entries(value).flatMap(([key, item]) =>
    typeof item === "object" ? shapeOf(item, `${path}${key}.`) : [`${path}${key}: ${typeof item}`],
  );
}
