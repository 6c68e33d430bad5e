import { createHmac, timingSafeEqual } from "node:crypto";
import type { Json } from "../../runtime/index.ts";
import { parseJson } from "./json.ts";

/** A value as a text for headers that only those who have the secret can make. Anybody can read it. @param of what it holds for */
export function sealed(secret: string, of: string, value: Json): string {
  const body = Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${body}.${macOf(secret, of, body)}`;
}

/** The value of a text; undefined if it was not sealed with this secret for this. */
export function unsealed(secret: string, of: string, text: string): unknown {
  const [body = "", mac = ""] = text.split(".");
  const [given, own] = [Buffer.from(mac), Buffer.from(macOf(secret, of, body))];
  if (text !== `${body}.${mac}` || given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
  return parseJson(Buffer.from(body, "base64url").toString());
}

function macOf(secret: string, of: string, body: string): string {
  return createHmac("sha256", secret)
    .update(JSON.stringify([of, body]))
    .digest("base64url");
}
