import * as v from "valibot";
import type { BatchAccount } from "../../models/port.ts";
import { bodyOf, Count, httpOf, inPath, JsonValue, Name, ROWS_MS, UNREADABLE } from "./http.ts";
import {
  type BatchClient,
  type BatchProvider,
  dataEvent,
  isReseller,
  nullIfGone,
  ProviderError,
  type ResultRow,
} from "./provider.ts";

// Not tried with the real server: its list has a batch as soon as the create was carried out, in
// whatever order, with its display name. A create whose file is deleted fails, or its batch does
// before a row is run. No row of a failed batch was run. Batches that expired or were cancelled may
// have rows. A file that is not there is refused with 403, and with the words of MAY_NOT_EXIST.

/** Batches of the Gemini API, with requests and answers in files. */
export const gemini: BatchProvider<"google-generative-ai"> = {
  apis: ["google-generative-ai"],
  refusal: isReseller,
  price: (host) => (host === "generativelanguage.googleapis.com" ? 0.5 : 1),
  keyHeader: "x-goog-api-key",
  events,
  open,
};

/** HTTP status by the code of google.rpc, from 0. */
const STATUS = [200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401];
const CODE = { cancelled: 1, unknown: 2, notFound: 5, exhausted: 8 };
const OVER = /_(?:SUCCEEDED|CANCELLED|EXPIRED)$/;
const MAY_NOT_EXIST = /\bfile\b.*may not exist/i;

const NO_REASON = { code: CODE.unknown, message: "it gives no reason" };
const Failure = v.object({
  code: v.optional(v.number(), CODE.unknown),
  message: v.optional(v.string(), NO_REASON.message),
});
const Made = v.object({ name: Name });
const Output = v.nullish(v.object({ responsesFile: v.nullish(Name) }));
const Stats = v.nullish(v.object({ successfulRequestCount: Count, failedRequestCount: Count }));
const State = v.object({ state: v.nullish(v.string(), ""), batchStats: Stats, output: Output });
const Looked = v.object({ done: v.nullish(v.boolean()), error: v.nullish(Failure), response: Output, metadata: State });
const Listed = v.object({ name: Name, metadata: v.nullish(v.object({ displayName: v.nullish(v.string()) })) });
const List = v.pipe(
  v.object({ operations: v.optional(v.array(Listed), []), nextPageToken: v.optional(v.string(), "") }),
  v.transform(({ operations: items, nextPageToken: next }) => {
    return { items, next: next === "" ? null : `&pageToken=${encodeURIComponent(next)}` };
  }),
);
const Row = v.pipe(
  v.object({ key: v.string(), response: v.optional(JsonValue, null), error: v.nullish(Failure) }),
  v.transform(({ key, response, error }): ResultRow => {
    if (!error) return { custom_id: key, answer: response === null ? UNREADABLE : { status: 200, body: response } };
    const code = STATUS[error.code] ?? 500;
    const answer = { status: code, body: { error: { ...error, code } } };
    return { custom_id: key, answer: error.code === CODE.cancelled ? null : answer };
  }),
);

function open(account: BatchAccount, stop?: AbortSignal): BatchClient {
  const http = httpOf(account, stop);
  const [, root, version = "v1beta"] = /^(.*?)(?:\/(v\d\w*))?\/*$/.exec(account.baseUrl) ?? [];
  const base = `${root}/${version}`;
  const look = (batch: string) => http.json(Looked, "GET", `${base}/${inPath(batch, "batches/")}`);

  return {
    async upload(id, rows) {
      const lines = await bodyOf(rows, (row) => `{"key":"${row.custom_id}","request":${row.body}}\n`);
      const begun = await http.send("POST", `${root}/upload/${version}/files`, {
        body: JSON.stringify({ file: { display_name: `belay-${id}` } }),
        headers: {
          "x-goog-upload-protocol": "resumable",
          "x-goog-upload-command": "start",
          "x-goog-upload-header-content-length": `${lines.size}`,
          "x-goog-upload-header-content-type": "application/jsonl",
        },
      });
      await begun.body?.cancel();
      // Only the path is the server's word: rows and key go to the account's own host.
      const { pathname, search } = URL.parse(begun.headers.get("x-goog-upload-url") ?? "", base) ?? new URL(base);
      const url = new URL(pathname + search, base).href;
      const headers = { "x-goog-upload-offset": "0", "x-goog-upload-command": "upload, finalize" };
      const sent = { body: lines, headers, ms: ROWS_MS };
      return (await http.json(v.object({ file: Made }), "POST", url, sent)).file.name;
    },
    async create({ id, file, asking }) {
      const body = JSON.stringify({ batch: { display_name: `belay-${id}`, input_config: { file_name: file } } });
      const model = account.model.split("/").map((part) => inPath(part));
      const url = `${base}/models/${model.join("/")}:batchGenerateContent`;
      return (await http.json(Made, "POST", url, { body, before: asking, goesOn: true })).name;
    },
    async find({ id }) {
      for await (const { name, metadata } of http.list(`${base}/batches?pageSize=100`, List)) {
        if (metadata?.displayName === `belay-${id}`) return { kind: "found", batch: name };
      }
      return { kind: "none" };
    },
    async fence(file) {
      await http
        .json(v.unknown(), "DELETE", `${base}/${inPath(file, "files/")}`, { goesOn: true })
        .catch((error: unknown) => {
          const isGone = error instanceof ProviderError && error.status === 403 && MAY_NOT_EXIST.test(error.message);
          if (!isGone) nullIfGone(error);
        });
    },
    async look(batch) {
      const { done, error, metadata } = await look(batch);
      const { state, batchStats: counts } = metadata;
      const hasFailed = (error && !OVER.test(state)) || state.endsWith("_FAILED");
      if (!hasFailed && (done || OVER.test(state))) return { state: "over" };
      const rows = counts ? counts.successfulRequestCount + counts.failedRequestCount : null;
      if (!hasFailed) return { state: "out", done: rows };
      const { code, message } = error ?? NO_REASON;
      const isFile = code === CODE.notFound || MAY_NOT_EXIST.test(http.clean(message));
      const why = code === CODE.exhausted ? "tokens" : isFile ? "file" : "other";
      return { state: "refused", message: http.clean(message), why };
    },
    async results(batch) {
      const seen = await look(batch).catch(nullIfGone);
      if (seen === null) return null;
      const file = seen.response?.responsesFile ?? seen.metadata.output?.responsesFile;
      if (!file) return noRows();
      const response = await http
        .send("GET", `${base}/${inPath(file, "files/")}:download?alt=media`, { ms: ROWS_MS })
        .catch(nullIfGone);
      return response === null ? null : http.rows(response, Row);
    },
    async cancel(batch) {
      await http.json(v.unknown(), "POST", `${base}/${inPath(batch, "batches/")}:cancel`, { body: "{}" });
    },
  };
}

async function* noRows() {}

const text = v.nullish(v.string());
const Part = v.looseObject({ text, functionCall: v.optional(v.looseObject({ name: v.string() })) });
const Content = v.looseObject({ parts: v.nullish(v.array(Part)) });
const Answer = v.union([
  v.looseObject({ candidates: v.array(v.looseObject({ content: v.nullish(Content) })) }),
  v.looseObject({ promptFeedback: v.looseObject({}) }),
]);

function events(answer: unknown): string {
  v.assert(Answer, answer);
  return dataEvent(answer);
}
