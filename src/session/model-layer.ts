type ModelLayer = typeof import("../model/index.ts");

let loading: Promise<ModelLayer> | undefined;

/**
 * The model layer, loaded with the first call: sessions that make none do not wait for it. Once: where modules go through a
 * loader like jiti, a second import during the first one gets an empty module.
 */
export function loadModelLayer(): Promise<ModelLayer> {
  loading ??= import("../model/index.ts");
  return loading;
}
