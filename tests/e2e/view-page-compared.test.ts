import { expect, test, vi } from "vitest";
import type { Compared } from "../../src/history/index.ts";
import { detailsOf, inChromium, written } from "../support/view/browser.ts";
import { syntheticSession } from "../support/view/synthetic.ts";
import { traced } from "../support/view/traced.ts";

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

inChromium("the comparison of two sessions in Chromium", (open) => {
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
