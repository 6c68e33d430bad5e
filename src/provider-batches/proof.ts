import type { Json } from "../../runtime/index.ts";
import type { BatchAccount } from "../models/index.ts";
import { isRecord, parseJson } from "../platform/json.ts";
import type { ParcelRequest, Shipment } from "../store/index.ts";

// Rows of a store may be somebody else's. What is sent with a key is what somebody with that key has written.

/** A request for which a parcel is kept, and who waits for its answer. */
type Asked = Pick<ParcelRequest, "session" | "call" | "k" | "root" | "run" | "model">;

/** @param body JSON, as the store keeps it */
export function proofOfParcel({ prove }: Pick<BatchAccount, "prove">, asked: Asked, body: string): string {
  const { session, call, k, root, run, model } = asked;
  return prove(["parcel", session, call, k, root, run, model, body]);
}

/** The body of a request as it is sent, in one line; null: no owner of the key has asked for it, or it asks another model. */
export function provenBody(account: BatchAccount, { model }: Shipment, request: ParcelRequest): string | null {
  if (request.model !== model || proofOfParcel(account, request, request.body) !== request.proof) return null;
  const body: Json | undefined = parseJson(request.body);
  const isOfModel = isRecord(body) && (body.model ?? account.model) === account.model;
  return isOfModel ? JSON.stringify(body) : null;
}

/** State and names of a shipment at its provider, which are proven together. */
type Named = Pick<Shipment, "id" | "model" | "state" | "file" | "batch"> & { readonly isAsked: boolean };

export function proofOfNames({ prove }: Pick<BatchAccount, "prove">, named: Named): string {
  const { id, model, state, file, batch, isAsked } = named;
  return prove(["shipment", id, model, state, file, batch, isAsked]);
}

/** True if a shipment has not left, or somebody with this key has written what the provider has of it. */
export function isProven(account: BatchAccount, shipment: Shipment): boolean {
  const { state, file, batch, asked_at, proof } = shipment;
  const isAsked = asked_at !== null;
  if (state === "closed" && file === null && batch === null && !isAsked) return true;
  return proof === proofOfNames(account, { ...shipment, isAsked });
}
