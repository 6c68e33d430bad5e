import { attributes, type Span } from "./span.ts";

/** One request of OTLP as a line of JSON. */
export interface SpanLine {
  readonly text: string;
  readonly spans: number;
}

/** The most bytes of a line. */
const MOST_BYTES = 4_000_000;

/** The spans in as few lines as there can be. @param version of Belay */
export function* linesOf(spans: Iterable<Span>, version: string): Generator<SpanLine> {
  const resource = { attributes: attributes({ "service.name": "belay", "service.version": version }) };
  const scope = JSON.stringify({ name: "belay", version });
  const before = `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${scope},"spans":[`;
  const lineOf = () => ({ text: `${before}${held.join(",")}]}]}]}`, spans: held.length });
  let held: string[] = [];
  let bytes = 0;
  for (const span of spans) {
    const text = JSON.stringify(span);
    const more = Buffer.byteLength(text) + 1;
    if (held.length > 0 && bytes + more > MOST_BYTES - before.length - 100) {
      yield lineOf();
      held = [];
      bytes = 0;
    }
    held.push(text);
    bytes += more;
  }
  if (held.length > 0) yield lineOf();
}
