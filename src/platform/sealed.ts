import { createHmac, timingSafeEqual } from "node:crypto";
import type { Json } from "../../runtime/index.ts";
import { parseJson } from "./json.ts";

/** A value as a text for headers that only those who have the secret can make. Anybody can read it. @param of what it holds for */
export function sealed(secret: string, of: string, value: Json): string {
  const body = Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${body}.${macOf(secret, [of, body])}`;
}

/** The value of a text; undefined if it was not sealed with this secret for this. */
export function unsealed(secret: string, of: string, text: string): unknown {
  const [body = "", mac = ""] = text.split(".");
  if (text !== `${body}.${mac}` || !isSame(mac, macOf(secret, [of, body]))) return undefined;
  return parseJson(Buffer.from(body, "base64url").toString());
}

/** A text that only those who have the secret can make of these facts. */
export function macOf(secret: string | Buffer, facts: readonly Json[]): string {
  return createHmac("sha256", secret).update(JSON.stringify(facts)).digest("hex");
}

/** True if the texts are the same. The time tells nothing of where they differ. */
export function isSame(one: string, other: string): boolean {
  const a = Buffer.from(one);
  const b = Buffer.from(other);
  return a.length === b.length && timingSafeEqual(a, b);
}
