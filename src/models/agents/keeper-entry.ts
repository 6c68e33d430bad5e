import { read, writeSync } from "node:fs";
import { promisify } from "node:util";
import { messageOf } from "../../platform/errors.ts";
import { silenceSqliteWarning } from "../../platform/sqlite-warning.ts";

// A keeper has one agent at a time. It reads the next one as a line, and writes a line when it has
// kept the end. If Belay is gone, it ends after its agent.

silenceSqliteWarning();
const { keep } = await import("./keeper.ts");
// It belongs to no terminal: such a signal is meant for Belay.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => {});

const LINE_FEED = 10;
const chunk = Buffer.alloc(65_536);
let received = Buffer.alloc(0);
for (;;) {
  const end = received.indexOf(LINE_FEED);
  if (end >= 0) {
    const work = JSON.parse(received.toString("utf8", 0, end));
    received = received.subarray(end + 1);
    let isBegun = false;
    const steps = {
      begun() {
        isBegun = true;
      },
      kept: () => report(null, isBegun),
    };
    await keep(work, steps).catch((error: unknown) => report(messageOf(error), isBegun));
    continue;
  }
  const { bytesRead } = await promisify(read)(0, chunk, 0, chunk.length, null).catch(() => ({ bytesRead: 0 }));
  if (bytesRead === 0) process.exit();
  received = Buffer.concat([received, chunk.subarray(0, bytesRead)]);
}

/** @param isBegun true: it has started the agent */
function report(failed: string | null, isBegun: boolean): void {
  try {
    writeSync(1, `${JSON.stringify({ failed, isBegun })}\n`);
  } catch {
    // Belay is gone: the outbox has the end.
  }
}
