import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import * as v from "valibot";
import { describeExecs, type SessionDescription } from "../../src/history/index.ts";
import { type Exporting, linesOf, spansOf } from "../../src/history/telemetry/index.ts";
import type { JournalRecord } from "../../src/session/index.ts";

// A collector that believes nothing: each field is judged, and a field that OTLP does not have is refused.

const hex = (digits: number) => v.pipe(v.string(), v.regex(new RegExp(`^(?!0+$)[0-9a-f]{${digits}}$`)));
/** 64 bits without a sign. */
const nano = v.pipe(
  v.string(),
  v.regex(/^(0|[1-9]\d*)$/),
  v.check((text) => BigInt(text) < 2n ** 64n),
);
const whole = v.pipe(v.string(), v.regex(/^-?(0|[1-9]\d*)$/));
const text = v.pipe(
  v.string(),
  v.check((found) => found.isWellFormed()),
);

const value = v.union([
  v.strictObject({ stringValue: text }),
  v.strictObject({ boolValue: v.boolean() }),
  v.strictObject({ intValue: whole }),
  v.strictObject({ doubleValue: v.pipe(v.number(), v.finite()) }),
]);
/** Names of the conventions 1.40.0, those of Belay, and those of a resource. */
const KEY =
  /^(gen_ai\.(operation\.name|conversation\.id|agent\.name|tool\.(name|type)|provider\.name|request\.model|usage\.(input_tokens|output_tokens|cache_read\.input_tokens|cache_creation\.input_tokens)|(input|output)\.messages)|error\.type|belay\.[a-z_]+|service\.(name|version))$/;
const attributes = v.pipe(
  v.array(v.strictObject({ key: v.pipe(v.string(), v.regex(KEY)), value })),
  v.check((all) => new Set(all.map(({ key }) => key)).size === all.length),
);

const place = { traceId: hex(32), spanId: hex(16) };
const span = v.pipe(
  v.strictObject({
    ...place,
    parentSpanId: v.exactOptional(hex(16)),
    name: v.pipe(text, v.minLength(1)),
    kind: v.picklist([1, 3]),
    ...{ startTimeUnixNano: nano, endTimeUnixNano: nano, attributes },
    events: v.exactOptional(
      v.pipe(v.array(v.strictObject({ timeUnixNano: nano, name: text, attributes })), v.maxLength(128)),
    ),
    links: v.exactOptional(v.array(v.strictObject(place))),
    status: v.exactOptional(v.strictObject({ code: v.literal(2), message: text })),
  }),
  v.check(
    ({ startTimeUnixNano: start, endTimeUnixNano: end }) => BigInt(start) <= BigInt(end),
    "ends before it begins",
  ),
  v.check(({ name, attributes }) => name.startsWith(String(valuesOf(attributes)["gen_ai.operation.name"]))),
  v.check(({ status, attributes }) => status?.message === valuesOf(attributes)["error.type"]),
);
const request = v.strictObject({
  resourceSpans: v.tuple([
    v.strictObject({
      resource: v.strictObject({ attributes }),
      scopeSpans: v.tuple([
        v.strictObject({ scope: v.strictObject({ name: v.literal("belay"), version: text }), spans: v.array(span) }),
      ]),
    }),
  ]),
});

export type JudgedSpan = v.InferOutput<typeof span>;

/** The attributes as plain values. */
export function valuesOf(all: v.InferOutput<typeof attributes>): Record<string, unknown> {
  return Object.fromEntries(
    all.map(({ key, value }) => {
      const [[kind, plain] = []] = Object.entries(value);
      return [key, kind === "intValue" ? Number(plain) : plain];
    }),
  );
}

/** The spans of one request. Throws for any field that a collector may refuse. */
function judged(line: string): JudgedSpan[] {
  if (Buffer.byteLength(line) > 4_000_000) throw new Error(`${Buffer.byteLength(line)} bytes are too many`);
  return v.parse(request, JSON.parse(line)).resourceSpans[0].scopeSpans[0].spans;
}

/** The spans of an export that is whole: no id comes twice, and each parent is there, in the same trace. */
export function judgedWhole(lines: Iterable<string>): JudgedSpan[] {
  const spans = [...lines].flatMap(judged);
  const byId = new Map(spans.map((one) => [one.spanId, one]));
  if (byId.size !== spans.length) throw new Error("an id comes twice");
  for (const { parentSpanId, traceId } of spans) {
    if (parentSpanId === undefined) continue;
    if (byId.get(parentSpanId)?.traceId !== traceId) throw new Error(`the parent ${parentSpanId} is missing`);
  }
  return spans;
}

export interface SeenExport {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly line: string;
  readonly spans: readonly JudgedSpan[];
}

/** The answer to a request: a status, perhaps with headers and a body; `never`: none comes. */
export type CollectorAnswer =
  | number
  | "never"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** The body of an answer that rejects so many spans. */
export const rejecting = (rejectedSpans: unknown) =>
  JSON.stringify({ partialSuccess: { rejectedSpans, errorMessage: "words of a collector" } });

export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly seen: readonly SeenExport[];
  /** All spans of requests that were answered with 200. */
  taken(): JudgedSpan[];
}

/** A collector on loopback. @param answers by the number of the request, from 0; default: 200, or 400 for what it refuses */
export async function startCollector(answers: (request: number) => CollectorAnswer = () => 200): Promise<Collector> {
  const seen: SeenExport[] = [];
  const taken: JudgedSpan[] = [];
  const server = createServer(async (request, response) => {
    const chunks = await Array.fromAsync<Buffer>(request);
    const line = gunzipSync(Buffer.concat(chunks)).toString();
    const spans = judged(line);
    const answer = answers(seen.push({ path: request.url ?? "", headers: request.headers, line, spans }) - 1);
    if (answer === "never") return;
    const { status, headers = {}, body = "{}" } = typeof answer === "number" ? { status: answer } : answer;
    if (status === 200) taken.push(...spans);
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    taken: () => [...taken],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What the store tells of a session with this journal. */
export function described(
  records: readonly JournalRecord[],
  more: Partial<SessionDescription> = {},
): SessionDescription {
  return {
    ...{ id: "01SESSION", name: null, label: null, origin: "command", status: "idle", created_at: 0, changed_at: 0 },
    ...{ head: null, settings: null, sub_calls: 0, tokens: 0, cost_usd: 0, bytes: 0, holder: null, forked_from: null },
    ...{ context: null, last: null, checkpoints: [], execs: describeExecs(records) },
    ...more,
  };
}

/** The lines of a session's spans. */
export function exportedLines(session: SessionDescription, more: Partial<Exporting> = {}): string[] {
  const spans = spansOf({ session, forkedAfter: null, texts: false, ...more });
  return [...linesOf(spans, "1.0.0")].map(({ text }) => text);
}
