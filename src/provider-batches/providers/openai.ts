import * as v from "valibot";
import type { BatchAccount } from "../../models/port.ts";
import { bodyOf, Count, httpOf, inPath, JsonValue, Name, ROWS_MS, UNREADABLE } from "./http.ts";
import {
  AnswerPart,
  type BatchClient,
  type BatchProvider,
  dataEvent,
  isReseller,
  nullIfGone,
  type ResultRow,
  typedEvent,
} from "./provider.ts";

// Not tried with the real server: its list has a batch as soon as the create was carried out, the
// newest first and with its metadata. A create whose input file is deleted fails, or its batch does
// before a row is run. No row of a `failed` batch was run.

/** Batches of Chat Completions and Responses, of OpenAI and of servers with its API. */
export const openAi: BatchProvider<"openai-completions" | "openai-responses"> = {
  apis: ["openai-completions", "openai-responses"],
  refusal: isReseller,
  price: (host) => (HALF_PRICE.test(host) ? 0.5 : 1),
  keyHeader: "authorization",
  events: (answer, api) => (api === "openai-completions" ? chatEvents(answer) : responseEvents(answer)),
  open,
};

/** Anthropic and Google have OpenAI's API too. */
const HALF_PRICE = /^(?:(?:\w+\.)?api\.openai\.com|api\.anthropic\.com|generativelanguage\.googleapis\.com)$/;

/** Clocks may differ by so much, ms. */
const OLDER_MS = 600_000;
const OVER = ["completed", "expired", "cancelled"];
const NOT_RUN = ["batch_expired", "batch_cancelled"];
const NO_FILE = /file_not_found|no such file|\bfile\b.*(?:not found|deleted|not exist)/i;

const Made = v.object({ id: Name });
const Problem = v.object({ code: v.nullish(v.string(), ""), message: v.nullish(v.string(), "") });
const Counts = v.object({ completed: Count, failed: Count });
const Errors = v.object({ data: v.nullish(v.array(Problem), []) });
const Looked = v.object({ status: v.string(), request_counts: v.nullish(Counts), errors: v.nullish(Errors) });
const Files = v.object({ output_file_id: v.nullish(Name), error_file_id: v.nullish(Name) });
const Metadata = v.nullish(v.record(v.string(), v.unknown()));
const Listed = v.object({ id: Name, created_at: v.number(), input_file_id: v.nullish(v.string()), metadata: Metadata });
const List = v.pipe(
  v.object({ data: v.array(Listed), has_more: v.nullish(v.boolean()) }),
  v.transform(({ data, has_more }) => ({ items: data, next: has_more ? `&after=${data.at(-1)?.id}` : null })),
);
const Status = v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(599));

const Response = v.fallback(v.nullish(v.object({ status_code: Status, body: JsonValue })), null);
const Row = v.pipe(
  v.object({ custom_id: v.string(), response: Response, error: v.nullish(Problem) }),
  v.transform(({ custom_id, response, error }): ResultRow => {
    if (response) return { custom_id, answer: { status: response.status_code, body: response.body } };
    if (!error) return { custom_id, answer: UNREADABLE };
    return { custom_id, answer: NOT_RUN.includes(error.code) ? null : { status: 500, body: { error } } };
  }),
);

function open(account: BatchAccount, stop?: AbortSignal): BatchClient {
  const http = httpOf(account, stop);
  const base = account.baseUrl.replace(/\/+$/, "");
  const endpoint = account.api === "openai-responses" ? "/v1/responses" : "/v1/chat/completions";

  return {
    async upload(id, rows) {
      const head = `"method":"POST","url":"${endpoint}"`;
      const lines = await bodyOf(rows, (row) => `{"custom_id":"${row.custom_id}",${head},"body":${row.body}}\n`);
      const body = new FormData();
      body.set("purpose", "batch");
      body.set("file", lines, `belay-${id}.jsonl`);
      return (await http.json(Made, "POST", `${base}/files`, { body, ms: ROWS_MS })).id;
    },
    async create({ id: own, file, asking }) {
      const metadata = { belay_shipment: own };
      const body = JSON.stringify({ input_file_id: file, endpoint, completion_window: "24h", metadata });
      return (await http.json(Made, "POST", `${base}/batches`, { body, before: asking, goesOn: true })).id;
    },
    async find({ id: own, file, asked_at }) {
      for await (const { id, metadata, input_file_id, created_at } of http.list(`${base}/batches?limit=100`, List)) {
        // A server with this API may leave the metadata out.
        if (metadata?.belay_shipment === own || (file && input_file_id === file)) return { kind: "found", batch: id };
        if (created_at * 1000 < asked_at - OLDER_MS) break;
      }
      return { kind: "none" };
    },
    async fence(file) {
      await http.json(v.unknown(), "DELETE", `${base}/files/${inPath(file)}`, { goesOn: true }).catch(nullIfGone);
    },
    async look(batch) {
      const {
        status,
        request_counts: counts,
        errors,
      } = await http.json(Looked, "GET", `${base}/batches/${inPath(batch)}`);
      if (OVER.includes(status)) return { state: "over" };
      if (status !== "failed") return { state: "out", done: counts ? counts.completed + counts.failed : null };
      const { code, message } = errors?.data[0] ?? { code: "", message: "" };
      const words = http.clean(`${message || "it gives no reason"} ${code}`.trim());
      const why = /token_limit|enqueued/i.test(words) ? "tokens" : NO_FILE.test(words) ? "file" : "other";
      return { state: "refused", message: words, why };
    },
    async results(batch) {
      const seen = await http.json(Files, "GET", `${base}/batches/${inPath(batch)}`).catch(nullIfGone);
      const files = [seen?.output_file_id, seen?.error_file_id].filter((file) => typeof file === "string");
      const open = (file: string) => http.send("GET", `${base}/files/${inPath(file)}/content`, { ms: ROWS_MS });
      const found = await Promise.all(files.map((file) => open(file).catch(nullIfGone)));
      if (seen && !found.includes(null)) return inTurn(found.flatMap((file) => (file ? [http.rows(file, Row)] : [])));
      await Promise.all(found.map((file) => file?.body?.cancel()));
      return null;
    },
    async cancel(batch) {
      await http.json(v.unknown(), "POST", `${base}/batches/${inPath(batch)}/cancel`);
    },
  };
}

async function* inTurn<T>(parts: readonly AsyncIterable<T>[]): AsyncGenerator<T> {
  for (const part of parts) yield* part;
}

const text = v.nullish(v.string());
const ChatMessage = v.looseObject({
  content: text,
  tool_calls: v.nullish(v.array(v.looseObject({ function: AnswerPart }))),
});
const Chat = v.looseObject({ choices: v.array(v.looseObject({ message: ChatMessage })) });
const ResponseAnswer = v.looseObject({ status: v.string(), output: v.array(AnswerPart) });

function chatEvents(answer: unknown): string {
  v.assert(Chat, answer);
  const { choices, ...rest } = answer;
  const chunks = choices.slice(0, 1).flatMap(({ message: { content, tool_calls, ...thinking }, ...choice }) => {
    const uses = tool_calls?.map((use, index) => ({ index, ...use }));
    // pi-ai begins its parts in this order, which is that of a stream.
    const deltas = [thinking, { content }, ...(uses ? [{ tool_calls: uses }] : [])];
    return deltas.map((delta) => ({ ...rest, choices: [{ ...choice, delta }] }));
  });
  return `${chunks.map(dataEvent).join("")}data: [DONE]\n\n`;
}

function responseEvents(answer: unknown): string {
  v.assert(ResponseAnswer, answer);
  const items = answer.output.flatMap((item, output_index) => [
    { type: "response.output_item.added", output_index, item },
    { type: "response.output_item.done", output_index, item },
  ]);
  const end = ["incomplete", "failed"].find((status) => status === answer.status) ?? "completed";
  const created = { type: "response.created", response: answer };
  return [created, ...items, { type: `response.${end}`, response: answer }].map(typedEvent).join("");
}
