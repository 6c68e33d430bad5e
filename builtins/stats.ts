import { defineBuiltin } from "./define.ts";

export const stats = defineBuiltin({
  name: "stats",
  signature: "function stats(): Stats",
  summary: "Size and identity of the context. `tokens` is an estimate (chars / 4).",
  example: "stats()",
  errors: { context_not_loaded: "no context is loaded" },
  types: `interface Stats {
  chars: number;
  tokens: number;
  lines: number;
  docs: number;
  sources: string[];
  /** sha256 of P's UTF-8, hex. */
  context_hash: string;
}`,
  params: {},
  run(services) {
    const context = services.context();
    return {
      chars: context.length,
      tokens: Math.floor(context.length / 4),
      lines: context.lines,
      docs: context.documents.length,
      sources: context.sources,
      context_hash: context.hash,
    };
  },
});
