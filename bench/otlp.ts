import { linesOf, spansOf } from "../src/history/telemetry/index.ts";
import { openJournal, printed } from "../tests/support/ask/journal.ts";
import { described } from "../tests/support/otlp.ts";
import { filler } from "../tests/support/pi/conversation.ts";
import { median, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const CALLS = size(5000, 20);
const MOST = 3;

/** The spans of a session as lines of OTLP, next to its description as JSON. */
export async function benchOtlp(): Promise<Report> {
  const session = longSession();
  let units = 0;
  const once = (texts: boolean) => () =>
    timed(() => {
      const spans = spansOf({ session, forkedAfter: null, texts });
      for (const { text } of linesOf(spans, "1.0.0")) units += text.length;
    });
  const stringify = () =>
    timed(() => {
      units += JSON.stringify(session).length;
    });
  const contestants = [
    { name: "Belay", once: once(false) },
    { name: "JSON.stringify", once: stringify },
    { name: "Belay, with texts", once: once(true) },
  ];
  const measured = await takeTurns(contestants, { rounds: 30, warmups: 5 });
  if (units === 0) throw new Error("nothing was written");
  const [belay, plain] = measured.map(({ samples }) => median(samples));
  const ratio = (belay ?? Number.NaN) / (plain ?? Number.NaN);
  return {
    title: `otlp: the spans of ${CALLS} calls as lines, and the description that they are made of as JSON`,
    cases: [{ name: `${CALLS} calls`, measured }],
    notes: ["A prompt has 400 to 800 characters, and an answer 20 to 260. With texts each is searched for keys."],
    aims: [{ text: `lines ÷ JSON.stringify ≤ ${MOST}`, value: ratio.toFixed(2), met: ratio <= MOST }],
  };
}

/** One cell with many calls. */
function longSession() {
  const journal = openJournal(0);
  journal.start("cell", "cell", "await llm_query_batch(parts)");
  for (let number = 1; number <= CALLS; number++) {
    journal.call("cell", number, "llm_query", [filler("Is it this?", 400 + ((number * 97) % 400)), null, { id: 1 }]);
    journal.result("cell", number, "llm_query", filler("yes", 20 + ((number * 61) % 240)));
  }
  journal.end("cell", "cell", printed("cell", ""));
  return described(journal.records);
}
