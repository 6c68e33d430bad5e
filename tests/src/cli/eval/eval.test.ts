import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { dataItems } from "../../../../src/cli/eval/data.ts";
import { itemOf, type SuiteName } from "../../../../src/eval/suites.ts";
import type { AgentCommand } from "../../../../src/platform/agent-commands.ts";
import { codingAgents, startsOf } from "../../../support/agents/coding.ts";
import { evalModel, type Rule } from "../../../support/eval-model.ts";
import { lowerBorder } from "../../../support/low-border.ts";
import { grow } from "../../../support/tree.ts";
import { scene } from "../batch/scene.ts";
import { json, jsonLines, said } from "../belay.ts";
import { belayHere } from "../in-process.ts";

const questions = new Map(
  (["needle", "count"] satisfies SuiteName[]).flatMap((suite) =>
    [1, 2].map((number) => {
      const { item } = itemOf(suite, "8k", number, 1);
      return [item.question, String(item.expected)] as const;
    }),
  ),
);

/** Knows the answer to each question, and needs no text. */
const perfect: Rule = (question) => questions.get(question) ?? "unknown";

/** A scene in which a model answers by a rule. */
async function evaluated(rule: Rule) {
  const found = await scene({}, evalModel(rule));
  const type = (line: string) => found.type(["eval", ...line.split(" "), "--window", "32000", "--price", "1/5"]);
  const agents = (entries: { readonly [name: string]: Partial<AgentCommand> | { readonly output: undefined } }) =>
    grow(found.folder, { "home/config.json": JSON.stringify({ agents: codingAgents(found.folder, entries) }) });
  const rows = (run: string) =>
    jsonLines({ stdout: readFileSync(join(found.folder, "belay-eval", run, "results.jsonl"), "utf8") });
  return { ...found, type, rows, agents };
}

test("a perfect model scores 1 everywhere, sums are what the server counted, and the same line sends nothing", async () => {
  const { type, rows, server, folder } = await evaluated(perfect);
  const line = "needle count --size 8k --n 1 --name all";
  const first = await type(line);
  expect(first).toMatchObject({ code: 0 });
  expect(first.stderr).toContain(
    `report: ${join("belay-eval", "all", "report.md")}, and report.html beside it; the jobs: belay view all\n`,
  );
  expect(first.stdout).toMatch(
    /^needle +8k +ask +1\.00 +1 +\$0\.0030 +2\.0k +800 +200 +2\.0 +1 .* \d+ % +0 of 0 +0 +0 +0 +0$/m,
  );
  expect(first.stdout.endsWith("the ask loses in no suite, by the mean\n")).toBe(true);
  const all = rows("all");
  expect(all.map(({ item, method, score, calls, depth }) => [item, method, score, calls, depth])).toEqual([
    ["needle-8k-1", "ask", 1, 2, 1],
    ["needle-8k-1", "direct", 1, 1, 0],
    ["needle-8k-1", "bm25", 1, 1, 0],
    ["count-8k-1", "ask", 1, 2, 1],
    ["count-8k-1", "direct", 1, 1, 0],
    ["count-8k-1", "bm25", 1, 1, 0],
  ]);
  // The server says 1,000 tokens in, 400 of them cached, and 100 out for each request.
  const sum = (of: string) => all.reduce((total, row) => total + row[of], 0);
  expect([sum("calls"), server.requests.length]).toEqual([8, 8]);
  expect(["tokens_in", "tokens_cached", "tokens_out"].map(sum)).toEqual([8000, 3200, 800]);
  expect(sum("cost_usd")).toBeCloseTo(8 * 0.0015, 10);
  expect(all[1].coverage).toBe(1);
  expect(all[0].coverage).toBeCloseTo(2000 / 32_000, 2);
  // An ask is sent the question, and not the answer.
  const asked = server.requests.filter(({ body }) => body.tools && body.messages.length <= 2).map(({ sent }) => sent);
  expect(asked.map((sent) => sent.includes(all[0].expected))).toEqual([false, false]);
  expect(await type(line)).toMatchObject({ code: 0, stdout: first.stdout });
  expect(server.requests).toHaveLength(8);
  const report = readFileSync(join(folder, "belay-eval/all/report.md"), "utf8");
  expect(report).toContain("| needle | 8k | direct | 1.00 | 1 | $0.0015 |");
  // Another question is added, and nothing else is asked.
  const more = json(await type(`${line.replace("--n 1", "--n 2")} --against none --json`));
  expect(more).toMatchObject({ success: true, run: "all", exit_code: 0, loses: [] });
  expect(more.rows).toMatchObject([
    { suite: "needle", method: "ask", jobs: 2, score: 1, spread: 0 },
    { suite: "count", jobs: 2 },
  ]);
  expect(server.requests).toHaveLength(12);
});

test("a lazy ask loses to a model that reads, and an answer of another form is named", async () => {
  const lazy: Rule = (question, text) => (text === null ? "between 3 and 4" : perfect(question, text));
  const { type, rows, folder } = await evaluated(lazy);
  const { code, stdout } = await type("count --size 8k --n 2 --against direct --name lazy");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /the ask loses to direct in count at 8k: 0\.00 against 1\.00, worse in 2 of 2 \(count-8k-1, count-8k-2\)\n$/,
  );
  expect(rows("lazy").map(({ method, score, misformed }) => [method, score, misformed])).toEqual([
    ["ask", 0, true],
    ["direct", 1, false],
    ["ask", 0, true],
    ["direct", 1, false],
  ]);
  const report = readFileSync(join(folder, "belay-eval/lazy/report.md"), "utf8");
  expect(report).toContain("- count-8k-1, ask: another form; `belay show lazy/count-8k-1-ask`\n");
});

test("questions of a file are asked in the forms that it names, and items.jsonl is such a file", async () => {
  const { type, rows, folder, server } = await evaluated((question, text) => {
    if (question === "Nothing?") return "";
    if (question === "Which id?") return "It is 1234567890123456789.";
    return text?.includes("ships") ? "Bergen" : "Turku, Lund";
  });
  const lines = [
    { id: "harbour", question: "Where?", answer: "Bergen", context: "All ships lie in Bergen.", size: "tiny" },
    { question: "Which?", answer: ["Lund", "Turku"], file: "towns.txt", suite: "towns" },
    { question: "Nothing?", answer: 3, file: "towns.txt" },
  ];
  writeFileSync(join(folder, "towns.txt"), "Lund, Turku and Ghent.");
  const ids = [788, 789].map((end) => `{"question":"Which id?","answer":1234567890123456${end},"file":"towns.txt"}\n`);
  const texts = lines.map((one) => `${JSON.stringify(one)}\n`);
  writeFileSync(join(folder, "mine.jsonl"), [...texts, ...ids].join(""));
  expect(await type("--data mine.jsonl --against direct --name own")).toMatchObject({ code: 0 });
  const direct = rows("own").filter(({ method }) => method === "direct");
  expect(direct.map(({ item, suite, size, score, no_answer }) => [item, suite, size, score, no_answer])).toEqual([
    ["harbour", "mine", "tiny", 1, null],
    ["towns-2", "towns", "-", 1, null],
    ["mine-3", "mine", "-", 0, "empty_answer"],
    ["mine-4", "mine", "-", 0, null],
    ["mine-5", "mine", "-", 1, null],
  ]);
  const before = server.requests.length;
  const again = await type("--data belay-eval/own/items.jsonl --against direct --name own --n 1 --dry-run");
  expect(again.stdout).toMatch(/2 jobs, by the first 2: ~2 sub-calls/);
  expect(server.requests).toHaveLength(before);
  // What is measured is asked for: no answer of the run before is reused.
  const other = await type("--data mine.jsonl --against direct --name other");
  expect(other.stderr + other.stdout).not.toContain("reused");
  expect(server.requests).toHaveLength(2 * before);
});

test("suites that others publish are known by their fields, and scored as they score them", async () => {
  const { type, rows, folder, server } = await evaluated((question) => {
    if (question.includes("(B) Lund")) return "The correct answer is (B).";
    if (question.includes("Turku")) return "C";
    if (question.includes("how many")) return "I see five of them. Answer: 6";
    if (question.includes("rolls?")) return "\\boxed{2}";
    return question.includes("spells") ? "\\boxed{Fly, Haste}" : "Label: ham";
  });
  const choice = (_id: string, more: object) => ({
    _id,
    domain: "d",
    sub_domain: "s",
    difficulty: "hard",
    length: "short",
    choice_A: "Ghent",
    choice_C: "Turku",
    choice_D: "Bergen",
    context: "All lie in Lund.",
    ...more,
  });
  const bench = [
    choice("b1", { question: "Where?", choice_B: "Lund", answer: "B" }),
    choice("b2", { question: "Who, Turku?", choice_B: "Nobody", answer: "A", length: "long" }),
  ];
  writeFileSync(join(folder, "data.json"), JSON.stringify(bench, null, 4));
  const window = {
    context_len: 131072,
    dataset: "spam",
    context_window_text: "Date: x || Instance: win now",
    context_window_text_with_labels: "SECRET",
    context_window_id: 3,
  };
  const synth = [
    {
      id: 9007,
      ...window,
      question: "how many data points are spam?",
      answer: "[5]",
      answer_type: "ANSWER_TYPE.NUMERIC",
    },
    {
      id: 9008,
      ...window,
      question: "Which label is rare?",
      answer: "['ham', 'spam']",
      answer_type: "ANSWER_TYPE.LABEL",
    },
  ];
  writeFileSync(join(folder, "synth.jsonl"), synth.map((row) => `${JSON.stringify(row)}\n`).join(""));
  writeFileSync(join(folder, "real.parquet"), Buffer.from(REAL, "base64"));
  // With all columns that the file of the suite has.
  const rolls = { id: "r9", context_window_id: "w1", question_type: "singledoc_rolls", campaign: "campaign1" };
  const asked9 = { episodes: [1], context_window_text: "Roll: 7", question: "Total number of rolls?", answer: "2" };
  writeFileSync(join(folder, "real.jsonl"), `${JSON.stringify({ ...rolls, ...asked9 })}\n`);
  const line =
    "--data data.json --data synth.jsonl --data real.parquet --data real.jsonl --against direct --name known";
  const ran = await type(line);
  expect(ran).toMatchObject({ code: 0 });
  for (const told of [
    "data.json: questions of LongBench v2",
    "synth.jsonl: questions of OOLONG-synth",
    "real.parquet: questions of OOLONG-real",
  ]) {
    expect(ran.stderr).toContain(`${told}\n`);
  }
  expect(
    rows("known")
      .filter(({ method }) => method === "direct")
      .map(({ item, suite, size, expected, score }) => [item, suite, size, expected, score]),
  ).toEqual([
    ["b1", "longbench-v2 hard", "short", "B", 1],
    ["b2", "longbench-v2 hard", "long", "A", 0],
    ["9007", "oolong-synth spam", "131k", 5, 0.75],
    ["9008", "oolong-synth spam", "131k", "ham", 1],
    ["7", "oolong-real", "1k", 2, 1],
    ["8", "oolong-real", "1k", ["Fly", "Light"], 0.5],
    ["r9", "oolong-real singledoc_rolls", "1k", 2, 1],
  ]);
  const asked = server.requests.map(({ sent }) => sent).join();
  expect([asked.includes("SECRET"), asked.includes("(A) Ghent"), asked.includes("list. Answer in ")]).toEqual([
    false,
    true,
    true,
  ]);
  // items.jsonl has the same questions in the form of Belay's own, with their scores.
  const before = server.requests.length;
  expect((await type("--data belay-eval/known/items.jsonl --against direct --name known")).stdout).toBe(ran.stdout);
  expect(server.requests).toHaveLength(before);
});

test("questions of a file are counted while they are read", async () => {
  const { folder } = await evaluated(perfect);
  const data = join(folder, "own.jsonl");
  const question = { question: "Who?", answer: "Ada", context: "Ada signed." };
  writeFileSync(data, `${JSON.stringify(question)}\n`.repeat(3));
  const counted: [string, number][] = [];
  const onRead = (file: string, questions: number) => void counted.push([file, questions]);
  const { signal } = new AbortController();
  await dataItems([data], { most: 2, roots: [], folder: join(folder, "contexts"), signal, onRead });
  expect(counted).toEqual([
    [data, 1],
    [data, 2],
  ]);
});

test("a dry run tells the price, sends nothing and leaves no files", async () => {
  const { type, server, folder } = await evaluated(perfect);
  const { code, stdout } = await type("needle --size 8k --n 5 --dry-run");
  expect(code).toBe(0);
  expect(stdout).toMatch(/\n15 jobs, by the first 3: ~15 sub-calls, ~\S+ tokens in, up to \S+ out, up to ~\$0\.\d+\n/);
  expect(stdout).toContain("each ask: at most $2.50 by --max-tokens; --first 3 runs the first jobs");
  expect(server.requests).toHaveLength(0);
  expect(existsSync(join(folder, "belay-eval"))).toBe(false);
});

test("a coding agent is asked in a copy of the files, is scored and paid as the others, and is started once", async () => {
  const { type, rows, server, folder, home, agents } = await evaluated(perfect);
  agents({ coder: { max_usd: 0.05 }, silent: { output: undefined } });
  const line = "needle --size 8k,16k --n 1 --against none --baseline coder,silent --name rival";
  const dry = await type(`${line} --dry-run`);
  expect(dry.stdout).toMatch(/\n6 jobs, by the first 6: ~6 sub-calls, .* up to ~\$0\.\d+\n/);
  expect(dry.stdout).toContain(
    "each answer of coder: 100k tokens and $0.050 are held before it (max_tokens, max_usd)\n",
  );
  expect(startsOf(folder)).toEqual([]);
  const refused = await type(`${line} --run-max-cost-usd 5`);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("the price of the agent silent is not known, so no dollars can be limited");
  const first = await type(line);
  expect(first).toMatchObject({ code: 0 });
  expect(
    rows("rival").map(({ method, score, cost_usd, cites, cited, coverage }) => [
      method,
      score,
      Math.round(1e4 * cost_usd),
      cites,
      cited,
      coverage === null,
    ]),
  ).toEqual([
    ["ask", 1, 30, 0, 0, false],
    ["coder", 1, 100, 2, 1, true],
    ["silent", 1, 0, 0, 0, true],
    ["ask", 1, 30, 0, 0, false],
    ["coder", 1, 100, 2, 1, true],
    ["silent", 1, 0, 0, 0, true],
  ]);
  expect(first.stdout).toMatch(/^needle +8k +coder +1\.00 +1 +\$0\.010 +30 +0 +7 +1\.0 +0 .* - +1 of 2 +0 +0 +0 +0$/m);
  const report = readFileSync(join(folder, "belay-eval/rival/report.md"), "utf8");
  expect(report).toContain(
    "- silent: an agent of yours, in a copy of each question's files; it does not say what it takes, and each answer counts as 100k tokens and no dollars\n",
  );
  const curves = [
    "the ask overtakes coder in needle nowhere up to 16k tokens: 1.00 for 2.2k tokens against 1.00 for 37 tokens there",
    "the ask overtakes silent in needle at 8k tokens, the smallest size that was measured: 1.00 for 2.2k tokens against 1.00 for 100k tokens; silent does not tell its tokens, so this is the most that it may take",
  ];
  expect(first.stdout.endsWith(`${curves.join("\n")}\nthe ask loses in no suite, by the mean\n`)).toBe(true);
  expect(report).toContain(`## Where the ask overtakes\n\n`);
  for (const line of curves) expect(report).toContain(`- ${line}\n`);
  const page = readFileSync(join(folder, "belay-eval/rival/report.html"), "utf8");
  for (const line of curves) expect(page).toContain(`<li>${line}</li>`);
  expect(rows("rival").map(({ untold }) => untold.join())).toEqual(Array(2).fill(["", "", "tokens,dollars"]).flat());
  expect(page.match(/<polyline class=m\d/g)).toHaveLength(6);
  expect(page).toContain("<p class=note>Dotted lines: the ask overtakes silent at 8k.</p>");
  expect(page).toContain("<b>1.00</b><span class=note>$0.010, ");
  // Each worked in a folder of its own, which had the context alone and is gone.
  const starts = startsOf(folder);
  expect(starts.map(({ files }) => files)).toEqual(Array(4).fill("log.txt"));
  expect(new Set(starts.map(({ cwd }) => cwd)).size).toBe(4);
  expect(starts.some(({ cwd }) => existsSync(cwd))).toBe(false);
  expect(await type(line)).toMatchObject({ code: 0, stdout: first.stdout });
  expect([startsOf(folder).length, server.requests.length]).toEqual([4, 4]);
  expect(readdirSync(join(home, "agents"))).toEqual([]);
  // Money is held before: a limit that has no room begins none.
  agents({ coder: { max_usd: 0.05 } });
  const poor = "needle --size 8k --n 1 --against none --baseline coder --name poor --run-max-cost-usd";
  const waits = await type(`${poor} 0.04`);
  expect(waits).toMatchObject({ code: 3 });
  expect(waits.stderr).toContain("with a higher --run-max-cost-usd");
  expect(startsOf(folder)).toHaveLength(4);
  expect(await type(`${poor} 5`)).toMatchObject({ code: 0 });
  expect(startsOf(folder)).toHaveLength(5);
});

test("a run waits for its user if an agent has met a limit, and if its end is unknown", async () => {
  const { type, rows, server, folder, agents } = await evaluated(perfect);
  const line = "needle --size 8k --n 1 --against none --baseline coder --name waits";
  const limited = { command: ["sh", "-c", "echo usage limit >&2; exit 1"], limit: "usage limit" };
  agents({ coder: limited });
  const first = await type(line);
  expect(first).toMatchObject({ code: 3 });
  expect(first.stderr).toMatch(/paused: rate_limited: the agent coder has reached a limit: usage limit/);
  agents({ coder: { command: ["sh", "-c", `echo x >> ${folder}/deaths; kill -9 $PPID; kill -9 $$`] } });
  const lost = await type(line);
  expect(lost).toMatchObject({ code: 3 });
  expect(lost.stderr).toMatch(/paused: answer_lost: the agent coder was started, and it is unknown/);
  expect(lost.stderr).toContain(`belay eval ${line} --window 32000 --price 1/5 --resend-doubtful`);
  agents({ coder: {} });
  expect(await type(line)).toMatchObject({ code: 3 });
  expect([startsOf(folder).length, readFileSync(join(folder, "deaths"), "utf8")]).toEqual([0, "x\n"]);
  expect(await type(`${line} --resend-doubtful`)).toMatchObject({ code: 0 });
  expect(rows("waits").map(({ method, score }) => [method, score])).toEqual([
    ["ask", 1],
    ["coder", 1],
  ]);
  // The agent that died is charged what it held.
  expect(rows("waits")[1]).toMatchObject({ cost_usd: 0.01, tokens_out: 100_007 });
  expect([startsOf(folder).length, server.requests.length]).toEqual([1, 2]);
});

test("what cannot be asked is refused by name", async () => {
  const { type, folder } = await scene({});
  const refused = async (line: string, words: string) =>
    expect(await type(["eval", ...line.split(" ")])).toMatchObject(said(2, words));
  await refused(
    "needel",
    "needel is not a suite; did you mean needle? There are needle, needles, count, pairs, chain, code\n",
  );
  await refused("needle --size 5k", "--size is 5k: it takes sizes from 8k to 10M tokens");
  const nobody = await type("eval needle --against none --baseline nobody".split(" "));
  expect(nobody).toMatchObject({ code: 1 });
  expect(nobody.stderr).toContain("the agent nobody is not in `agents` of your configuration");
  await refused("needle --against rag", "--against is rag: it takes direct, bm25 or none");
  await refused(
    "needle --size 8k",
    "the window of local/m is not known, and direct and bm25 need it: add --window TOKENS",
  );
  await refused("--against none --data none.jsonl", "--data none.jsonl does not exist");
  const data = (line: object) => writeFileSync(join(folder, "bad.jsonl"), `${JSON.stringify(line)}\n`);
  data({ question: "Where?", context: "P" });
  await refused("--against none --data bad.jsonl", "line 1 of bad.jsonl is not a question: answer is missing or wrong");
  data({
    context_window_text: "P",
    question: "Where?",
    answer: "[]",
    answer_type: "T",
    context_len: "1k",
    dataset: "d",
    id: 1,
  });
  await refused(
    "--against none --data bad.jsonl",
    "line 1 of bad.jsonl is not a question of OOLONG-synth: context_len is missing or wrong",
  );
  data({ question: "Where?", answer: "here" });
  await refused("--against none --data bad.jsonl", "line 1 of bad.jsonl is not a question: context or file is missing");
  data({ question: "How many?", answer: "three", score: "count", context: "P" });
  await refused(
    "--against none --data bad.jsonl",
    'line 1 of bad.jsonl has the score "count" and an answer that is no number',
  );
  data({ question: "Where?", answer: "here", file: "/etc/hostname" });
  await refused(
    "--against none --data bad.jsonl",
    'line 1 of bad.jsonl names the context "/etc/hostname", which is not read',
  );
});

test("a question about a large context is asked over its files, as a whole or by passages", async () => {
  const raise = lowerBorder(20);
  onTestFinished(raise);
  const { type, rows, folder, home } = await evaluated((_question, text) =>
    text === null || text.includes("ships 3 lie") ? "Bergen" : "unknown",
  );
  const files = Object.fromEntries(
    Array.from({ length: 21 }, (_, n) => [`logs/${n}.txt`, `ships ${n} lie in Bergen\n`]),
  );
  grow(folder, files);
  const line = { id: "harbour", question: "Where?", answer: "Bergen", file: "logs", size: "large" };
  writeFileSync(join(folder, "mine.jsonl"), `${JSON.stringify(line)}\n`);
  const ran = await type("--data mine.jsonl --name large");
  expect(ran).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("logs: its text takes at least 0.0 MB of disk"),
  });
  expect(rows("large").map(({ method, score, calls }) => [method, score, calls])).toEqual([
    ["ask", 1, 2],
    ["direct", 1, 1],
    ["bm25", 0, 1],
  ]);
  const [{ session }] = rows("large");
  const shown = json(await belayHere(["show", session, "--json"], { cwd: folder, home }));
  expect(shown).toMatchObject({ session: { context: { sources: [join(folder, "logs")] } } });
  expect(readdirSync(join(home, "texts"))).toHaveLength(2);
});

/** Two rows of OOLONG-real's columns, written by hyparquet-writer. */
const REAL =
  "UEFSMRUGFRQVGFwVBBUAFQQVABUEFQAAAAMDCBwHAAAACAAAABUEFQgVDEwVAhUAAAAEDAEAAAAVBhUIFQxcFQQVABUEFRAVBBUAAAADAwIEAAMVBhV6FW5cFQQVABUEFQAVBBUAAAADAztUGwAAAFZleCByb2xscyAxNy4gR3JvZw0PCDMuGA0fTGNhc3RzIEZseSBhbmQgTGlnaHQuFQYV1AEV2gFcFQQVABUEFQAVBBUAAAADA2jwZyoAAABUb3RhbCBudW1iZXIgb2Ygcm9sbHM/IEFuc3dlciBpbiBcYm94ZWR7fS42AAAAV2hpY2ggc3BlbGxzIHdlcmUgY2FzdD8gUmV0dXJuIGEgY29tbWEgc2VwYXJhdGVkIGxpc3QuFQYVKhUuXBUEFQAVBBUAFQQVAAAAAwMTSAEAAAAyCgAAAEZseSwgTGlnaHQVBBlsSARyb290FQoAFQIlAhgCaWQAFQIlAhgRY29udGV4dF93aW5kb3dfaWQAFQwlAhgTY29udGV4dF93aW5kb3dfdGV4dCUAABUMJQIYCHF1ZXN0aW9uJQAAFQwlAhgGYW5zd2VyJQAAFgQZHBlcJggcFQIZFQAZGAJpZBUCFgQWPhZCJgg8NgAoBAgAAAAYBAcAAAAAGRwVBhUAFQIAAAAmShwVAhklABAZGBFjb250ZXh0X3dpbmRvd19pZBUCFgQWVBZcJnAmShw2ACgEAQAAABgEAQAAAAAZLBUEFQAVAgAVBhUQFQIAAAAmpgEcFQwZFQAZGBNjb250ZXh0X3dpbmRvd190ZXh0FQIWBBakARaYASamATw2ACgQVmV4IHJvbGxzIDE3LiBHcxgQVmV4IGNhc3RzIEZseSBhbhISABkcFQYVABUCAAAAJr4CHBUMGRUAGRgIcXVlc3Rpb24VAhYEFoICFogCJr4CPDYAKBBXaGljaCBzcGVsbHMgd2VzGBBUb3RhbCBudW1iZXIgb2YgEhIAGRwVBhUAFQIAAAAmxgQcFQwZFQAZGAZhbnN3ZXIVAhYEFlQWWCbGBDw2ACgKRmx5LCBMaWdodBgBMgAZHBUGFQAVAgAAABaMBRYENpYFACgJaHlwYXJxdWV0GVwcAAAcAAAcAAAcAAAcAAAABQIAAFBBUjE=";
