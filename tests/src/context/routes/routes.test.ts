import { expect, test } from "vitest";
import { isRouteFile, parseRoutes, type RouteEntry } from "../../../../src/context/routes/entries.ts";
import { openRoutes } from "../../../../src/context/routes/routes.ts";

function entry(label: string, path: string, description = ""): RouteEntry {
  return { label, path, description, source: "AGENTS.md" };
}

const ENTRIES = [
  entry("Authentication", "docs/authentication.md", "How users sign in"),
  entry("Billing", "docs/billing.md", "Invoices and the authentication of webhooks"),
  entry("Routing", "src/http/parseHTTPRequest.ts", "From a request to its handler"),
  entry("Storage", "docs/storage/", "Where sessions are kept"),
];

test.each([
  ["- [API](api.md) — The API", "api.md", "The API"],
  ["* [API](api.md) – The API", "api.md", "The API"],
  ["- [API](api.md) - The API", "api.md", "The API"],
  ["- [API](api.md): The API", "api.md", "The API"],
  ["  - [API](api.md) -- The API", "api.md", "The API"],
  ["- [API](api.md) The API", "api.md", "The API"],
  ["- [API](api.md)", "api.md", ""],
  ["- **[API](api.md)** — The API", "api.md", "The API"],
  ["- [`API`](api.md) — -x is a flag: see there", "api.md", "-x is a flag: see there"],
  ['- [API](api.md "A title") — The API', "api.md", "The API"],
  ["- [API](<my api.md>) — The API", "my api.md", "The API"],
  ["- [API](my%20api.md) — 100 %", "my api.md", "100 %"],
  ["- [API](100%.md)", "100%.md", ""],
  ["- [API](api(2).md#usage) — The API", "api(2).md", "The API"],
  ["- [API](./src/../api.md)", "api.md", ""],
  ["- [API](docs/)", "docs/", ""],
])("%s", (line, path, description) => {
  expect(parseRoutes("AGENTS.md", line)).toEqual([{ label: "API", path, description, source: "AGENTS.md" }]);
});

test.each([
  "[API](api.md) — not in a list",
  "- API: api.md",
  "- [API](https://example.com/api.md) — external",
  "- [API](mailto:a@example.com)",
  "- [API](//example.com/api.md)",
  "- [API](#section) — a place in this file",
  "- [API]() — nowhere",
  "- [API](..) — the root",
  "- ![API](api.png) — a picture",
  "- [API](api.md",
])("is no entry: %s", (line) => {
  expect(parseRoutes("AGENTS.md", line)).toEqual([]);
});

test.each([
  ["docs/AGENTS.md", "api.md", "docs/api.md"],
  ["docs/AGENTS.md", "../x.md", "x.md"],
  ["docs/AGENTS.md", "../../../x.md", "x.md"],
  ["docs/a/AGENTS.md", "../b/x.md", "docs/b/x.md"],
  ["docs/a/AGENTS.md", "/x.md", "x.md"],
  ["docs/a/AGENTS.md", ".", "docs/a/"],
  ["docs/AGENTS.md", "%2e%2e/%2e%2e/x.md", "x.md"],
  ["project/docs/AGENTS.md~2", "api.md", "project/docs/api.md"],
])("in %s the target %s is %s", (id, target, path) => {
  expect(parseRoutes(id, `- [A](${target})`)).toEqual([{ label: "A", path, description: "", source: id }]);
});

test("fenced code holds no entries; a fence closes only with its own mark", () => {
  const markdown = [
    "- [A](a.md) — one",
    "```md",
    "- [B](b.md) — example",
    "~~~",
    "- [C](c.md) — example",
    "```",
    "- [D](d.md) — two",
    "~~~~",
    "- [E](e.md)",
    "~~~",
    "- [F](f.md)",
    "~~~~",
    "- [G](g.md) — `code` and ```code```",
  ].join("\r\n");
  expect(parseRoutes("AGENTS.md", markdown).map(({ path }) => path)).toEqual(["a.md", "d.md", "g.md"]);
});

test("a description goes on in indented lines, up to the next bullet, blank line or text", () => {
  const markdown =
    "- [A](a.md) — one\n  two\n\tthree\n  - [B](b.md)\n    four\n\n  not five\n- [C](c.md) — six\nnot seven";
  const described = parseRoutes("AGENTS.md", markdown).map(({ description }) => description);
  expect(described).toEqual(["one two three", "four", "six"]);
});

test("a line of 500,000 characters that is almost an entry is none (a backtracking pattern would not end)", () => {
  expect(parseRoutes("AGENTS.md", `- [${"\\[".repeat(100_000)}](${"(a".repeat(100_000)}`)).toEqual([]);
});

test("only AGENTS.md is a route file, at any depth", () => {
  expect(["AGENTS.md", "a/b/AGENTS.md", "a/AGENTS.md~2"].every(isRouteFile)).toBe(true);
  expect(["agents.md", "MY-AGENTS.md", "AGENTS.md/x", "AGENTS.mdx"].some(isRouteFile)).toBe(false);
});

test("a topic of one word that stands in a label has relevance 1, elsewhere less", () => {
  expect(openRoutes(ENTRIES).find("authentication", 10)).toEqual([
    { path: "docs/authentication.md", description: "How users sign in", relevance: 1, label: "Authentication" },
    {
      path: "docs/billing.md",
      description: "Invoices and the authentication of webhooks",
      relevance: 0.6,
      label: "Billing",
    },
  ]);
});

test.each([
  ["auth", [0.75, 0.45]],
  ["authetication", [0.5, 0.3]],
  ["http", [0.8]],
  ["parsehttprequest", [0.8]],
  ["sessions", [0.6]],
  ["Störage", [1]],
  ["zebra", []],
])("relevance of %s", (topic, relevances) => {
  expect(
    openRoutes(ENTRIES)
      .find(topic, 10)
      .map(({ relevance }) => relevance),
  ).toEqual(relevances);
});

test("a rare word counts for more than a frequent one, an unknown one for nothing", () => {
  const routes = openRoutes([
    entry("Docs one", "1.md"),
    entry("Docs two", "2.md"),
    entry("Docs three", "3.md"),
    entry("Storage", "4.md"),
  ]);
  const found = routes.find("zebra docs storage", 10);
  expect(found.map(({ label }) => label)).toEqual(["Storage", "Docs one", "Docs two", "Docs three"]);
  const [rare, frequent] = [Math.log(1 + 3.5 / 1.5), Math.log(1 + 1.5 / 3.5)];
  expect(found[0]?.relevance).toBeCloseTo(rare / (rare + frequent), 3);
  expect(found[1]?.relevance).toBeCloseTo(frequent / (rare + frequent), 3);
});

test("relevances lie in 0..1, fall, and the first `limit` are returned", () => {
  const routes = openRoutes(
    Array.from({ length: 200 }, (_, n) => entry(`Guide ${n % 7}`, `guides/${n}.md`, `step ${n % 11} of the guide`)),
  );
  const all = routes.find("guide 3 step", 1000);
  expect(all).toHaveLength(200);
  expect(all.every(({ relevance }) => relevance > 0 && relevance <= 1)).toBe(true);
  expect(all.map(({ relevance }) => relevance)).toEqual(
    all.map(({ relevance }) => relevance).toSorted((a, b) => b - a),
  );
  expect(routes.find("guide 3 step", 5)).toEqual(all.slice(0, 5));
  expect(routes.find("guide 3 step", 0)).toEqual([]);
});

test("equal relevance keeps the order of the entries; equal path and description count once", () => {
  const routes = openRoutes([
    entry("Storage", "b.md", "same"),
    entry("Storage", "a.md", "same"),
    entry("Other storage", "b.md", "same"),
    entry("Storage", "b.md", "not the same"),
  ]);
  expect(routes.find("storage", 10).map(({ path, description }) => [path, description])).toEqual([
    ["b.md", "same"],
    ["a.md", "same"],
    ["b.md", "not the same"],
  ]);
});

test("a topic without words, or a context without entries, answers nothing", () => {
  expect(["", "  ", "?! —", "\ud800"].map((topic) => openRoutes(ENTRIES).find(topic, 10))).toEqual([[], [], [], []]);
  expect(openRoutes([]).find("auth", 10)).toEqual([]);
});

test("names of object properties are words like any other", () => {
  const routes = openRoutes([entry("constructor", "__proto__.md", "hasOwnProperty toString")]);
  for (const topic of ["constructor", "__proto__", "toString", "valueOf constructor"]) {
    expect(routes.find(topic, 1)).toMatchObject([{ path: "__proto__.md" }]);
  }
});

test("a description of very many lines is put together in time", () => {
  const [route] = parseRoutes("AGENTS.md", `- [a](b) — first\n${" more\n".repeat(300_000)}`);
  expect(route?.description).toHaveLength("first".length + 300_000 * " more".length);
});
