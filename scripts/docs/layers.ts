import { globSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import * as v from "valibot";
import { ROOT } from "../process.ts";

const LayersSchema = v.object({
  folders: v.record(v.string(), v.array(v.string())),
  packages: v.record(v.string(), v.array(v.string())),
});

type Layers = v.InferOutput<typeof LayersSchema>;

/** Layers whose own files import each other freely stand in folders; the files of this one stand beside other layers. */
const ENTRY = "src";

/** `biome.layers.jsonc`: what `layers.json` says, as the linter reads it. */
export function layersFile(): string {
  const layers = v.parse(LayersSchema, JSON.parse(readFileSync(join(ROOT, "layers.json"), "utf8")));
  const overrides = Object.keys(layers.folders).flatMap((folder) => overridesOf(folder, layers));
  const lines = overrides.map((override) => `    ${JSON.stringify(override)}`).join(",\n");
  return `// Generated from layers.json by \`npm run docs\`: do not edit.
{
  "$schema": "./node_modules/@biomejs/biome/configuration_schema.json",
  "overrides": [
${lines}
  ]
}
`;
}

/** The linter takes the last entry that fits a file, whole: the owners of packages stand after their layer. */
function overridesOf(folder: string, { folders, packages }: Layers): object[] {
  const files = globSync(folder === ENTRY ? `${folder}/*.ts` : `${folder}/**/*.{ts,js}`, { cwd: ROOT });
  const depths = [...new Set(files.map(depthOf))].sort();
  const owners = Object.values(packages)
    .flat()
    .filter((glob) => !glob.endsWith("/**") && layerOf(glob, folders) === folder);
  return [
    ...depths.map((depth) => entry(`${folder}${"/*".repeat(depth - depthOf(folder))}`, folder, depth)),
    ...[...new Set(owners)].map((glob) => entry(glob, folder, depthOf(glob))),
  ];

  function entry(includes: string, layer: string, depth: number): object {
    const patterns = [importsOf(layer, folders, depth), foreignTo(includes, packages)];
    return {
      includes: [includes],
      linter: { rules: { style: { noRestrictedImports: { level: "error", options: { patterns } } } } },
    };
  }
}

/** Number of `/` in a path: how many `../` lead from a file to the root of the checkout. */
const depthOf = (path: string) => path.split("/").length - 1;

/** The layer with the longest name that a path begins with. */
function layerOf(path: string, folders: Layers["folders"]): string | undefined {
  const fitting = Object.keys(folders).filter((folder) => path.startsWith(`${folder}/`));
  return fitting.sort((a, b) => b.length - a.length)[0];
}

/** What leads out of a layer is refused, except to what it knows. */
function importsOf(layer: string, folders: Layers["folders"], depth: number) {
  const known = folders[layer] ?? [];
  const out = layer === ENTRY ? ["../**", "./*/**"] : [`${"../".repeat(depth - depthOf(layer))}**`];
  return {
    group: [...out, ...known.map((path) => `!${specifier(layer, path, depth)}`)],
    message: `${layer}/ may import ${known.length > 0 ? known.join(", ") : "no other layer"} (layers.json).`,
  };
}

/** How a file at this depth of a layer names another one. */
function specifier(layer: string, path: string, depth: number): string {
  const isBelow = layer.startsWith(ENTRY) && path.startsWith(`${ENTRY}/`);
  if (!isBelow) return "../".repeat(depth) + path;
  return ("../".repeat(depth - 1) || "./") + path.slice(ENTRY.length + 1);
}

/** The packages that only other places import. */
function foreignTo(includes: string, packages: Layers["packages"]) {
  const foreign = Object.entries(packages).filter(
    ([, owners]) => !owners.some((owner) => owner === includes || matchesGlob(includes, owner)),
  );
  return {
    group: foreign.flatMap(([name]) => (name.endsWith("*") ? [`${name}*`] : [name, `${name}/**`])),
    message: "Another place imports this package: see layers.json.",
  };
}
