import { expect, test, vi } from "vitest";
import type { ExecDescription } from "../../src/index.ts";
import { listedDocuments, sumCoverage } from "../../src/session/journal/coverage-sums.ts";
import { asked } from "../support/ask/described.ts";
import { inChromium, written } from "../support/view/browser.ts";
import { traced } from "../support/view/traced.ts";

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

inChromium("the page of an answer in Chromium", (open) => {
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
