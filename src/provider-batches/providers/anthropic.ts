import * as v from "valibot";
import type { BatchAccount } from "../../models/port.ts";
import { isRecord } from "../../platform/json.ts";
import { bodyOf, httpOf, inPath, JsonValue, Name, ROWS_MS, UNREADABLE } from "./http.ts";
import {
  AnswerPart,
  type BatchClient,
  type BatchedModel,
  type BatchProvider,
  isReseller,
  nullIfGone,
  type ResultRow,
  typedEvent,
} from "./provider.ts";

// Not tried with the real server: its list has a batch as soon as the create was carried out, the
// newest first. A create that it has not begun 60 s after its connection ended is never carried
// out. The results are below the batch's own address: the one that the server names is not used,
// since the key goes along.

/**
 * Message Batches: their requests go with the create, and nothing but the ids of its rows says
 * whose a batch is.
 */
export const anthropic: BatchProvider<"anthropic-messages"> = {
  apis: ["anthropic-messages"],
  refusal: isReseller,
  price: (host) => (host === "api.anthropic.com" ? 0.5 : 1),
  keyHeader: "x-api-key",
  headers: (model) => [
    ["anthropic-version", "2023-06-01"],
    ...betasOf(model).map((beta): [string, string] => ["anthropic-beta", beta]),
  ],
  events,
  open,
};

/**
 * Betas that the bodies of pi-ai need. A batch names them once for all of its rows, so they are
 * those of any request.
 */
function betasOf({ compat, reasoning }: BatchedModel): string[] {
  const has: Readonly<Record<string, unknown>> = isRecord(compat) ? compat : {};
  return [
    ...(reasoning && !has.forceAdaptiveThinking ? ["interleaved-thinking-2025-05-14"] : []),
    ...(has.allowedFallbackModels ? ["server-side-fallback-2026-07-01"] : []),
    ...(has.supportsMidConvoEffort
      ? ["mid-conversation-output-config-2026-07-01", "thinking-binding-controls-2026-08-01"]
      : []),
    ...(has.supportsMidConvoToolChanges ? ["inline-tools-2026-09-15"] : []),
  ];
}

/** The server's clock may be so much behind, ms. */
const EARLIER_MS = 5000;
const STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 529,
};

const Made = v.object({ id: Name });
const Looked = v.object({ processing_status: v.string() });
const Counted = v.object({ created_at: v.string(), request_counts: v.record(v.string(), v.number()) });
const Batch = v.object({ ...Made.entries, ...Looked.entries, ...Counted.entries });
const List = v.pipe(
  v.object({ data: v.array(Batch), has_more: v.boolean() }),
  v.transform(({ data, has_more }) => ({ items: data, next: has_more ? `&after_id=${data.at(-1)?.id}` : null })),
);
const Failure = v.object({ error: v.object({ type: v.string() }) });
const Result = v.variant("type", [
  v.object({ type: v.literal("succeeded"), message: JsonValue }),
  v.object({ type: v.literal("errored"), error: JsonValue }),
  v.object({ type: v.picklist(["canceled", "expired"]) }),
]);
const Row = v.pipe(
  v.object({ custom_id: v.string(), result: v.fallback(v.nullable(Result), null) }),
  v.transform(({ custom_id, result }): ResultRow => {
    if (result?.type === "succeeded") return { custom_id, answer: { status: 200, body: result.message } };
    if (result?.type !== "errored") return { custom_id, answer: result ? null : UNREADABLE };
    const failure = v.safeParse(Failure, result.error);
    const status = failure.success ? STATUS[failure.output.error.type] : undefined;
    return { custom_id, answer: { status: status ?? 500, body: result.error } };
  }),
);

function open(account: BatchAccount, stop?: AbortSignal): BatchClient {
  const http = httpOf(account, stop);
  const base = `${account.baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1/messages/batches`;

  async function results(batch: string) {
    const response = await http.send("GET", `${base}/${inPath(batch)}/results`, { ms: ROWS_MS }).catch(nullIfGone);
    return response === null ? null : http.rows(response, Row);
  }

  /**
   * True if the rows of a batch that ended are those of this one of ours; null: it does not say.
   */
  async function isOf(own: string, batch: string): Promise<boolean | null> {
    for await (const rows of (await results(batch)) ?? []) {
      return rows.some(({ custom_id }) => custom_id.startsWith(`${own}-`));
    }
    return null;
  }

  return {
    async create({ rows, asking }) {
      let before = '{"requests":[';
      const requests = await bodyOf(rows, ({ custom_id, body }) => {
        const text = `${before}{"custom_id":"${custom_id}","params":${body}}`;
        before = ",";
        return text;
      });
      const body = new Blob([requests, "]}"], { type: "application/json" });
      return (await http.json(Made, "POST", base, { body, before: asking, ms: ROWS_MS, goesOn: true })).id;
    },
    async find({ id: own, requests, asked_at, known }) {
      let isMaybe = false;
      for await (const { id, processing_status, created_at, request_counts } of http.list(`${base}?limit=100`, List)) {
        if (Date.parse(created_at) < asked_at - EARLIER_MS) break;
        const count = Object.values(request_counts).reduce((sum, of) => sum + of, 0);
        if (known.has(id) || count !== requests) continue;
        const isIt = processing_status === "ended" ? await isOf(own, id) : null;
        if (isIt) return { kind: "found", batch: id };
        isMaybe ||= isIt === null;
      }
      return { kind: isMaybe ? "maybe" : "none" };
    },
    async look(batch) {
      // The counts of an open batch say nothing: they change when all its rows are done.
      const { processing_status } = await http.json(Looked, "GET", `${base}/${inPath(batch)}`);
      return processing_status === "ended" ? { state: "over" } : { state: "out", done: null };
    },
    results,
    async cancel(batch) {
      await http.json(v.unknown(), "POST", `${base}/${inPath(batch)}/cancel`);
    },
  };
}

const Message = v.looseObject({ content: v.array(AnswerPart), usage: v.looseObject({}) });

function events(answer: unknown): string {
  v.assert(Message, answer);
  const { content, stop_reason, stop_sequence, stop_details, ...rest } = answer;
  const start = { ...rest, content: [], stop_reason: null, stop_sequence: null };
  const blocks = content.flatMap((block, index) => [
    { type: "content_block_start", index, content_block: { ...block, ...BLANK } },
    ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]);
  const end = { type: "message_delta", delta: { stop_reason, stop_sequence, stop_details }, usage: rest.usage };
  return [{ type: "message_start", message: start }, ...blocks, end, { type: "message_stop" }].map(typedEvent).join("");
}

/** Fields of a block that its deltas bring. */
const BLANK = { text: "", thinking: "", signature: "", input: {} };

function deltasOf({ type, text, thinking, signature, input }: v.InferInput<typeof AnswerPart>): object[] {
  if (type === "text") return [{ type: "text_delta", text: text ?? "" }];
  if (type === "tool_use") return [{ type: "input_json_delta", partial_json: JSON.stringify(input ?? {}) }];
  if (type !== "thinking") return [];
  return [
    { type: "thinking_delta", thinking: thinking ?? "" },
    { type: "signature_delta", signature: signature ?? "" },
  ];
}
