import fc from "fast-check";
import { expect, test } from "vitest";
import { redacted, redactedIn, redactedStart, withoutKeys } from "../../../src/platform/redact.ts";

const RANDOM = "Zk3vQ9xW2mB7tR5yN8pL4cF6hJ1dG0sA";

/** Keys as tools print them: the text around each, and the key. */
const KEYS: readonly (readonly [before: string, key: string, after: string])[] = [
  ["OPENAI: ", `sk-proj-${RANDOM}`, " is new"],
  ["x=", `sk-ant-api03-${RANDOM}`, ""],
  ["", `ghp_${RANDOM}1234`, "\n"],
  ["", `ghs_${RANDOM}`, "."],
  ["", `github_pat_11ABC_${RANDOM}`, ""],
  ["id ", "AKIAIOSFODNN7EXAMPLE", ","],
  ["", "xoxb-123456789012-abcdefABCDEF", ""],
  ["key=", `AIza${RANDOM}abc`, "&q=1"],
  ["", `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${RANDOM}`, ""],
  ["", `-----BEGIN RSA PRIVATE KEY-----\nMIIE\n${RANDOM}\n-----END RSA PRIVATE KEY-----`, "\nafter"],
  ["", `-----BEGIN PRIVATE KEY-----\nMIIE${RANDOM}`, ""],
  ["postgres://me:", "hunter2-is-mine", "@db.example/x"],
  ["authorization: Bearer ", "abc.def-ghi_jkl/mno", ""],
  ["password: ", "hunter2!", "\nuser: me"],
  ["DB_PASSWORD=", "correct-horse", ""],
  ['{"api_key": "', "0123456789", '"}'],
  ['{\\"client_secret\\": \\"', "0123456789", '\\"}'],
];

test("each form of a key is redacted, and what stands around it stays", () => {
  for (const [before, key, after] of KEYS) {
    const shown = `${before}[redacted: ${key.length} characters]${after}`;
    expect(redacted(`${before}${key}${after}`), key).toBe(shown);
    // A second look finds nothing more.
    expect(redacted(shown)).toBe(shown);
  }
});

test("all keys of one text are redacted", () => {
  const text = KEYS.map(([before, key, after]) => before + key + after).join("\n\n");
  const found = redacted(text);
  expect(found).not.toContain(RANDOM);
  expect(found).not.toMatch(/hunter2|horse/);
});

test("prose, hashes, ids and names of variables stay", () => {
  const texts = [
    "Read task-list-of-the-whole-repository.md and sk-short.",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "01JZX3T5Q2N8M7K6H4G9F1D0C2",
    "https://example.com:8080/a/b@c and max_tokens: 5000, api_key_env: OPENAI_API_KEY",
    "the token of the parser, the secret garden",
  ];
  for (const text of texts) expect(redacted(text)).toBe(text);
});

test("a value is redacted at every depth, names of fields and values under telling names too", () => {
  const key = `sk-${RANDOM}`;
  const given = {
    a: [{ b: `${key}!` }, 1, null, true],
    [key]: "x",
    password: "short",
    api_key_env: "MY_KEY",
    token: 3,
  };
  expect(redactedIn(given)).toEqual({
    a: [{ b: "[redacted: 35 characters]!" }, 1, null, true],
    "[redacted: 35 characters]": "x",
    password: "[redacted: 5 characters]",
    api_key_env: "MY_KEY",
    token: 3,
  });
});

// With quadratic time it would run for minutes, into the limit of a test.
test("long texts that nearly are keys take linear time", () => {
  const nearly = [
    "eyJ-",
    "eyJaaaaaaaa.",
    "sk-",
    "://a:",
    "a://",
    "Bearer ",
    "password:",
    "-----BEGIN PRIVATE KEY-----",
    "_-",
  ];
  for (const part of nearly) {
    const text = part.repeat(Math.ceil(400_000 / part.length));
    expect(redacted(text).length, part).toBeGreaterThan(0);
    expect(Object.keys(redactedIn({ [text]: "" })), part).toHaveLength(1);
  }
});

test("random texts around a key never hide it", () => {
  const around = fc.string({
    unit: fc.constantFrom("a", " ", "\n", '"', ":", "/", "@", "é", "\u{1f600}", "password: "),
  });
  fc.assert(
    fc.property(around, around, (before, after) => {
      const found = redacted(`${before} sk-${RANDOM}\n${after}`);
      expect(found).not.toContain(RANDOM);
    }),
  );
});

test("the start of a text has no part of a key, wherever the cut is", () => {
  const key = `sk-${RANDOM}`;
  for (let units = 5; units < 100; units++) {
    const start = redactedStart(`${"a ".repeat(20)}${key} ${"b ".repeat(4000)}`, units);
    expect(start).not.toContain("sk-");
    expect(start.length).toBe(units);
  }
  // Keys that are cut where no more is looked at: what is left of the second has not the form of one.
  const [first, second] = ["A".repeat(3000), `postgres://me:hunter2${"x".repeat(200)}@host`];
  const far = `sk-${first} ${"b ".repeat(540)}${second}`;
  for (let units = 50; units < 2000; units++) expect(redactedStart(far, units)).not.toContain("hunter2");
});

test("words of a provider are without keys in part, and without the given ones", () => {
  const said = `Incorrect: sk-proj-****wxyz, Bearer abcd, eyJ${RANDOM}, my-own-secret and ollama`;
  expect(withoutKeys(said, ["my-own-secret", "ollama"])).toBe("Incorrect: [key], [key], [key], [key] and ollama");
});
