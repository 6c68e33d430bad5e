import { expect, test } from "vitest";
import { openSession, RlmError } from "../../../src/index.ts";

const MB = 2 ** 20;

/** What the guest computes, computed by Node too. */
const computed = (code: string): unknown => new Function(`return (${code});`)();

test.each([
  ["a long string, with characters of two units at every place", `"é😀".repeat(350_001) + "x"`],
  ["a string that is cut within a character", `"x" + "😀".repeat(400_000)`],
  ["lone halves of characters", `("\\ud83d".repeat(262_143) + "\\ude00").repeat(2)`],
  ["many objects", `Array.from({ length: 40_000 }, (_, i) => ({ i, text: "line " + i }))`],
  ["a long list of numbers", `Array.from({ length: 200_000 }, (_, i) => i * 1.5)`],
  ["a list of long strings", `["a".repeat(600_000), "b".repeat(10), "c".repeat(600_000)]`],
  ["what fits into the envelope", `[1, { a: null }]`],
])("a result is delivered whole: %s", async (_what, code) => {
  await using session = await openSession({});
  let delivered = "";
  const envelope = await session.exec(`(${code})`, {
    async deliver(json) {
      delivered = json;
    },
  });
  const expected = JSON.stringify(computed(code));
  expect(JSON.parse(delivered)).toEqual(JSON.parse(expected));
  const isLarge = Buffer.byteLength(delivered) > MB;
  expect(envelope).toMatchObject({ success: true, result_json: isLarge ? null : JSON.parse(expected) });
  expect(envelope.warnings).toEqual(isLarge ? [expect.stringMatching(/^result_too_large: .* > 1 MB$/)] : []);
});

test("max_result_bytes says how much the envelope holds", async () => {
  await using session = await openSession({ limits: { max_result_bytes: 3 * MB } });
  const two = await session.exec(`result_meta = "m"; "x".repeat(${2 * MB})`);
  expect(two).toMatchObject({ result_json: "x".repeat(2 * MB), result_meta: "m", warnings: [] });
  const four = await session.exec(`"x".repeat(${4 * MB})`);
  expect(four).toMatchObject({ result_json: null, warnings: ["result_too_large: 4 MB > 3 MB"] });
  const lowered = await session.exec(`"x".repeat(100)`, { limits: { max_result_bytes: 50 } });
  expect(lowered).toMatchObject({ result_json: null, warnings: ["result_too_large: 100 bytes > 50 bytes"] });
});

test("a result over 100 MB is not delivered, and the warning says so", async () => {
  await using session = await openSession({});
  let isDelivered = false;
  const envelope = await session.exec(`"x".repeat(101 * ${MB})`, {
    async deliver() {
      isDelivered = true;
    },
  });
  expect([isDelivered, envelope.warnings]).toEqual([false, ["result_too_large: 101 MB > 100 MB"]]);
});

test("a result that cannot be delivered leaves the exec to be resumed; a failed cell has none", async () => {
  await using session = await openSession({});
  const suggestion = "Free space.";
  const failed = await session.exec("n = 1; n + 1", {
    deliver: () => Promise.reject(new RlmError("output_failed", "the disk is full", { suggestion })),
  });
  expect(failed).toMatchObject({ success: false, error_code: "output_failed", resumable: true, suggestion });
  expect(session.unfinished()).toMatchObject({ kind: "cell" });
  const delivered: string[] = [];
  const deliver = async (json: string) => void delivered.push(json);
  expect(await session.resume({ deliver })).toMatchObject({ how: "finished", envelope: { result_json: 2 } });
  expect(await session.exec("missing", { deliver })).toMatchObject({ success: false });
  expect(delivered).toEqual(["2"]);
});

test("what was printed beyond the limit is counted", async () => {
  await using session = await openSession({});
  const { warnings } = await session.exec(`print("x".repeat(2 * ${MB})); print("more")`);
  expect(warnings).toEqual(["output_truncated: 2 MB > 100 KB"]);
});
