// Keeps a store of this build for later ones to open: `node scripts/store-sessions.ts NAME` writes tests/stored/NAME.db.gz.
// Run it when BRIDGE or FORMAT was raised, and list NAME in tests/src/session/earlier-builds.test.ts.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { openStore } from "../src/store/open.ts";
import { type ModelServer, startModelServer } from "../tests/support/model-server.ts";
import {
  ASKED,
  ASKING,
  CONTEXT,
  COUNTED,
  FINISHED,
  FOLDER,
  INTERRUPTED,
  INTERRUPTED_CELL,
  openAsk,
  openStored,
  openStoredRuns,
  QUESTION,
  RUN,
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

// Each interrupted work ends where its process would have ended: what was sent is kept, and nothing is kept after it.
await leftAt("second", async (answer) => {
  const dying = await openStored(INTERRUPTED, { store }, async (prompt) => answer(String(prompt)));
  void dying.exec(INTERRUPTED_CELL);
});

const about = join(folder, "about");
mkdirSync(about);
for (const [file, content] of Object.entries(FOLDER)) writeFileSync(join(about, file), content);
await using answering = await startModelServer(COUNTED);
for (const session of [ASKED, ASKING]) {
  const opened = await openAsk(session, store, answering);
  await opened.load(about, { roots: [about] });
  if (session === ASKED) await opened.ask(QUESTION);
  await opened.close();
}
await leftByServer(1, COUNTED, async (server) => {
  const dying = await openAsk(ASKING, store, server);
  void dying.ask(QUESTION);
});
await leftByServer(
  3,
  ({ prompt }) => ({ text: `${prompt}: sweet` }),
  async (server) => {
    const runs = await openStoredRuns(folder, server);
    const run = await runs.submit(RUN);
    void run.follow({ concurrency: 1 });
  },
);

/** Begins work whose models answer prompts with themselves, until they are asked the last one. */
async function leftAt(last: string, begin: (answer: (prompt: string) => Promise<string>) => Promise<void>) {
  const sent = Promise.withResolvers<void>();
  await begin(async (prompt) => {
    if (prompt !== last) return prompt;
    sent.resolve();
    return new Promise(() => {});
  });
  await sent.promise;
}

/** Begins work whose server answers so many requests, and never the one after them. */
async function leftByServer(
  answers: number,
  script: typeof COUNTED,
  begin: (server: ModelServer) => Promise<void>,
): Promise<void> {
  const sent = Promise.withResolvers<void>();
  const server = await startModelServer((request) => {
    if (request.index < answers && typeof script === "function") return script(request);
    sent.resolve();
    return new Promise(() => {});
  });
  await begin(server);
  await sent.promise;
}

const kept = join(folder, "kept.db");
new DatabaseSync(join(folder, "belay.db")).exec(`VACUUM INTO '${kept}'`);
const path = new URL(`../tests/stored/${name}.db.gz`, import.meta.url);
const packed = gzipSync(readFileSync(kept), { level: 9 });
writeFileSync(path, packed);
rmSync(folder, { recursive: true });
console.log(`${name}.db.gz: ${Math.ceil(packed.length / 1024)} KB`);
process.exit();
