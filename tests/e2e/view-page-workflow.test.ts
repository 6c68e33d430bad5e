import { expect, test, vi } from "vitest";
import { inChromium, written } from "../support/view/browser.ts";
import { traced } from "../support/view/traced.ts";
import { workflowSession } from "../support/view/workflow.ts";

const ROWS =
  '[...document.querySelectorAll("article.run tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))';

inChromium("the page of a workflow's run in Chromium", (open) => {
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
