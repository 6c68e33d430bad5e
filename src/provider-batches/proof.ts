import type { Json } from "../../runtime/index.ts";
import type { BatchAccount } from "../models/index.ts";
import { isRecord, parseJson } from "../platform/json.ts";
import type { ProviderBatch, RequestToSend } from "../store/index.ts";

// Rows of a store may come from another user. Only what an owner of a key has written is sent with
// that key.

/** A request that is kept, and who waits for its answer. */
type Asked = Pick<RequestToSend, "session" | "call" | "k" | "root" | "run" | "model">;

/** @param body JSON, as the store keeps it */
export function proofOfRequest({ prove }: Pick<BatchAccount, "prove">, asked: Asked, body: string): string {
  const { session, call, k, root, run, model } = asked;
  return prove(["request", session, call, k, root, run, model, body]);
}

/**
 * The body of a request as it is sent, in one line; null: no owner of the key has asked for it, or
 * it asks another model.
 */
export function provenBody(account: BatchAccount, { model }: ProviderBatch, request: RequestToSend): string | null {
  if (request.model !== model || proofOfRequest(account, request, request.body) !== request.proof) return null;
  const body: Json | undefined = parseJson(request.body);
  const isOfModel = isRecord(body) && (body.model ?? account.model) === account.model;
  return isOfModel ? JSON.stringify(body) : null;
}

/** State and names of a batch at its provider, which are proven together. */
type Named = Pick<ProviderBatch, "id" | "model" | "state" | "file" | "batch"> & { readonly isAsked: boolean };

export function proofOfNames({ prove }: Pick<BatchAccount, "prove">, named: Named): string {
  const { id, model, state, file, batch, isAsked } = named;
  return prove(["batch", id, model, state, file, batch, isAsked]);
}

/**
 * True if a batch was not sent, or an owner of this key has written what the provider has of it.
 */
export function isProven(account: BatchAccount, batch: ProviderBatch): boolean {
  const { state, file, batch: name, asked_at, proof } = batch;
  const isAsked = asked_at !== null;
  if (state === "closed" && file === null && name === null && !isAsked) return true;
  return proof === proofOfNames(account, { ...batch, isAsked });
}
