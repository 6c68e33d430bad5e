import { expect, test, vi } from "vitest";
import { endIn, limitIn } from "../../../../src/models/agents/limit.ts";
import { localTime } from "../../../../src/platform/figures.ts";

const now = new Date("2026-03-01T13:00:00Z");

test.each([
  ["5-hour limit reached ∙ resets 3pm", "2026-03-01T14:00:00Z"],
  ["resets 1pm", "2026-03-02T12:00:00Z"],
  ["resets 15:30", "2026-03-01T14:30:00Z"],
  ["Try again at 3:05 PM.", "2026-03-01T14:05:00Z"],
  ["Your limit will reset at 7pm (America/New_York).", "2026-03-02T00:00:00Z"],
  ["weekly limit · resets Mar 3, 6am (UTC)", "2026-03-03T06:00:00Z"],
  // The clock is put forward on March 29.
  ["resets Mar 30 at 5pm", "2026-03-30T15:00:00Z"],
  ["try again in 20 minutes", "2026-03-01T13:20:00Z"],
  ["Try again in 3 days 4 hours 19 minutes.", "2026-03-04T17:19:00Z"],
  ["You have hit your ChatGPT usage limit (plus plan). Try again in ~60 min.", "2026-03-01T14:00:00Z"],
  ["or try again at Mar 3rd, 2026 9:00 PM.", "2026-03-03T20:00:00Z"],
  ["reset after 1h2m3s", "2026-03-01T14:02:03Z"],
  ["please wait 5m", "2026-03-01T13:05:00Z"],
  ["retry-after: 120", "2026-03-01T13:02:00Z"],
  ['{"retry_after":20}', "2026-03-01T13:00:20Z"],
  ["Claude AI usage limit reached|1772400000", "2026-03-01T21:20:00Z"],
  ["until 2026-03-02T10:00:00+02:00", "2026-03-02T08:00:00Z"],
  ["resets in 5 hours, and on 2026-03-02 10:00 UTC", "2026-03-02T10:00:00Z"],
])("the end of a limit: %s", (said, end) => {
  vi.stubEnv("TZ", "Europe/Berlin");
  expect(endIn(said, now)).toBe(Date.parse(end));
});

test.each([
  "usage limit reached",
  "resets at 7:00am (Nowhere/Land)",
  "resets Oct 9, 6am",
  "error 1234567890123456",
  "try again in 3pm",
  "session 1460000000",
])("words without a likely end of a limit: %s", (said) => {
  expect(endIn(said, now)).toBe(null);
});

test("the end of a limit is told in the local time, with its date if it is not today", () => {
  vi.stubEnv("TZ", "Europe/Berlin");
  expect(localTime(Date.parse("2026-03-01T22:59:00Z"), now.getTime())).toBe("23:59");
  expect(localTime(Date.parse("2026-03-01T23:01:00Z"), now.getTime())).toBe("2026-03-02 00:01");
});

test("a limit is matched in time that grows with the words alone", async () => {
  expect(await limitIn("(session|usage) limit", "Your USAGE limit: resets in 1h", now)).toEqual({
    retry_at: now.getTime() + 3_600_000,
    when: expect.stringMatching(/^, and may be started again at \d\d:\d\d$/),
  });
  expect(await limitIn("limit", "another failure", now)).toBe(null);
  // A matcher that goes back over such words takes hours.
  expect(await limitIn("(a*)*(a*)*(a|aa)+b", "a".repeat(4096), now)).toBe(null);
});
