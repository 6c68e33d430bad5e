import type { Json } from "../../../runtime/index.ts";

// The folder that a server's session belongs to is kept with its settings, under the same signature.

export function withFolder(settings: Json, folder: string): Json {
  return { ...JSON.parse(JSON.stringify(settings)), folder };
}

export function folderIn(settings: Json): string | null {
  const folder: unknown = typeof settings === "object" && settings !== null ? Reflect.get(settings, "folder") : null;
  return typeof folder === "string" ? folder : null;
}
