import type { Json } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { isRecord } from "../../platform/json.ts";
import { failure } from "../failure.ts";
import type { BatchAccount, Post, PostedAnswer, SubCallError } from "../port.ts";
import { fetchingBy } from "./fetching.ts";
import type { SeenResponse } from "./response-watch.ts";
import { wholeAnswer } from "./wire.ts";

export interface Posting {
  readonly account: Pick<BatchAccount, "id" | "api" | "prove">;
  /** `provider/id`. */
  readonly model: string;
  readonly post: Post;
  readonly signal: AbortSignal;
  /** Receives the status of the row. */
  readonly seen: SeenResponse;
  isPosted?: true;
  /** Set if no row answers the request. */
  failure?: SubCallError;
}

/**
 * Runs `send`. The request that it makes with `fetch` is posted instead, and its row is the stream
 * that pi-ai reads.
 */
export function posting<T>(call: Posting, send: () => T): T {
  return fetchingBy((_, ...request) => responseTo(call, new Request(...request)), send);
}

async function responseTo(call: Posting, request: Request): Promise<Response> {
  if (call.isPosted) throw new Error("a request that goes by a batch is posted once");
  call.isPosted = true;
  const { account, model, post, signal, seen } = call;
  try {
    const { id, prove } = account;
    const posted = { account: { id, prove }, model, body: withoutStream(await request.text()) };
    // Work that `post` starts fetches for itself.
    const row = await fetchingBy(null, () => post(posted, signal));
    if ("failure" in row) call.failure = row.failure;
    else {
      seen.status = row.status;
      const response = responseOf(account.api, row, seen);
      if (response) return response;
      call.failure = failure("provider_error", `${model}: the row of the batch is not an answer of its API`);
    }
  } catch (error) {
    if (!signal.aborted) call.failure = failure("provider_error", `${model}: ${messageOf(error)}`);
  }
  throw new Error("no row answers the request");
}

/** The body of a request without what only streams have. */
function withoutStream(text: string): Json {
  const sent: { readonly [key: string]: Json } = JSON.parse(text);
  const { stream, stream_options, tool_stream, ...body } = sent;
  if (!Array.isArray(body.tools)) return body;
  const tools = body.tools.map((tool: Json): Json => {
    if (!isRecord(tool)) return tool;
    const { eager_input_streaming, ...rest } = tool;
    return rest;
  });
  return { ...body, tools };
}

/**
 * null for a row that is not the answer to a request: its status is not one, or its body has
 * another form or is too deep.
 */
function responseOf(
  api: string,
  { status, body }: Exclude<PostedAnswer, { failure: SubCallError }>,
  seen: SeenResponse,
): Response | null {
  if (status >= 400) return Response.json(body, { status });
  return status >= 200 && status < 300 && isRecord(body) ? wholeAnswer(api, body, seen) : null;
}
