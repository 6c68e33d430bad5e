import type { Json } from "../../../runtime/index.ts";

export interface JsonObject {
  readonly [name: string]: Json;
}

export function isJsonObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The target of a local reference (`#`, `#/$defs/NAME`, RFC 6901); undefined if it has none. */
export function pointed(root: Json, reference: string): Json | undefined {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  let at: Json | undefined = root;
  for (const token of reference.split("/").slice(1)) {
    const name = decoded(token).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
