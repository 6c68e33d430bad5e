type SubCallLayer = typeof import("./layer.ts");

let loading: Promise<SubCallLayer> | undefined;

/**
 * Loads what answers sub-calls, with the first call: a session that makes none does not wait for
 * it. The promise is kept, since a loader like jiti gives an empty module to a second import during
 * the first one.
 */
export function loadSubCallLayer(): Promise<SubCallLayer> {
  loading ??= import("./layer.ts");
  return loading;
}
