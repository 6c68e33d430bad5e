import { describe, expect, test, vi } from "vitest";
import type { Compared } from "../../../src/history/index.ts";
import type { ExecDescription } from "../../../src/index.ts";
import { listedDocuments, sumCoverage } from "../../../src/session/journal/coverage-sums.ts";
import { asked } from "../../support/ask/described.ts";
import { detailsOf, type OpenPage, written } from "../../support/view/browser.ts";
import { syntheticSession } from "../../support/view/synthetic.ts";
import { traced } from "../../support/view/traced.ts";
import { workflowSession } from "../../support/view/workflow.ts";

const PLACE = { valid: true, line: 2, place: null, start: 0, end: 6, p_start: 0, p_end: 6 };
const CITATIONS = [
  { ...PLACE, doc: "lease.txt", quote: "notice" },
  { ...PLACE, valid: false, doc: null },
  { ...PLACE, doc: "b.pdf", place: "p.3", quote: "rent" },
];

/** The page of a session whose ask has this answer. */
function answered(answer: string, more: Partial<NonNullable<ExecDescription["ask"]>> = {}) {
  const session = asked();
  const execs = session.execs.map((exec) => {
    const ask = { answer, answered_by: "answer", citations: CITATIONS, limits_met: [], warnings: [], ...more } as const;
    return exec.ask ? { ...exec, ask: { ...exec.ask, question: "How long is <b>it</b>?", ...ask } } : exec;
  });
  const documents = ["lease.txt", "b.pdf", "<i>never.txt"].map((id, at) => ({ id, start: 10 * at, end: 10 * at + 9 }));
  const ranges = { shown: [[0, 20]], found: [], ranked: [], given: [], printed: [] } as const;
  const coverage = { context_hash: "h", ranges } as const;
  const covered = sumCoverage({ hash: "h", length: 29, documents: listedDocuments(documents) }, [{ coverage }]);
  const around = () => ({ around: { text: "the notice <img src=x> is long", at: 4, length: 6 }, isKey: false });
  const reason = "no text: its 3 pages are images";
  const skipped = { count: 1, unread: 1, files: [{ path: "scan.pdf", reason }], capped: false };
  return traced({ ...session, execs, skipped }, { around, covered });
}

const ARTICLE = "article[aria-label=Answer]";
const NUMBERS = '[...document.querySelectorAll(".sources > li")].map(({ value }) => value)';
const OPENED = '[...document.querySelectorAll("article details.cite")].map(({ open }) => open)';

const call = { documents: [], above: null, was: null, cost_usd: 0.01, why: null, words: "Is it <b>this</b>?\u202e" };

const AGAINST: Compared = {
  ...{ against: { id: "01OLD", name: "<i>may</i>" }, told: "3 of 412 documents changed; 2 calls asked again ($0.020)" },
  past: { is_shared: false, calls: 1, last: { exec: 1, call: 1 } },
  counts: { same: 1, again: 1, new: 900, gone: 1, replaced: 1 },
  ...{ cost_usd: 0.02, cost_usd_before: 0, cost_usd_asked: 0.02 },
  calls: [
    { ...call, is: "again", exec: 1, call: 2, why: "cache off" },
    { ...call, is: "new", exec: 2, call: 7, why: "document changed", documents: ["</script><img src=x>.md"] },
    { ...call, is: "new", exec: 9, call: 9, why: "answer above changed", above: { exec: 1, call: 2 } },
    { ...call, is: "gone", exec: 4, call: 4 },
  ],
  documents: {
    ...{ total: 412, equal: 409, changed: 3, new: 0, gone: 0 },
    listed: { changed: ["</script><img src=x>.md"], new: [], gone: [] },
  },
  result: { is: "changed", lines: 1, hunks: "@@ -1 +1 @@\n-<b>before</b>\n+now\u0000" },
  answer: null,
};

const ROWS =
  '[...document.querySelectorAll("article.run tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))';

/** Parts of the page. */
export function parts(open: OpenPage): void {
  describe("the page of an answer", () => {
    test.each([
      ["light", 1500],
      ["dark", 420],
    ] as const)(
      "question, answer, sources and what was not read stand first, in %s at %i pixels",
      async (scheme, width) => {
        const page = await open(await written(answered("It is long [1], at a rent [3]; see [2] and [9].")), {
          ...{ scheme, width },
        });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
        expect(await page.title()).toBe("What is it? · Belay");
        const article = page.locator(ARTICLE);
        expect(await article.locator("h1").textContent()).toBe("How long is <b>it</b>?");
        expect(await article.locator("h2").allTextContents()).toEqual(
          expect.arrayContaining(["Sources", "What was not read", "What it took", "How it was found"]),
        );
        expect(await article.textContent()).toContain(
          "1 file could not be read:scan.pdf: no text: its 3 pages are images",
        );
        expect(await article.textContent()).toContain("1 of 3 documents were never opened:<i>never.txt, 9 characters");
        // The invalid citation has no place, and its number leads nowhere.
        expect(await article.locator(".number").allTextContents()).toEqual(["1", "3"]);
        expect(await page.evaluate(NUMBERS)).toEqual([1, 3]);
        expect(await page.locator("article img, article b b").count()).toBe(0);
      },
    );

    test("a number opens its source: the place with its surroundings, in which the quote is marked", async () => {
      const page = await open(await written(answered("It is long [1], at a rent [b.pdf p.3].")));
      const details = page.locator("article details.cite");
      expect(await page.evaluate(OPENED)).toEqual([false, false]);
      await page.getByRole("button", { name: "Source 3: b.pdf, p.3" }).click();
      await vi.waitFor(async () => expect(await page.evaluate(OPENED)).toEqual([false, true]));
      expect(await details.nth(1).locator("pre").textContent()).toBe("the notice <img src=x> is long");
      expect(await details.nth(1).locator("mark").textContent()).toBe("notice");
    });

    test.each([
      ["see arr[1] and [3], [1]", ["3", "1"]],
      ["It is long[1], at a rent[3].", ["1", "3"]],
      ["Call arr[1].", []],
      ["So [1, 3] and [1; 7].", ["1", "3"]],
    ])("numbers lead to sources, and indexes of code do not: %s", async (answer, linked) => {
      const page = await open(await written(answered(answer)));
      expect(await page.locator("article .number").allTextContents()).toEqual(linked);
      expect(await page.locator(".text-of-answer").textContent()).toBe(answer);
    });

    test("a session without an ask has no answer, and an address of a call goes to the calls", async () => {
      const { execs, ...session } = asked();
      const cells = execs.filter(({ ask, turn }) => !ask && !turn).map((exec) => ({ ...exec, parent: null }));
      const page = await open(await written(traced({ ...session, execs: cells })));
      expect(await page.locator(ARTICLE).isHidden()).toBe(true);
      const other = await open(await written(answered("It is long [1].")), { place: "#call=1" });
      await vi.waitFor(async () => expect(await other.evaluate("scrollY")).toBeGreaterThan(100));
    });

    test("an answer that met limits says so, as do a question without an answer and a page without texts", async () => {
      const limits = { limits_met: ["sub_calls"], warnings: ["turns_spent: 3 turns in a row did the same"] };
      const page = await open(await written(answered("It is long.", limits)));
      expect(await page.locator(ARTICLE).textContent()).toContain("limits metsub-calls");
      expect(await page.locator("article .warned").first().textContent()).toContain("3 turns in a row did the same");
      const failing = await open(await written(traced(asked("cancelled"))));
      expect(await failing.locator(ARTICLE).textContent()).toContain("There is no answer");
      const bare = await open(await written(traced(asked(), { texts: false })));
      expect(await bare.locator(ARTICLE).textContent()).toContain("Texts are left out");
    });
  });

  describe("the comparison of two sessions", () => {
    test.each([1500, 420])("its sentence opens what is behind it, at %i pixels", async (width) => {
      const trace = traced(syntheticSession([30, 20]));
      const page = await open(await written({ ...trace, head: { ...trace.head, against: AGAINST } }), { width });
      const compared = page.locator("details.compared");
      expect(await compared.locator("summary").textContent()).toBe(AGAINST.told);
      await compared.locator("summary").press("Enter");
      const told = (await compared.textContent()) ?? "";
      for (const words of [
        "retries-review against <i>may</i>: $0.020 against no price.",
        "the same cells, prompts and answers: 1 call, the last one is call 1 of exec 1.",
        "call 2 of exec 1, cache off: Is it <b>this</b>?\\u202e",
        "new prompts: 900call 7 of exec 2, document changed (</script><img src=x>.md): ",
        "call 9 of exec 9, answer above changed (call 2 of exec 1): ",
        "898 more",
        "call 4 of exec 4 of <i>may</i>: ",
        "documents that changed: 3</script><img src=x>.md2 more",
        "result@@ -1 +1 @@\n-<b>before</b>\n+now\\x00",
      ]) {
        expect(told).toContain(words);
      }
      expect(await page.locator("#page img, #page b > *, #page i > b").count()).toBe(0);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      // A call that is in the trace is a button. One that is not, and one of the other session, is not.
      expect(await compared.getByRole("button").allTextContents()).toEqual(["call 2 of exec 1", "call 7 of exec 2"]);
      await compared.getByRole("button", { name: "call 7 of exec 2" }).click();
      await vi.waitFor(async () => expect(await detailsOf(page)).toContain("Call 37"));
    });

    test("a page without a comparison has none", async () => {
      const page = await open(await written(traced(syntheticSession([3]))));
      expect(await page.locator("details.compared").isVisible()).toBe(false);
    });
  });

  describe("the page of a workflow's run", () => {
    test.each([
      ["light", 1500],
      ["dark", 420],
    ] as const)(
      "its head, its agents by phase, its lines and its result stand first, in %s at %i pixels",
      async (scheme, width) => {
        const page = await open(await written(traced(workflowSession())), { scheme, width });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
        expect(await page.title()).toBe("audit · Belay");
        const article = page.locator("article.run");
        expect(await article.locator("h1").textContent()).toBe("audit");
        expect(await article.locator("h1 + p").textContent()).toBe("Looks for faults, and <b>verifies</b> each");
        expect(await article.locator("h2").allTextContents()).toEqual([
          ...["Find", "Verify", "Report", "Late"],
          expect.stringMatching(/^What it printed · /),
          expect.stringMatching(/^Its result · /),
        ]);
        expect(await article.textContent()).toContain("agents5 agents: 4 done, 1 failed");
        const sums = await article.locator(".phase > p").allTextContents();
        expect(sums[0]).toMatch(/^3 agents: 2 done, 1 failed · .* · 360 tokens · \$0\.03/);
        expect(sums[2]).toBe("no agents");
        expect(await page.evaluate(ROWS)).toMatchObject(
          [
            ["file 1", "claude", "done", /./, "120", "$0.010", ""],
            ["file 2", "claude", "✗ failed: timeout", /./, "120", "$0.010", ""],
            ["file 3", "claude", "done", /./, "120", "$0.010", ""],
            ["Verify <i>1.ts</i>", "claude · opus", "done", /./, "120", "$0.010", "worktree"],
            ["sum", "anthropic/claude-haiku-4-5", "done", /./, "120", "$0.010", ""],
          ].map((row) => row.map((cell) => (cell instanceof RegExp ? expect.stringMatching(cell) : cell))),
        );
        expect(await article.locator("tr.bad").count()).toBe(1);
        expect(await article.locator("i, b:not(dd b)").count()).toBe(0);
        expect(await article.textContent()).toContain("agent file 2 gave no answer");
      },
    );

    test("a row opens its prompt and its answer, and folds them again", async () => {
      const page = await open(await written(traced(workflowSession())));
      const row = page.getByRole("button", { name: "Verify <i>1.ts</i>" });
      await row.click();
      const texts = page.locator("article.run tr.texts");
      await vi.waitFor(async () => expect(await texts.count()).toBe(1));
      expect(await texts.locator("pre").allTextContents()).toEqual(["Verify <i>1.ts</i>\nwith care", "it holds"]);
      await page.getByRole("button", { name: "Verify <i>1.ts</i>" }).click();
      await vi.waitFor(async () => expect(await texts.count()).toBe(0));
    });

    test("a run that waits, one that failed and one without texts say so", async () => {
      const waits = [
        {
          batch: "b1",
          state: "out",
          calls: 2,
          done: 0,
          since: 0,
          earlier: [],
          provider: "anthropic",
          until: Date.UTC(2026, 2, 4),
        },
      ] as const;
      const open_ = workflowSession("open", 3, { status: "unfinished", waits });
      const waiting = await open(await written(traced(open_)));
      expect(await waiting.locator("article .warned").first().textContent()).toBe(
        "It waits: 2 calls wait for anthropic, until 2026-03-04 00:00 UTC",
      );
      expect(await waiting.locator("article").first().textContent()).toContain("… waits");
      const limited = { code: "rate_limited", message: "a limit", suggestion: "", retry_at: Date.UTC(2026, 2, 5) };
      const onLimit = workflowSession("open", 3, { status: "unfinished", waits_for: limited });
      const [run] = onLimit.execs;
      const calls = run?.calls.map((call) => ({ ...call, started: call.number === 4 })) ?? [];
      const drawn = await open(await written(traced({ ...onLimit, execs: run ? [{ ...run, calls }] : [] })));
      expect(await drawn.locator("article .warned").first().textContent()).toBe(
        "It waits: a limit, until 2026-03-05 00:00 UTC",
      );
      expect(await drawn.locator("article .phase .word").allTextContents()).toEqual([
        ...["done", "✗ failed: timeout", "done", "… was started", "… waits"],
      ]);
      const failed = await open(await written(traced(workflowSession("failed"))));
      expect(await failed.locator("article .warned").first().textContent()).toContain("It failed: it broke");
      const bare = await open(await written(traced(workflowSession(), { texts: false })));
      expect(await bare.locator("article").first().textContent()).toContain("Texts are left out.");
      expect(await bare.locator("article h2").allTextContents()).toContain("phase 1");
    });

    test("of a thousand agents the first of each phase are listed and all that failed, and the rest is one button away", async () => {
      const page = await open(await written(traced(workflowSession("ok", 1000))));
      const rows = page.locator("article.run section").first().locator("tbody tr");
      expect(await rows.count()).toBe(100);
      await page.getByRole("button", { name: "Show 900 more" }).click();
      await vi.waitFor(async () => expect(await rows.count()).toBe(1000));
    });
  });
}
