import { convert } from "./convert.ts";
import { until } from "./guard-entry.ts";
import { answerFrame, frameOf, framesOf, jobOf, timeFor } from "./messages.ts";

// The process that reads documents for another one: jobs come over stdin and answers go over
// stdout. It has no environment and no keys, and may read nothing but its own code.

// Streams of Node unpack in another thread, for which each page of a PDF would wait. Without them
// pdf.js unpacks by itself.
Reflect.deleteProperty(globalThis, "DecompressionStream");

// Answers go over stdout. What a package prints there would be taken for one.
for (const print of ["debug", "info", "log"] as const) console[print] = () => {};

// A terminal sends Ctrl-C to both. The process that started this one ends it.
process.on("SIGINT", () => {});

for await (const { header, body } of framesOf(process.stdin)) {
  const { user, system } = process.cpuUsage();
  until[0] = (user + system) / 1000 + timeFor(body.length);
  const answer = await convert(body, jobOf(header), (place) => say(frameOf({ progress: place })));
  say(answerFrame(answer));
  until[0] = Number.POSITIVE_INFINITY;
}
process.exit(0);

/** A place is told from within a parser: to a pipe Node writes at once. */
function say(pieces: readonly Uint8Array[]): void {
  for (const piece of pieces) process.stdout.write(piece);
}
