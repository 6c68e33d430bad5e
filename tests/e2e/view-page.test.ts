import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { PAGE_RULES, pageBody } from "../../src/cli/eval/page.ts";
import { rowOf } from "../../src/eval/index.ts";
import { describeExecs } from "../../src/history/index.ts";
import { listedDocuments, sumCoverage } from "../../src/session/journal/coverage-sums.ts";
import { pageSource, serveView, sessionSubject, staticPage } from "../../src/view/index.ts";
import { asked, sessionOf } from "../support/ask/described.ts";
import { openJournal } from "../support/ask/journal.ts";
import { openScripted } from "../support/scripted-session.ts";
import { detailsOf, openChromium, written } from "../support/view/browser.ts";
import { syntheticSession } from "../support/view/synthetic.ts";
import { traced } from "../support/view/traced.ts";
import { live } from "./view/live.ts";
import { parts } from "./view/parts.ts";

// All pages are opened in one Chromium: its start costs as much as ten of these tests.

const inChromium = openChromium();

/** A session whose texts try to be markup, and whose last call failed. */
function hostile() {
  const journal = openJournal(Date.UTC(2026, 2, 3));
  journal.start("cell", "cell", "</script><img src=x onerror='document.title=1'>");
  journal.call("cell", 1, "llm_query", ["</script><img src=x onerror=alert(1)> \u202egnp.exe\u0000"]);
  journal.result("cell", 1, "llm_query", "<svg onload=alert(2)>\u2028{{alert(3)}}");
  journal.call("cell", 2, "llm_query", ["javascript:alert(4) http://example.org"]);
  journal.result("cell", 2, "llm_query", { code: "timeout", message: "it came too late" }, { success: false });
  journal.end("cell", "cell");
  return sessionOf(describeExecs(journal.records), { name: "<b>\u200bname</b>" });
}

const count = (browser: { locator(of: string): { count(): Promise<number> } }, of: string) =>
  browser.locator(of).count();

inChromium("the page of a session in Chromium", (open) => {
  test.each([
    ["light", 1500],
    ["dark", 420],
  ] as const)("it is whole in %s at %i pixels, and asks nobody for anything", async (scheme, width) => {
    const page = await open(await written(traced(syntheticSession([300, 200]))), { scheme, width });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    expect(await page.title()).toBe("retries-review · Belay");
    expect(await count(page, "[role=grid] [role=row]")).toBe(2);
    await page.getByRole("row", { name: /batch of 300 calls/ }).dblclick();
    expect(await count(page, "[role=grid] [role=row]")).toBeGreaterThan(12);
    expect(await count(page, "[role=grid] [role=row]")).toBeLessThanOrEqual(60);
    // A concurrency of five is never more than five at once.
    expect(await page.locator(".picture").getAttribute("aria-label")).toMatch(/^At most 5 calls in flight at once; \$/);
  });

  test("the keyboard alone reaches the answer of a failed call, and what goes on from there", async () => {
    const page = await open(await written(traced(hostile())));
    await page.keyboard.press("e");
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("it came too late"));
    expect(await detailsOf(page)).toContain("belay show $'<b>\\u200bname</b>' --exec 1 --call 2");
    await page.keyboard.press("ArrowUp");
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("Call 1"));
    expect(await page.evaluate("location.hash")).toBe("#call=1");
    await page.keyboard.press("]");
    await page.keyboard.press("?");
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("the next failure"));
  });

  test("hostile texts are shown as texts", async () => {
    const page = await open(await written(traced(hostile())), { place: "#call=1", allowed: /TrustedHTML/ });
    await vi.waitFor(async () =>
      expect(await detailsOf(page)).toContain("</script><img src=x onerror=alert(1)> \\u202egnp.exe\\x00"),
    );
    expect(await detailsOf(page)).toContain("<svg onload=alert(2)>\\u2028{{alert(3)}}");
    expect(await page.locator("header h1").textContent()).toContain("<b>\\u200bname</b>");
    expect(await count(page, "#page img, #page svg, #page a, #page script, #page iframe")).toBe(0);
    const blocked = await page.evaluate(
      `(() => { try { document.body.innerHTML = "<i>"; return "set"; } catch { return "blocked"; } })()`,
    );
    expect(blocked).toBe("blocked");
  });

  test("its landmarks, names and states are these", async () => {
    const page = await open(await written(traced(asked())), { place: "#exec=3" });
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("the second"));
    expect(await page.locator("#page").ariaSnapshot()).toMatchSnapshot();
  });

  test("filters, the order, the search and the slider change what is listed, and the address says what is chosen", async () => {
    const page = await open(await written(traced(syntheticSession([40, 30]))));
    const heading = page.locator(".bar h2");
    await page.getByRole("button", { name: /lost: failed/ }).click();
    const [, lost] = /^(\d+) of 70 sub-calls$/.exec((await heading.textContent()) ?? "") ?? [];
    expect(Number(lost)).toBeGreaterThan(0);
    await page.getByRole("button", { name: "show all" }).click();
    expect(await heading.textContent()).toBe("70 sub-calls");
    await page.getByRole("combobox", { name: "Order" }).selectOption("slowest");
    expect(await page.locator("[role=grid]").getAttribute("aria-rowcount")).toBe("70");
    await page.keyboard.press("/");
    await page.keyboard.type("The provider said timeout");
    await vi.waitFor(async () => expect(await page.getByRole("status").textContent()).toMatch(/^\d+ calls$/));
    await vi.waitFor(async () => expect(await heading.textContent()).toMatch(/^\d of 70 sub-calls$/));
    await page.keyboard.press("Enter");
    await vi.waitFor(async () => expect(await page.locator("aside mark").count()).toBe(1));
    expect(await page.evaluate("location.hash")).toMatch(/^#call=\d+&q=the\+provider\+said\+timeout$/);
    await page.getByRole("slider", { name: "Time" }).fill("300");
    expect(await page.locator(".over .key").first().textContent()).toMatch(/UTC\d+ answered\d in flight/);
  });

  test("a citation names the grade of its document, and opens the text around it, with the quote marked", async () => {
    const place = { valid: true, doc: "notes.md", line: 3, start: 7, end: 12, p_start: 7, p_end: 12, quote: "there" };
    const session = asked();
    const execs = session.execs.map((exec) => ({ ...exec, ask: exec.ask && { ...exec.ask, citations: [place] } }));
    const around = () => ({ around: { text: "it was there <b> all along", at: 7, length: 5 }, isKey: false });
    const documents = [{ id: "notes.md", start: 0, end: 100 }];
    const ranges = { shown: [], found: [[5, 9]], ranked: [], given: [], printed: [] } as const;
    const coverage = { context_hash: "h", ranges } as const;
    const covered = sumCoverage({ hash: "h", length: 100, documents: listedDocuments(documents) }, [{ coverage }]);
    const trace = traced({ ...session, execs }, { around, covered });
    const page = await open(await written(trace), { place: "#exec=3" });
    await page.locator("aside").getByText("notes.md, line 3").click();
    expect(await page.locator("aside summary").textContent()).toBe("notes.md, line 3 · found by findthere");
    expect(await page.locator("aside details pre").textContent()).toBe("it was there <b> all along");
    expect(await page.locator("aside details mark").textContent()).toBe("there");
  });

  test("a call that a provider batch answered says how long that took", async () => {
    const journal = openJournal(0);
    journal.start("cell", "cell", "by batch");
    journal.call("cell", 1, "llm_query", ["is it?"]);
    journal.result("cell", 1, "llm_query", "yes", { delivery: { by: "batch", batch: "b1", waited_ms: 7_500_000 } });
    const page = await open(await written(traced(sessionOf(describeExecs(journal.records)))), { place: "#call=1" });
    await vi.waitFor(async () =>
      expect(await detailsOf(page)).toContain("batcha provider batch, which answered after 2 h 5 min"),
    );
  });

  test("a job's session has the name of its job, and a fork of it one that a session may have", async () => {
    const step = {
      id: "CK",
      parent: null,
      exec_id: "e",
      kind: "step",
      at: 0,
      pages: 1,
      bytes: 1,
      head: false,
    } as const;
    const trace = traced({ ...hostile(), name: null, checkpoints: [step] }, { label: "mails/in 1" });
    const page = await open(await written(trace), { place: "#exec=1" });
    expect(await page.title()).toBe("mails/in 1 · Belay");
    const details = await detailsOf(page);
    expect(details).toContain("belay fork 'mails/in 1@CK' --name 'mails-in 1-2'");
    expect(details).toContain("belay show 'mails/in 1' --exec 1");
  });

  test("documents of P are listed by what was looked at, and without records of that there is no strip", async () => {
    const documents = [
      { id: "read.md", start: 0, end: 100 },
      { id: "never <b>", start: 100, end: 900 },
    ];
    const ranges = { shown: [[0, 50]], found: [], ranked: [], given: [], printed: [] } as const;
    const coverage = { context_hash: "h", ranges } as const;
    const covered = sumCoverage({ hash: "h", length: 900, documents: listedDocuments(documents) }, [{ coverage }]);
    const trace = traced(asked(), { covered });
    const page = await open(await written({ ...trace, head: { ...trace.head, store: " --store 'a b'" } }));
    const strip = page.getByRole("img", { name: /^Coverage of P: shown at least 5\.5 % of 900 characters/ });
    expect(await strip.isVisible()).toBe(true);
    await page.getByRole("button", { name: "never opened 1" }).click();
    expect(await detailsOf(page)).toContain("never <b>800 characters");
    expect(await detailsOf(page)).toContain("belay show s --unread --store 'a b'");
    const without = await open(await written(traced(asked())));
    expect(await without.getByText("documents of P").isVisible()).toBe(false);
  });

  test("a file that was cut or changed says so instead of a blank page", async () => {
    const trace = traced(syntheticSession([40]));
    const failed = async (change: (html: string) => string) => {
      const page = await open(await written(trace, change));
      return page.locator("#page").textContent();
    };
    expect(await failed((html) => html.slice(0, html.indexOf('id="c0"')))).toContain(
      "cannot be read: the file is cut: its part c0 is missing",
    );
    expect(await failed((html) => html.replace(/(id="c0">.{40})./, "$1"))).toContain("This trace cannot be read");
    const page = await open(await written(trace, (html) => html.replace(/(id="x0">.{200})./, "$1")), {
      place: "#call=1",
    });
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("These texts cannot be read"));
  });

  test("a page from the server follows a session that runs, and selection and place stay", async () => {
    const { session, store } = await openScripted(() => "yes", { budget: { max_sub_calls: 500 } });
    const idleMs = 60_000;
    const tracing = { texts: true, maxBytes: 2 ** 25, belay: "0.0.0" };
    const source = await pageSource();
    const subject = sessionSubject(store, session.id);
    const served = await serveView({ subject, tracing, source, idleMs, now: Date.now, wording: String });
    onTestFinished(() => served.close());
    await session.exec("await llm_query('the first', { tools: [] })");
    const page = await open(served.url, { allowed: /ERR_CONNECTION_REFUSED/ });
    expect(await page.evaluate("location.href")).not.toContain("token");
    await page.getByRole("row", { name: /the first/ }).click();
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("the first"));
    await session.exec("await llm_query_batch(Array.from({ length: 200 }, (_, at) => 'p' + at), { tools: [] })");
    await vi.waitFor(async () => expect(await page.locator(".bar h2").textContent()).toBe("201 sub-calls"));
    expect(await detailsOf(page)).toContain("the first");
    // The newest chunk of texts is read anew.
    const selected = page.locator("[aria-selected=true]");
    await vi.waitFor(async () => expect(await selected.textContent()).toContain("the first"));
    await page.reload();
    await page.waitForSelector("html[data-ready]", { state: "attached" });
    served.close();
    await vi.waitFor(
      async () => expect(await page.getByRole("alert").textContent()).toContain("There is nothing new"),
      15_000,
    );
  });

  test("the page of an evaluation is whole on a narrow screen, and its figures break in no word", async () => {
    const item = {
      id: "q1",
      suite: "needle",
      size: "8k",
      question: "Which?",
      expected: "one",
      score: "exact",
    } as const;
    const end = { status: "done", error_code: null, session: "s", result: { answer: "one ".repeat(200) } } as const;
    const rows = ["ask", "direct", "bm25", "an-agent"].map((method) => rowOf(item, method, end, null));
    const show = () => "belay show evaluation/needle-128k-1-ask --store /home/somebody/stores/evaluations";
    const body = pageBody({ rows, items: [item], methods: ["ask", "direct", "bm25", "an-agent"], facts: [], show });
    const html = (await Array.fromAsync(staticPage("Evaluation", PAGE_RULES, body))).join("");
    const page = await open(await written(traced(hostile()), () => html.replace("<html", "<html data-ready")), {
      width: 420,
    });
    await page.locator("summary").click();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(420);
    const highest =
      "Math.max(...[...[...document.querySelectorAll('.wide')].at(-1).firstChild.rows].map((row) => row.clientHeight))";
    expect(await page.evaluate(highest)).toBeLessThan(30);
  });

  test("5,000 calls are a file of less than 500 KB, and the page holds what is seen", async () => {
    const session = syntheticSession(
      Array.from({ length: 20 }, () => 250),
      16,
    );
    const url = await written(traced(session));
    expect(statSync(fileURLToPath(url)).size).toBeLessThan(500 * 2 ** 10);
    const page = await open(url);
    expect(await page.locator(".bar h2").textContent()).toBe("5,000 sub-calls");
    expect(await page.locator(".picture").getAttribute("aria-label")).toMatch(/^At most 16 calls/);
    await page.getByRole("combobox", { name: "Order" }).selectOption("slowest");
    const rows = () => count(page, "[role=grid] [role=row]");
    for (const share of [0.2, 0.7, 1]) {
      await page.evaluate(`document.querySelector("main").scrollTop = ${share} * 120000`);
      await vi.waitFor(async () =>
        expect(await page.locator("[role=row]").first().textContent()).toMatch(/Does this|^[\d,]+… /),
      );
      expect(await rows()).toBeLessThanOrEqual(60);
    }
    await page.keyboard.press("/");
    await page.keyboard.type("idempotency");
    await vi.waitFor(
      async () => expect(await page.getByRole("status").textContent()).toMatch(/^[\d,]+ calls$/),
      60_000,
    );
    await page.requestGC();
    expect(await page.evaluate("performance.memory.usedJSHeapSize")).toBeLessThan(8 * 2 ** 20);
  });
});

inChromium("parts of the page in Chromium", parts);
inChromium("pages of runs and of killed sessions in Chromium", live);
