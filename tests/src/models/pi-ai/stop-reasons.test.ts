import { expect, test } from "vitest";
import type { SeenResponse } from "../../../../src/models/pi-ai/response-watch.ts";
import { stopReasonOf, watchStream } from "../../../../src/models/pi-ai/wire.ts";

test.each([
  ["Provider finish_reason: content_filter", "withheld"],
  ["Provider stopped with: SPII", "withheld"],
  ["Unhandled stop reason: model_context_window_exceeded", "cut"],
  ["Response incomplete: content_filter", "withheld"],
  ["Provider finish_reason: eos", "whole"],
])("a copy of pi-ai that hands on no reason has it in its words: %s", (errorMessage, meaning) => {
  expect(stopReasonOf({ errorMessage })).toMatchObject({ meaning });
});

test.each([{}, { rawStopReason: "abort" }, { errorMessage: "fetch failed" }])(
  "other reasons say nothing: %j",
  (said) => {
    expect(stopReasonOf(said)).toBeNull();
  },
);

test("a refusal is known in whatever pieces its events come", () => {
  const seen: SeenResponse = { status: 200, retryAfterMs: null, networkError: null };
  const watch = watchStream(seen);
  const events = ["I can", "not. ü"].map(
    (refusal) => `data: ${JSON.stringify({ choices: [{ delta: { refusal } }] })}\n\n`,
  );
  for (const byte of Buffer.from(events.join(""))) watch(Uint8Array.of(byte));
  expect(seen.refusal).toBe("I cannot. ü");
});

test("a line without an end takes no more than the length of the stream", () => {
  const seen: SeenResponse = { status: 200, retryAfterMs: null, networkError: null };
  const watch = watchStream(seen);
  for (let at = 0; at < 2000; at++) watch(Buffer.alloc(4096, "refusal "));
  expect(seen.refusal).toBeUndefined();
});

test("the end of a stream is known in whatever pieces it comes, and however long its line is", () => {
  const long = "x".repeat(100_000);
  const lines: readonly [string, SeenResponse["end"]][] = [
    [`data: {"choices":[{"delta":{"content":"${long}"},"finish_reason":null}]}`, undefined],
    [`data: {"choices":[{"delta":{},"finish_reason": "stop"}]}`, "told"],
    [`data: {"choices":[{"delta":{"content":"\\"finish_reason\\":\\"stop\\""}}]}`, undefined],
    [`data: {"response":{"output":"${long}"},"type":"response.completed"}`, "told"],
    [`data: {"type":"response.incomplete","response":{"output":"${long}"}}`, "cut"],
  ];
  for (const [line, end] of lines)
    for (const size of [5, 65_536]) {
      const seen: SeenResponse = { status: 200, retryAfterMs: null, networkError: null };
      const watch = watchStream(seen);
      const bytes = Buffer.from(`${line}\n\n`);
      for (let at = 0; at < bytes.length; at += size) watch(bytes.subarray(at, at + size));
      expect([line.slice(0, 80), size, seen.end]).toEqual([line.slice(0, 80), size, end]);
    }
});
