import { defineBuiltin, integer } from "./define.ts";

export const peek = defineBuiltin({
  name: "peek",
  signature: "function peek(start: number, end: number): string",
  summary: "Characters start..end of P (UTF-16 units, clamped to P).",
  example: "peek(0, 200)",
  errors: { context_not_loaded: "no context is loaded", js_error: "an offset is not an integer" },
  params: { start: integer, end: integer },
  run: (services, { start, end }) => services.context().slice(start, end),
});
