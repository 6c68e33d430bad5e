// Keeps two sessions of this build for later ones to open: `node scripts/store-sessions.ts NAME` writes tests/stored/NAME.db.gz.
// Run it when BRIDGE or FORMAT was raised, and list NAME in tests/src/session/earlier-builds.test.ts.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { openStore } from "../src/store/open.ts";
import {
  CONTEXT,
  FINISHED,
  INTERRUPTED,
  INTERRUPTED_CELL,
  openStored,
  STATE,
} from "../tests/support/stored-sessions.ts";

const [name] = process.argv.slice(2);
if (!name) throw new Error("usage: node scripts/store-sessions.ts NAME");
const folder = mkdtempSync(join(tmpdir(), "belay-stored-"));
const store = await openStore(folder);

for (const session of [FINISHED, INTERRUPTED]) {
  const opened = await openStored(session, { store }, async (answer) => answer);
  await opened.load({ text: CONTEXT, name: "text.txt" });
  const envelope = await opened.exec(STATE);
  if (!envelope.success) throw new Error(envelope.suggestion ?? envelope.error_code);
  await opened.close();
}

// The exec ends where its process would have ended: its second call is kept and was sent, and nothing is kept after it.
const sent = Promise.withResolvers<void>();
const isSecond = (prompt: unknown) => prompt === "second";
const dying = await openStored(INTERRUPTED, { store }, async (prompt) => {
  if (isSecond(prompt)) {
    sent.resolve();
    await new Promise(() => {});
  }
  return prompt;
});
void dying.exec(INTERRUPTED_CELL);
await sent.promise;
await store[Symbol.asyncDispose]();

const path = new URL(`../tests/stored/${name}.db.gz`, import.meta.url);
const packed = gzipSync(readFileSync(join(folder, "belay.db")), { level: 9 });
writeFileSync(path, packed);
rmSync(folder, { recursive: true });
console.log(`${name}.db.gz: ${Math.ceil(packed.length / 1024)} KB`);
process.exit();
