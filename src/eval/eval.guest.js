/* a question of an evaluation */
// The cell of each job of `belay eval`. `job` has the method, the question, and the characters that a prompt has room for;
// the right answer is nowhere in it. A model that comes to no answer is a result, and a provider that fails is not.

const { method, question, room, agent } = job;
const NO_ANSWER =
  "no_answer sub_agent_error empty_answer truncated_answer content_filtered budget_exceeded timeout".split(" ");
/** The turns, calls and time that `belay ask` has. */
const ASK = { max_turns: 20, max_sub_calls: Math.min(49, budget().sub_calls - 1), timeout_ms: 1_800_000 };
const GAP = "\n[…]\n";
/** Bytes of text that a prompt may have. */
const MOST_BYTES = 2 ** 20 - 2 ** 14;

const bytesOf = (text) => {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) bytes += text.charCodeAt(at) > 2047 ? 2 : 1;
  return bytes;
};

const texts = {
  /** All of P, or its beginning and its end. */
  direct(units) {
    const { chars } = stats();
    const half = Math.floor(units / 2);
    return chars <= units ? peek(0, chars) : peek(0, half) + GAP + peek(chars - half, chars);
  },
  /** The best passages for the question, in the order of P. */
  bm25(units) {
    let left = units;
    const kept = search(question, 100).filter(({ text }) => {
      left -= text.length + GAP.length;
      return left >= 0;
    });
    return kept
      .sort((one, other) => one.start - other.start)
      .map(({ text }) => text)
      .join(GAP);
  },
};

async function prompted() {
  let text = texts[method](room);
  for (let units = room; bytesOf(text) > MOST_BYTES; text = texts[method](units)) {
    units = Math.floor((units * MOST_BYTES) / bytesOf(text)) - GAP.length;
  }
  const prompt = `Text:\n\n${text}\n\nQuestion about the text: ${question}`;
  return { answer: await llm_query(prompt, { tools: [], timeout_ms: 600_000 }) };
}

const TASK = `Answer a question about the text in the files of this folder. Read them with your tools, and change nothing.

Question about the text: ${question}

Your last message is the answer: give it alone, as the question asks. Below it you may give up to 5 sources, each on a line:
SOURCE: words exactly as they are in the text`;
const SOURCE = /^[\s>*-]*SOURCE:\s*["'`“]?(.*?)["'`”]?\s*$/i;
/** Characters of a source that are looked for. */
const SOURCE_UNITS = 500;

const isThere = (words) =>
  find(words.slice(0, SOURCE_UNITS).replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).matches.length > 0;

/** The answer of an agent that works in a folder with the files of P, and how many of its sources are in P. */
async function byAgent() {
  const lines = (await llm_query(TASK, { agent })).split("\n");
  const sources = lines.flatMap((line) => SOURCE.exec(line)?.[1] || []).slice(0, 50);
  const answer = lines
    .filter((line) => !SOURCE.test(line))
    .join("\n")
    .trim();
  return { answer, cites: sources.length, cited: sources.filter(isThere).length };
}

async function asked() {
  return { answer: await rlm_query(question, ASK) };
}

result = await (agent ? byAgent() : method === "ask" ? asked() : prompted()).catch((error) => {
  if (NO_ANSWER.includes(error.code)) return { no_answer: error.code };
  throw error;
});
