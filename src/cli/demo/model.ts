import { createServer, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { boundedJson } from "../../platform/bounded-reads.ts";
import { isRecord } from "../../platform/json.ts";
import { listenOnLoopback } from "../../platform/loopback.ts";

export interface ScriptedModel {
  /** Base URL, with `/v1`. */
  readonly url: string;
  /** Requests that it has got. */
  readonly requests: number;
  /**
   * Answers so many more requests; those beyond wait until their client goes away, or until this is
   * called again.
   */
  allow(answers: number): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The time of each answer, ms: enough to be seen. */
const ANSWER_MS = 150;
/** The largest request, more than a question about a letter has. */
const MAX_BODY_BYTES = 100_000;

/**
 * A model that is a script: a server on loopback that speaks OpenAI's chat completions.
 *
 * @param answer the text for the last message of a request
 */
export async function openScriptedModel(answer: (prompt: string) => string): Promise<ScriptedModel> {
  let requests = 0;
  let allowed = 0;
  const waiting: (() => void)[] = [];
  const turn = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      letGo();
    });
  function letGo(): void {
    for (; allowed > 0 && waiting.length > 0; allowed--) waiting.shift()?.();
  }

  const server = createServer(async (incoming, response) => {
    const prompt = promptIn(await boundedJson({ body: incoming }, MAX_BODY_BYTES));
    if (prompt === null) return void response.writeHead(400).end();
    requests++;
    await turn();
    await setTimeout(ANSWER_MS);
    stream(response, answer(prompt), Math.ceil(prompt.length / 4));
  });
  const port = await listenOnLoopback(server, 0);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get requests() {
      return requests;
    },
    allow(answers: number): void {
      allowed += answers;
      letGo();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The text of the last message, or null for what is not a request. */
function promptIn(body: unknown): string | null {
  if (!isRecord(body) || !Array.isArray(body.messages)) return null;
  const { content = null }: { readonly content?: unknown } = Object(body.messages.at(-1));
  return typeof content === "string" ? content : JSON.stringify(content);
}

function stream(response: ServerResponse, text: string, prompt_tokens: number): void {
  const send = (fields: object) =>
    response.write(`data: ${JSON.stringify({ id: "demo", model: "reader", ...fields })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] });
  send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  send({ choices: [], usage: { prompt_tokens, completion_tokens: 1, total_tokens: prompt_tokens + 1 } });
  response.end("data: [DONE]\n\n");
}

/** The letters that the demo sorts: file names and texts. */
export const LETTERS: Readonly<Record<string, string>> = {
  "01-ada.txt": "The kettle arrived a day early and boils in two minutes. I gave one to my sister as well.",
  "02-bo.txt": "My parcel was two weeks late, and nobody answered the phone. I would like my money back.",
  "03-cem.txt": "Does the small kettle fit on an induction hob? The page does not say.",
  "04-dana.txt": "The lid was broken when I opened the box. Please send a new one.",
  "05-eve.txt": "Thank you for the handwritten card in the parcel. It made my day.",
  "06-finn.txt": "You sent the wrong colour twice. I ordered green, and both times the box said red.",
  "07-gita.txt": "I have had this kettle for nine years now, and it still looks new.",
  "08-hugo.txt": "Can I return a kettle that I bought in the shop by post?",
  "09-ines.txt": "After a month the handle came off, with boiling water inside. I want a refund.",
  "10-jan.txt": "The best tea of my life, every single morning.",
  "11-kim.txt": "Which of your kettles is the quietest? My baby sleeps next to the kitchen.",
  "12-lea.txt": "The invoice shows a price that I never agreed to. Please correct it.",
};

/** The number of answers that are recorded before the demo kills the process. */
export const RECORDED = 5;

/** A cell that looks around, without a model. */
export const EXPLORE =
  '({ letters: list_docs().length, angry: find("refund|money back|wrong|broken").matches.length })';

/** The cell that is killed in the middle. */
export const ASK = `// One question about each letter; then the answers are counted.
const schema = { enum: ["praise", "complaint", "question"] };
const prompts = list_docs().map(({ id }) => "Is this letter praise, a complaint or a question?\\n\\n" + peek_doc(id));
const { results } = await llm_query_batch(prompts, { tools: [], schema });
result = {};
for (const kind of schema.enum) result[kind] = results.filter((answer) => answer === kind).length;
`;

/** The question of `belay demo --ask`. */
export const QUESTION = "How many of the letters are complaints?";

/** The replies of the model that is asked, turn by turn. */
const REPLIES = [
  `I look at the letters first.
\`\`\`js
const letters = list_docs();
print(letters.length, "letters, such as:", peek_doc(letters[1].id));
\`\`\``,
  `A model reads each of them, and code counts.
\`\`\`js
const schema = { enum: ["praise", "complaint", "question"] };
const prompts = letters.map(({ id }) => "Is this letter praise, a complaint or a question?\\n\\n" + peek_doc(id));
const { results } = await llm_query_batch(prompts, { tools: [], schema });
print(results.join(" "));
\`\`\``,
  `Now I can answer.
\`\`\`js
const complaints = letters.filter((_, at) => results[at] === "complaint");
answer(complaints.length, { cite: complaints });
\`\`\``,
];

/** The reply to the question, to what a cell printed, or to the question about a letter. */
export function scriptedReply(prompt: string): string {
  const done = /^\[turn (\d+) of /m.exec(prompt)?.[1];
  const turn = prompt.startsWith(QUESTION) ? 0 : Number(done ?? Number.NaN);
  return REPLIES[turn] ?? scriptedAnswer(prompt);
}

/** The answer of the scripted model, as JSON. It goes by words, as a real model would not. */
export function scriptedAnswer(prompt: string): string {
  const letter = prompt.slice(prompt.indexOf("\n\n"));
  if (letter.includes("?")) return '"question"';
  return /refund|money back|broken|wrong|never agreed/.test(letter) ? '"complaint"' : '"praise"';
}
