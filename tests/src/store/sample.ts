import { createHash } from "node:crypto";
import {
  applyPart,
  countPages,
  type ImageMeta,
  type ImagePages,
  openChanges,
  PAGE_BYTES,
} from "../../../runtime/index.ts";
import type { NewCheckpoint, NewSession, PartInRows, StoredContext, StoredRecord } from "../../../src/store/port.ts";
import { unpacked } from "../../support/unpacked.ts";

/** Bytes of linear memory of the sample's images: 64 pages. */
const LINEAR_BYTES = 64 * PAGE_BYTES;

/** Changes of pages with these numbers, each full of bytes that follow from its number and the seed. */
export function pagesOf(numbers: readonly number[], seed: number): ImagePages {
  const changes = openChanges();
  const zero = new Int32Array(PAGE_BYTES / 4);
  for (const page of numbers) {
    const bytes = new Uint8Array(PAGE_BYTES).map((_, at) => (page * 31 + seed * 7 + (at >> 3)) % 251);
    changes.add(page, zero, 0, new Int32Array(bytes.buffer), 0);
  }
  return changes.flush();
}

/** Memory to which these changes were made, one after the other. */
export function memoryOf(...all: readonly ImagePages[]): Uint8Array {
  return changed(new Uint8Array(LINEAR_BYTES), ...all);
}

/** The memory, with these changes made in it. */
export function changed(memory: Uint8Array, ...all: readonly ImagePages[]): Uint8Array {
  for (const part of all.flat()) applyPart(memory, unpacked(part));
  return memory;
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

export const META: ImageMeta = {
  gate: { format: 1, wasm: "w".repeat(64), bridge: 1 },
  prelude: "p".repeat(64),
  linearBytes: LINEAR_BYTES,
  stackPointer: 1,
  runtimePtr: 2,
  contextPtr: 3,
  entries: { enter: 1, finish: 2, failed: 3, describe: 4, inject: 5, rejected: 6, blank: 7 },
  granted: 0,
  texts: [],
};

export function checkpointOf(id: string, fields: Partial<NewCheckpoint> & Pick<NewCheckpoint, "pages">): NewCheckpoint {
  return {
    id,
    parent: null,
    base: null,
    exec_id: "E1",
    kind: "step",
    meta: META,
    chain: { length: 0, bytes: countPages(fields.pages) * PAGE_BYTES },
    extras: extrasOf(id),
    at: 10,
    ...fields,
  };
}

/** What a step keeps beside its image, with something of its own. */
export function extrasOf(output: string): NewCheckpoint["extras"] {
  const printed = { stdout: output, stderr: "", bytes: output.length, truncated: false };
  const state = { exec_id: "E1", cell: 1, limits: {}, output: printed, warnings: [], running_ms: 0, next_call: 1 };
  return { kind: "step", state, waiting: [], elapsed_ms: 0 };
}

export function recordOf(exec_id: string, at: number, more: Record<string, string> = {}): StoredRecord {
  const call = { call_id: "c", checkpoint_id: null, name: "llm_query", args: [], args_hash: "h" };
  const made = { call_count: 1, output_bytes: 0 };
  return { record: "rlm_tool_call", exec_id, at, ...call, ...made, ...more };
}

export function sessionOf(id: string, fields: Partial<NewSession> = {}): NewSession {
  return { id, name: null, origin: "library", settings: { model: "local/scripted" }, at: 1, ...fields };
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const INDEX = {
  ...{ documents: [{ id: "a.txt", path: "/a", start: 0, end: 1, size: 1 }], routes: [], skips: [] },
  stats: { length_chars: 1, sources: ["/a"], context_hash: "h" },
};

/** A small context. */
interface ContextInRows extends StoredContext {
  readonly parts: readonly PartInRows[];
}

/** A context of these parts, in shared memory as the session has them. */
export function contextOf(...texts: readonly string[]): ContextInRows {
  const parts = texts.map((text) => {
    const bytes = new Uint8Array(new SharedArrayBuffer(Buffer.byteLength(text)));
    bytes.set(Buffer.from(text));
    return { hash: sha256(bytes), bytes };
  });
  return { key: sha256(Buffer.from(texts.join(""))), parts, index: INDEX };
}

/** What the store gives, without the difference between a view of shared and of own memory. */
export function plain({ parts, ...rest }: StoredContext) {
  const shown = parts.map((part) =>
    "bytes" in part ? { hash: part.hash, text: Buffer.from(part.bytes).toString() } : part,
  );
  return { ...rest, parts: shown };
}

/** Texts of some KB, all different. */
export const TEXTS: readonly string[] = Array.from({ length: 60 }, (_, n) => `text ${n}\n`.repeat(500));
