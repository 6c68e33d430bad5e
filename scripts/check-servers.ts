import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../src/platform/errors.ts";
import { rowsRight } from "./servers/labelled-rows.ts";
import { findLlama, type Llama, startServer } from "./servers/llama.ts";
import { SERVER_SCENES, TEMPLATE_SCENES } from "./servers/scenes.ts";
import { recordRequests, refusedRequests } from "./servers/templates.ts";
import { writeTinyModel } from "./servers/tiny-model.ts";

// The command over a real llama-server. Its model has random weights: what it says is noise, and streams, slots, grammars, windows,
// parsers of calls and chat templates are real. The server is built once, in some minutes.
// Usage: npm run verify -- servers [TEMPLATE]... (default: eight of them, and the scenes of the server). --templates renders the
// requests of asks and sub-calls under all chat templates; --rows labels 60 rows with a model of real weights, by Python's pip.

/**
 * Parts of names of chat templates under which the server holds noise to a schema. Under those of gpt-oss and Kimi it does so only
 * behind tokens that a model of random weights never says.
 */
const TEMPLATES = [
  "Hermes-3",
  "Qwen3-0.6B",
  "Llama-3.1-8B",
  "GLM-4.6",
  "Mistral-Nemo",
  "gemma-4-31B-it.",
  "Qwen3-Coder",
  "granite-4.0",
];

const { values, positionals } = parseArgs({
  options: { templates: { type: "boolean" }, rows: { type: "boolean" } },
  allowPositionals: true,
});
const folder = await mkdtemp(join(tmpdir(), "belay-servers-"));
try {
  const llama = await findLlama();
  if (values.templates) await checkTemplates(llama, positionals);
  else if (values.rows) console.log(await rowsRight(llama, folder));
  else await checkScenes(llama, positionals.length > 0 ? positionals : TEMPLATES, positionals.length === 0);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The path of each chat template whose name has one of these parts. */
async function templatesOf({ models }: Llama, parts: readonly string[]): Promise<readonly string[]> {
  const names = (await readdir(join(models, "templates"))).filter((name) => name.endsWith(".jinja"));
  const asked = parts.length === 0 ? names : names.filter((name) => parts.some((part) => name.includes(part)));
  return asked.map((name) => join(models, "templates", name));
}

async function writeModel({ models }: Llama, template: string, context: number): Promise<string> {
  const path = join(folder, "model.gguf");
  const vocabulary = join(models, "ggml-vocab-llama-bpe.gguf");
  await writeTinyModel(path, { vocabulary, template: await readFile(template, "utf8"), context });
  return path;
}

async function checkScenes(llama: Llama, parts: readonly string[], withServer: boolean): Promise<void> {
  for (const [index, template] of (await templatesOf(llama, parts)).entries()) {
    const model = await writeModel(llama, template, 8192);
    const scenes = { ...TEMPLATE_SCENES, ...(withServer && index === 0 ? SERVER_SCENES : {}) };
    for (const [name, scene] of Object.entries(scenes)) {
      await using server = await startServer(llama, { model, context: 8192, slots: 4 });
      const own = await mkdtemp(join(folder, "scene-"));
      await said(`${shortName(template)}: ${name}`, scene({ llama, model, server, folder: own }));
    }
  }
}

async function checkTemplates(llama: Llama, parts: readonly string[]): Promise<void> {
  const place = join(folder, "requests");
  await mkdir(place);
  const requests = await recordRequests(place);
  let refused = 0;
  const templates = await templatesOf(llama, parts);
  for (const template of templates) {
    const model = await writeModel(llama, template, 512);
    await using server = await startServer(llama, { model, context: 512, slots: 1 });
    const reasons = await refusedRequests(server, requests);
    refused += reasons.length;
    console.log(`${shortName(template)}: ${requests.length - reasons.length} of ${requests.length}`);
    for (const reason of new Set(reasons)) console.log(`    ${reason}`);
  }
  const all = templates.length * requests.length;
  console.log(`${all - refused} of ${all} requests are taken`);
}

function shortName(template: string): string {
  return template.replace(/^.*\//, "").replace(/\.jinja$/, "");
}

async function said(name: string, seen: Promise<string>): Promise<void> {
  try {
    console.log(`${name}: ${await seen}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`${name}: FAILED, ${messageOf(error)}`);
  }
}
