import { expect, test } from "vitest";
import { describeExecs } from "../../../../src/history/index.ts";
import { NO_USAGE } from "../../../../src/models/index.ts";
import { traceItems } from "../../../../src/pi/view/report.ts";
import { sessionOf } from "../../../support/ask/described.ts";
import { openJournal, printed } from "../../../support/ask/journal.ts";

test("calls say what was mended, estimated, reused and given by hand, and a cell has its warnings", () => {
  const journal = openJournal(0);
  journal.start("cell", "cell", "await llm_query_batch(parts)");
  for (const number of [1, 2, 3]) journal.call("cell", number, "llm_query", [`part ${number}`]);
  const usage = { ...NO_USAGE, input: 10, output: 5, estimated: 15 };
  journal.result("cell", 1, "llm_query", "one", { usage, mended: ["punctuation"], ignored: ["top_p"] });
  const reused = { from: "mails", tokens: 15, cost_usd: 0 };
  journal.result("cell", 2, "llm_query", "two", { usage: NO_USAGE, cached: true, reused });
  journal.result("cell", 3, "llm_query", "three", { usage: NO_USAGE, cached: true, by_hand: true });
  journal.end("cell", "cell", printed("cell", ""));
  const execs = describeExecs(journal.records).map((exec) => ({
    ...exec,
    warnings: ["replies_mended: 1 (punctuation)"],
  }));
  const session = sessionOf(execs);
  const report = { id: session.id, session, execs, problem: null };
  const overview = { objects: [], epochs: [], compactions: [], isOff: false };
  const items = traceItems({ overview, sessions: [report] } as unknown as Parameters<typeof traceItems>[0], 0);
  const texts = items.map(({ text }) => text);
  expect(texts).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^1 llm_query {2}ok .*~15 tokens.* · mended {2}part 1$/),
      expect.stringMatching(/^2 llm_query {2}reused from mails /),
      expect.stringMatching(/^3 llm_query {2}by hand /),
    ]),
  );
  const whole = items.map((item) => item.whole?.() ?? "").join("\n\n");
  expect(whole).toContain("warnings\nreplies_mended: 1 (punctuation)");
  expect(whole).toContain("mended\npunctuation\n\nnot taken by the model\ntop_p");
});
