import { expect, onTestFinished, test, vi } from "vitest";
import { describeExecs } from "../../../src/history/index.ts";
import { pageSource, type Subject, serveView, sessionSubject, traceOfRun } from "../../../src/view/index.ts";
import { finished, json, startBelay } from "../../src/cli/belay.ts";
import { belayHere } from "../../src/cli/in-process.ts";
import { sessionOf } from "../../support/ask/described.ts";
import { openJournal } from "../../support/ask/journal.ts";
import { startModelServer } from "../../support/model-server.ts";
import { openScripted } from "../../support/scripted-session.ts";
import { folderWith } from "../../support/tree.ts";
import { detailsOf, type OpenPage, written } from "../../support/view/browser.ts";
import { jobOf, runOf, syntheticRun } from "../../support/view/synthetic-run.ts";
import { traced } from "../../support/view/traced.ts";

const TRACING = { texts: true, maxBytes: 2 ** 25, belay: "0.0.0" };

/** Pages of runs and of killed sessions. */
export function live(open: OpenPage): void {
  test("a run of 10,000 jobs is rows, sums by state, percentiles and failures by code", async () => {
    const page = await open(await written(traceOfRun(syntheticRun(10_000), { ...TRACING, now: 0 })));
    const heading = page.locator(".bar h2");
    expect(await heading.textContent()).toBe("10,000 jobs");
    expect(await page.locator("[role=grid] [role=row]").count()).toBeLessThanOrEqual(60);
    const states = await page.getByRole("toolbar").textContent();
    expect(states).toBe(" done 9,859 · $12.22 failed 121 · $0.150 parked 20 · $0.025");
    expect(await detailsOf(page)).toMatch(/^Run label-mailsstatuspaused.*jobs10,000: .*runningp50 \d.* · max 21 s/);
    await page.getByRole("button", { name: "✗ timeout · 60" }).click();
    expect(await heading.textContent()).toBe("60 of 10,000 jobs");
    await page.getByRole("combobox", { name: "Order" }).selectOption("slowest");
    await page.getByRole("row").first().click();
    await vi.waitFor(async () =>
      expect(await detailsOf(page)).toMatch(/timeout.*The answer to mail \d+ was not given/),
    );
    const [, id = ""] = /id(mail-\d+)error/.exec((await detailsOf(page)) ?? "") ?? [];
    expect(await detailsOf(page)).toContain(`belay view label-mails/${id}`);
    expect(await detailsOf(page)).not.toContain("Open its session");
    await page.getByRole("button", { name: "show all" }).click();
    await page.keyboard.press("/");
    await page.keyboard.type("mail-9999");
    await vi.waitFor(async () => expect(await heading.textContent()).toBe("1 of 10,000 jobs"));
    const label = page.getByRole("row").first();
    await vi.waitFor(async () =>
      expect(await label.textContent()).toContain("mail-9999 · budget · $0.0012 · 6 calls · 1 "),
    );
  });

  test("without texts a job has its number in the place of its id", async () => {
    const page = await open(await written(traceOfRun(syntheticRun(30), { ...TRACING, texts: false, now: 0 })));
    expect(await page.getByRole("row").nth(4).textContent()).toContain("job 5 · $0.0012");
    await page.getByRole("row").nth(4).click();
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("idleft out"));
    expect(await page.title()).toBe("01RUN · Belay");
  });

  test("from the server a job opens its session, and the way back is the browser's", async () => {
    const { session, store } = await openScripted(() => "yes");
    await session.exec("await llm_query('is it spam?', { tools: [] })");
    const jobs = [jobOf(0, "waiting"), jobOf(1, "running", { begun_at: 1 })];
    const trace = traceOfRun(runOf(jobs, { state: "running" }), { ...TRACING, now: 0 });
    const subject: Subject = {
      key: "01RUN",
      stamp: async () => ({ stamp: "", isBusy: false }),
      look: async () => ({ trace, damaged: [] }),
      job: async (number) => (number === 1 ? sessionSubject(store, session.id) : null),
    };
    const serving = { subject, tracing: TRACING, source: await pageSource(), idleMs: 60_000 };
    const served = await serveView({ ...serving, now: Date.now, wording: String });
    onTestFinished(() => served.close());
    const page = await open(served.url, { allowed: /404/ });
    await page.getByRole("row", { name: /mail-0/ }).click();
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("it has not begun"));
    expect(await detailsOf(page)).not.toContain("Open its session");
    await page.getByRole("row", { name: /mail-1/ }).click();
    await page.getByRole("button", { name: "Open its session" }).click();
    await vi.waitFor(async () => expect(await page.getByRole("row").first().textContent()).toContain("is it spam?"));
    expect(await page.evaluate("location.pathname")).toBe("/job/1/");
    await page.goBack();
    await vi.waitFor(async () => expect(await page.locator(".bar h2").textContent()).toBe("2 jobs"));
    await page.evaluate("location.assign('/job/7/')");
    await page.waitForSelector("html[data-failed]", { state: "attached" });
    expect(await page.locator("#page").textContent()).toContain("there is no such part");
  });

  test("large texts of the rows in sight are read once", async () => {
    const journal = openJournal(0);
    journal.start("cell", "cell", "ask");
    const large = (call: number) => `${call} ${"word ".repeat(13_000)}`;
    for (let call = 1; call <= 60; call++) journal.call("cell", call, "llm_query", [large(call)]);
    for (let call = 1; call <= 60; call++) journal.result("cell", call, "llm_query", large(call));
    const look = async () => ({ trace: traced(sessionOf(describeExecs(journal.records))), damaged: [] });
    const subject: Subject = { key: "01X", stamp: async () => ({ stamp: "", isBusy: false }), look };
    const serving = { subject, tracing: TRACING, source: await pageSource(), idleMs: 60_000 };
    const served = await serveView({ ...serving, now: Date.now, wording: String });
    onTestFinished(() => served.close());
    const page = await open(served.url);
    const read: string[] = [];
    page.on("request", (request) => void read.push(request.url()));
    await page.locator("main").evaluate((main) => main.scrollTo(0, 600));
    await vi.waitFor(async () => expect(await page.getByRole("row").last().textContent()).toContain("word word"));
    await page.waitForTimeout(1500);
    const chunks = read.filter((url) => /\/x\d+\?/.test(url));
    expect(chunks.length).toBeGreaterThan(0);
    expect(chunks).toEqual([...new Set(chunks)]);
  });

  test("a session that was killed shows what it kept, what it lost and what it paid, and before that that it is not over", async () => {
    const life = { isFirst: true };
    await using server = await startModelServer(({ prompt }) => {
      if (life.isFirst && !/^part [01]$/.test(prompt)) return { delayMs: 60_000 };
      return prompt === "part 5" ? { status: 400 } : { text: `yes to ${prompt}` };
    });
    const home = folderWith();
    const parts = "Array.from({ length: 8 }, (_, at) => 'part ' + at)";
    const cell = `(await llm_query_batch(${parts}, { max_concurrent: 2 })).length`;
    const model = ["--model", "local/m", "--base-url", server.url];
    const victim = startBelay(["exec", "-e", cell, "--session", "killed", ...model], { home });
    const gone = finished(victim);
    await vi.waitFor(async () => {
      const { execs } = json(await belayHere(["show", "killed", "--json"], { home })).session;
      expect(execs[0].calls.filter(({ status }: { status: string }) => status === "ok")).toHaveLength(2);
    }, 30_000);
    victim.kill("SIGKILL");
    await gone;
    const child = startBelay(["view", "killed", "--no-open"], { home });
    onTestFinished(() => void child.kill());
    const url = await new Promise<string>((resolve) =>
      child.stdout?.once("data", (line) => resolve(String(line).trim())),
    );
    const page = await open(url);
    expect(await page.locator("header h1").textContent()).toBe("killed unfinished");
    const classes = page.getByRole("toolbar");
    expect(await classes.textContent()).toBe(" paid 2 not answered 6");
    await page.getByRole("navigation").getByRole("button", { name: "…" }).click();
    await vi.waitFor(async () => expect(await detailsOf(page)).toContain("belay resume killed"));

    life.isFirst = false;
    expect(await belayHere(["resume", "killed", ...model], { home })).toMatchObject({ code: 3 });
    await vi.waitFor(async () => expect(await page.locator("header h1").textContent()).toBe("killed idle"));
    // The heading is drawn before the classes.
    await vi.waitFor(async () =>
      expect(await classes.textContent()).toBe(
        " paid 5 kept over an interruption, not paid again 2 lost: failed 16 calls open at an interruption, sent again",
      ),
    );
    expect(await page.locator(".picture").getAttribute("aria-label")).toMatch(/^At most 2 calls in flight/);
  });
}
