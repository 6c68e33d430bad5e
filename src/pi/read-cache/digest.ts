import { hash } from "node:crypto";

/** SHA-256 of a text's UTF-8 or of bytes, 64 hex digits: what a file is known by. */
export function sha256(content: string | Uint8Array): string {
  return hash("sha256", content);
}

/** Half of it, for what is only compared. */
export function digest(text: string): string {
  return sha256(text).slice(0, 32);
}
