import { expect, test } from "vitest";
import { builtins, isReserved } from "../../../builtins/index.ts";
import { inFlags } from "../../../src/cli/render/wording.ts";
import { inPi } from "../../../src/pi/wording.ts";
import { SEARCH_STRATEGIES } from "../../../src/query/index.ts";
import type { QueryEnvelope } from "../../../src/session/index.ts";
import { openScripted, promptOf } from "../../support/scripted-session.ts";
import { folderWith } from "../../support/tree.ts";

const isMerge = (prompt: string) => prompt.includes("Notes from");
const isWordsCall = (prompt: string) => prompt.includes("found little");

interface Asked {
  readonly text: string;
  readonly words?: string;
  readonly note?: (prompt: string) => string;
  readonly merge?: () => string;
  readonly sub_calls?: number;
}

/** A session over a text whose model answers each kind of call as it is told. */
async function openOver({ text, words = "", note = () => "noted", merge = () => "merged", sub_calls = 50 }: Asked) {
  const { session, seen, journal } = await openScripted(
    (request) => {
      const prompt = promptOf(request);
      return isMerge(prompt) ? merge() : isWordsCall(prompt) ? words : note(prompt);
    },
    { budget: { max_sub_calls: sub_calls } },
  );
  await session.load({ text, name: "app.log" });
  return { session, journal, sent: seen.prompts };
}

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => `${line(at)}\n`).join("");
const warned = ({ warnings }: QueryEnvelope, code: string) => warnings.filter((warning) => warning.startsWith(code));

test("other forms of the question's words find the sections", async () => {
  const log = lines(9858, (at) => `${at} WARN component-${at % 3}: connection reset by peer`);
  const { session, sent } = await openOver({ text: log });
  const answer = await session.query("which component resets connections most");
  expect(answer).toMatchObject({ success: true, answer: "merged", search_strategy_used: "bm25", warnings: [] });
  expect(sent.filter(isWordsCall)).toEqual([]);
});

test("what a query suggests names the option, the flag, or what Pi's user can do", async () => {
  const { session } = await openOver({ text: "alpha\n", note: () => "NOTHING" });
  const noMatch = await session.query("what is alpha");
  const few = await (await openOver({ text: "alpha\n", sub_calls: 1 })).session.query("what is alpha");
  const said = [noMatch, few].map((answer) => (answer.success ? null : (answer.suggestion ?? "")));
  expect(said).toEqual([expect.stringContaining("`maxSections`"), expect.stringContaining("`budget.max_sub_calls`")]);
  for (const suggestion of said) {
    expect(inFlags(suggestion ?? "")).toMatch(/`--max-(?:sections|sub-calls)`/);
    expect(inPi(suggestion ?? "")).toMatch(/with max_sections|raise max_sub_calls in belay\.json/);
  }
});

const CALM = lines(4000, (at) => `${at} INFO all is calm here`);
const BROKEN = `${CALM}9 ERROR EPIPE: socket hung up\n${CALM}`;

test("a model is asked once for other words when the question's own find little", async () => {
  const { session, sent } = await openOver({ text: BROKEN, words: "- EPIPE\n- socket\n" });
  const answer = await session.query("Why do customers lose their purchases?");
  expect(answer).toMatchObject({ success: true, search_strategy_used: "bm25" });
  expect(warned(answer, "query_words:")).toEqual([expect.stringContaining("EPIPE, socket")]);
  expect(sent.filter(isWordsCall)).toHaveLength(1);
  expect(sent.filter((prompt) => prompt.includes("<section>"))).toEqual([expect.stringContaining("EPIPE")]);
});

test("an even sample over the whole context is read when other words find nothing either", async () => {
  const { session, sent } = await openOver({ text: BROKEN, words: "zebra" });
  const answer = await session.query("Why do customers lose their purchases?", { maxSections: 4 });
  expect(answer).toMatchObject({ success: true, search_strategy_used: "sample", sections_analyzed: 4 });
  expect(warned(answer, "query_sampled:")).toEqual([expect.stringMatching(/4 sections .* \d+ % of the context/)]);
  const read = sent.flatMap((prompt) => /<section>\n(\d+) /.exec(prompt)?.[1] ?? []).map(Number);
  expect(read[0]).toBe(0);
  expect(read).toHaveLength(4);
  expect(sent.find((prompt) => prompt.includes("<section>") && prompt.includes("3999 INFO"))).toBeDefined();
});

test("a question without a word to search for reads a sample, and no model is asked for words", async () => {
  const { session, sent } = await openOver({ text: "one\ntwo\n" });
  const answer = await session.query("What is this about?");
  expect(answer).toMatchObject({ success: true, search_strategy_used: "sample" });
  expect(warned(answer, "query_sampled:")).toEqual([expect.stringContaining("the whole context was read")]);
  expect(sent.filter(isWordsCall)).toEqual([]);
});

test("notes that all say NOTHING are no_match", async () => {
  let nothing = "NOTHING";
  const { session, sent, journal } = await openOver({ text: BROKEN, note: () => nothing });
  for (nothing of ["NOTHING", "Nothing.", " **NOTHING** "]) {
    const answer = await session.query("socket?");
    expect(answer).toMatchObject({ success: false, error_code: "no_match", answer: null, sections_analyzed: 1 });
    expect(answer).toMatchObject({ error_message: expect.stringContaining("helps"), result_json: null, notes: [] });
  }
  expect(sent.filter(isMerge)).toEqual([]);
  const complete = (await journal()).findLast(({ record }) => record === "rlm_complete");
  expect(complete).toMatchObject({ success: false, error_code: "no_match" });
  expect(await session.resume()).toMatchObject({ how: "replayed", envelope: { error_code: "no_match" } });
});

/** Filler in which each other number, version and name of the questions below stands too, and the one line that they ask for. */
const around = (line: string) =>
  [
    lines(800, (at) => `${at + 100}. We go to section ${at + 100}, as it is in our release v${at + 100}.`),
    `${line}\n`,
    lines(800, (at) => `他们在第${at + 100}行 мы идём ${at + 100} نحن هنا ไปเถอะ 우리 c 27 17 v17 cs cu Wo Am`),
  ].join("");

test.each([
  ["where is needle-7?", "Here lies needle-7 indeed."],
  ["7?", "The answer is 7 indeed."],
  ["What does section 7 say?", "Section 7: the notice."],
  ["What is new in release v7?", "Release v7 is the new one."],
  ["And v1.2.3?", "We shipped v1.2.3 at last."],
  ["Who uses C#?", "The billing team uses C# for it."],
  ["Which parts are written in Go?", "Written in Go: the relay."],
  ["What of qx?", "It is called qx."],
  ["Wo ist der Schlüssel? Am Tor?", "Der Schlüssel ist am Tor."],
  ["Who pays in the US?", "In the US each pays more."],
  ["令牌?", "服务器的令牌存放在此。"],
  ["令牌在哪里？", "服务器的令牌存放在此。"],
  ["第7章说什么？", "这是第7章的内容。"],
  ["토큰은?", "서버의 토큰이 여기 있다."],
  ["鍵", "サーバーの鍵はここです。"],
  ["Где ОС?", "Нашу ОС обновили в мае."],
  ["أين قط؟", "هذا قط صغير."],
  ["ยา", "กินยาแล้วนอน"],
  ["हल कहाँ है?", "यह हल सही है।"],
])("a short word of a question is not dropped: %s", async (question, line) => {
  const { session, sent } = await openOver({ text: around(line) });
  for (const searchStrategy of ["auto", "regex"] as const) {
    sent.length = 0;
    const answer = await session.query(question, { maxSections: 1, searchStrategy });
    expect(answer.warnings, searchStrategy).toEqual([]);
    expect(sent[0], searchStrategy).toContain(line);
  }
});

test("an empty context is no_match, and nothing is sent", async () => {
  const { session, sent } = await openOver({ text: "" });
  expect(await session.query("anything?")).toMatchObject({ success: false, error_code: "no_match", sections: [] });
  expect(sent).toEqual([]);
});

const TEN = lines(12_000, (at) => (at % 1200 === 0 ? `${at} ERROR socket failed` : `${at} INFO calm`));

test("sections are clamped to the sub-calls that are left without the merging one", async () => {
  const { session, sent } = await openOver({ text: TEN, sub_calls: 5 });
  const answer = await session.query("socket?");
  expect(answer).toMatchObject({ success: true, answer: "merged", sections_analyzed: 4 });
  expect(warned(answer, "sections_clamped:")).toEqual([expect.stringContaining("4 of 10 sections")]);
  expect(sent).toHaveLength(5);
  expect(answer.budget.remaining_sub_calls).toBe(0);
});

test("the call for other words is taken off too", async () => {
  const { session, sent } = await openOver({ text: TEN, words: "socket", sub_calls: 5 });
  const answer = await session.query("purchases?");
  expect(answer).toMatchObject({ success: true, sections_analyzed: 3 });
  const kinds = sent.map((prompt) => [isWordsCall(prompt), isMerge(prompt)].join());
  expect(kinds).toEqual(["true,false", ...Array(3).fill("false,false"), "false,true"]);
});

test("a budget without room for a section and the merging call is refused before anything is sent", async () => {
  const { session, sent } = await openOver({ text: TEN, sub_calls: 1 });
  expect(await session.query("socket?")).toMatchObject({ success: false, error_code: "budget_exceeded", sections: [] });
  expect(sent).toEqual([]);
});

test("notes are returned when they cannot be put together", async () => {
  const { session } = await openScripted((request) => {
    if (!isMerge(promptOf(request))) return "sockets fail";
    const error = { code: "auth_failed", message: "no key", suggestion: "", retriable: false } as const;
    const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };
    return { ok: false, usage, charged: false, error };
  });
  await session.load({ text: BROKEN, name: "app.log" });
  const answer = await session.query("socket?");
  expect(answer).toMatchObject({ success: false, error_code: "auth_failed", answer: null });
  expect(answer).toMatchObject({
    error_message: expect.stringContaining("1 section could not be put together"),
    notes: [{ source: expect.stringContaining("app.log"), note: "sockets fail" }],
  });
});

test("of many matches not only the first are looked at", async () => {
  const { session } = await openOver({
    text: lines(9000, (at) => (at > 8990 ? `${at} "calm" storm` : `${at} "calm"`)),
  });
  const answer = await session.query('what of "calm" and "storm"?', { maxSections: 1 });
  expect(answer).toMatchObject({ success: true, search_strategy_used: "regex" });
  expect(Number(answer.sections[0]?.split(":")[1])).toBeGreaterThan(8000);
});

test("a text that says [object Promise] is not taken for a mistake of the query", async () => {
  const { session } = await openOver({ text: "socket: [object Promise]\n" });
  expect(await session.query("socket?")).toMatchObject({ success: true, warnings: [] });
});

test("sources are paths and lines, also beyond the first thousand documents", async () => {
  const file = (at: number): [string, string] => [
    `${1000 + at}.txt`,
    at === 1040 ? `${"calm\n".repeat(400)}a socket\n` : "calm\n",
  ];
  const cwd = folderWith(Object.fromEntries(Array.from({ length: 1050 }, (_, at) => file(at))));
  const { session } = await openScripted(() => "noted", { cwd });
  await session.load(".");
  expect(await session.query("socket?")).toMatchObject({ success: true, sections: ["2040.txt:301"] });
  const regex = await session.query("socket?", { searchStrategy: "regex" });
  expect(regex).toMatchObject({ success: true, sections: ["2040.txt:102"], warnings: [] });
});

test("a query is answered whatever cells and helpers have by the names of builtins", async () => {
  const { session } = await openOver({ text: BROKEN });
  const [first = "", ...others] = builtins.map(({ name }) => name).filter((name) => !isReserved(name));
  const taken = (name: string) => `function ${name}() { throw new Error("${name} is taken"); }`;
  await session.exec(others.map(taken).join("\n"));
  await session.helpers.add("mine", taken(first));
  for (const searchStrategy of SEARCH_STRATEGIES) {
    const answer = await session.query('what says "socket"?', { searchStrategy });
    expect(answer).toMatchObject({ success: true, answer: "merged" });
    expect(answer.sections.filter((section) => !/^app\.log:\d+$/.test(section))).toEqual([]);
  }
});

/** A session over documents as text, whose model answers from the notes as it is told. */
async function openOverFolder(files: Readonly<Record<string, string>>, merge: string, note = "noted") {
  const folder = folderWith(files);
  const answerTo = (prompt: string) => (isMerge(prompt) ? merge : note);
  const { session, seen } = await openScripted((request) => answerTo(promptOf(request)), { roots: [folder] });
  await session.load(folder);
  return { session, sent: seen.prompts };
}

const MAIL = (subject: string, body: string) => `From: a@b.example\nTo: c@d.example\nSubject: ${subject}\n\n${body}\n`;
const PAGES = JSON.stringify({
  cells: [
    { cell_type: "markdown", source: "The lease begins in May." },
    { cell_type: "markdown", source: "The notice of the lease is 24 months." },
  ],
  ...{ metadata: {}, nbformat: 4, nbformat_minor: 5 },
});

test("a query cites places of converted documents as asks do, and their pages stand in the sections", async () => {
  const { session, sent } = await openOverFolder({ "lease.ipynb": PAGES }, "24 months [lease.ipynb cell 2].");
  const answer = await session.query("notice of the lease");
  expect(answer).toMatchObject({ answer: "24 months [lease.ipynb cell 2].", warnings: [] });
  expect(answer.sections).toEqual(["lease.ipynb cell 1-cell 2"]);
  expect(sent[0]).toContain("from lease.ipynb cell 1-cell 2.");
  expect(sent[0]).toContain("\n[lease.ipynb cell 2]\n");
  expect(sent[0]).toContain("A line such as [lease.ipynb cell 2] says where");
});

const READ = { "a.txt": "The lease begins in May.\nThe notice is 24 months.\n", "b.eml": MAIL("lease", "The notice.") };

test.each([
  ["It is so [a.txt:1].", null],
  ["It is so [a.txt:2:5] [a.txt].", null],
  ["It is so [a.txt:1-2; b.eml body], see [1] and [sic] at [12:30].", null],
  ["It is so [a.txt:7].", "It is so [a.txt:7 (not read)]."],
  ["It is so [c.pdf p.3].", "It is so [c.pdf p.3 (not read)]."],
  ["It is so [a.txt:1, x/y.md:3].", "It is so [a.txt:1, x/y.md:3 (not read)]."],
  ["It is so [c.pdf, page 3].", "It is so [c.pdf, page 3 (not read)]."],
  ["It is so [a.txt:1, c.pdf p.3, p.4].", "It is so [a.txt:1, c.pdf p.3 (not read), p.4 (not read)]."],
  ["See [the note](a.txt:99).", null],
])("a source that was not among those read is marked: %s", async (merge, marked) => {
  const { session } = await openOverFolder(READ, merge);
  const answer = await session.query("notice of the lease");
  expect(answer).toMatchObject({ success: true, answer: marked ?? merge });
  expect(warned(answer, "query_sources_unread")).toHaveLength(marked === null ? 0 : 1);
});
