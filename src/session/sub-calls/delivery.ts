import * as v from "valibot";
import type { SubCallRequest } from "../../../builtins/index.ts";
import { firstly, RlmError } from "../../../runtime/index.ts";
import { failure, isFailureCode, type Model, type Models, type Post, type SubCallError } from "../../models/index.ts";
import { proofOfRequest } from "../../provider-batches/index.ts";
import type { BatchAnswer, BatchRequest } from "../../store/index.ts";
import type { DeliveryRecord } from "../journal/records.ts";
import type { CallingSession } from "../parts.ts";
import type { CallContext } from "./port.ts";

/** A call whose requests go by batches. */
export interface ByBatch {
  /**
   * The model that was asked, `provider/id`; null: that of the call, since nothing has left yet.
   */
  readonly model: string | null;
  /** Takes the request with this number in the call. */
  post(k: number): Post;
  /** For the record of the call. */
  delivered(): { readonly delivery?: DeliveryRecord; readonly sent_at?: number };
}

interface Asked {
  readonly id: string;
  readonly request: Pick<SubCallRequest, "delivery" | "model">;
  /** The call may be made twice. */
  readonly isRepeatable: boolean;
}

/**
 * The delivery of a call by batches; null: its requests are sent at once; or the reason why it
 * cannot be made.
 */
export async function deliveryOf(
  session: CallingSession,
  models: Models,
  asked: Asked,
  { isAgain, signal }: Pick<CallContext, "isAgain" | "signal">,
): Promise<ByBatch | SubCallError | null> {
  const { store, clock } = session.env;
  // The request that is out answers the call, whatever was asked for since.
  const earlier = isAgain ? await store.batches.ofCall(session.row.id, asked.id) : [];
  const isWanted = (asked.request.delivery ?? session.options.delivery) === "batch" && !isOfQuery(session);
  if (!isWanted && earlier.length === 0) return null;
  const sent = earlier.find(({ state }) => state !== "waiting");
  const model = sent?.model ?? asked.request.model ?? null;
  const found = resolved(models, model);
  // Asking a model that is not known says so.
  if ("code" in found && !sent) return null;
  const flaw = "code" in found ? found : sent ? unreachable(found) : refusalOf(session, asked, found);
  // Its answer is paid for: the call waits until the process has what it needs.
  if (sent && flaw) await session.suspension.wait(asked.id, { why: "trouble", error: flaw, model: sent.model }, signal);
  if (flaw) return flaw;
  session.deliveries.add(asked.id);
  let last: BatchRequest | undefined;
  return {
    model,
    post: (k) => async (request, ended) => {
      const { root } = session;
      const { account, ...posted } = request;
      const of = { session: session.row.id, call: asked.id, k, root: root.session, run: root.run, ...posted };
      const proof = proofOfRequest(account, of, JSON.stringify(of.body));
      const kept = store.batches.keep({ ...of, account: account.id, proof }); // ▣ the request
      last = await kept.catch(() => undefined);
      if (last?.answer) return answerOf(last.answer);
      const parked = last ? DELIVERY : STORE_FAILED;
      await session.suspension.wait(asked.id, parked, ended);
      throw signal.reason;
    },
    delivered() {
      if (!last?.batch || last.sent_at === null) return {};
      const waited_ms = Math.max(0, Math.round(clock.now() - last.sent_at));
      return { delivery: { by: "batch", batch: last.batch, waited_ms }, sent_at: last.sent_at };
    },
  };
}

const NOT_KEPT = "delivery by provider batch needs a session that is kept, and a host that comes back for the answers";
const DELIVERY = { why: "delivery" } as const;
const STORE_FAILED = { why: "store_failed", afterMs: null } as const;

/** The calls of a query are sent at once: a person waits for it. */
const isOfQuery = ({ state }: CallingSession) => state().account.last?.start.kind === "query";

function refusalOf({ root }: CallingSession, { isRepeatable }: Asked, model: Model): SubCallError | null {
  const refused = (message: string, suggestion: string) => failure("policy_violation", message, { suggestion });
  if (!root.comesBack) {
    return refused(NOT_KEPT, 'Keep the session, or pass delivery: "now" in the call.');
  }
  if (!isRepeatable) {
    const why = "a tool with side effects cannot be used in a call by provider batch: it would run again in each wave";
    return refused(why, 'Leave the tool out, or pass delivery: "now".');
  }
  if (model.batchAccount) return null;
  return refused(
    `${model.id}: Belay has no batches of this provider`,
    `${firstly("sendNow")}, or pass delivery: "now" in the call.`,
  );
}

/** The reason why a row of a model cannot be read here: the flags of its server are missing. */
const unreachable = ({ id, batchAccount }: Model): SubCallError | null =>
  batchAccount ? null : failure("no_model_configured", `${id} has no provider batches here`);

/** A model by its name; or why it cannot be asked, such as a key that is missing. */
function resolved(models: Models, model: string | null): Model | SubCallError {
  try {
    return models.resolve(model);
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return failure("no_model_configured", error.message, { suggestion: error.suggestion });
  }
}

const Failure = v.object({ code: v.string(), message: v.string(), suggestion: v.string(), retriable: v.boolean() });

/**
 * The row as the model takes it. With the status 0 the store has kept a failure that no server has
 * sent.
 */
function answerOf({ status, body }: BatchAnswer) {
  if (status !== 0) return { status, body };
  const { code, message, ...cure } = v.parse(Failure, body);
  return { failure: failure(isFailureCode(code) ? code : "provider_error", message, cure) };
}
