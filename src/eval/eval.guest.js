// The cell of each job of `belay eval`. `job` has the method, the question, and the characters that a prompt has room for;
// the right answer is nowhere in it. A model that comes to no answer is a result, and a provider that fails is not.

const { method, question, room } = job;
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
  return llm_query(`Text:\n\n${text}\n\nQuestion about the text: ${question}`, { tools: [], timeout_ms: 600_000 });
}

result = await (method === "ask" ? rlm_query(question, ASK) : prompted()).then(
  (answer) => ({ answer }),
  (error) => {
    if (NO_ANSWER.includes(error.code)) return { no_answer: error.code };
    throw error;
  },
);
