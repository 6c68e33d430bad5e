/** The end of a model, as its provider has announced it. */
export interface ModelEnd {
  /** The day, `YYYY-MM-DD`. */
  readonly date: string;
  /** The replacement that the provider names, `provider/id`. */
  readonly successor: string;
  /** The page that says so. */
  readonly source: string;
}

const ends = (date: string, successor: string, source: string): ModelEnd => ({ date, successor, source });

const ANTHROPIC = "https://platform.claude.com/docs/en/about-claude/model-deprecations";
const OPENAI = "https://developers.openai.com/api/docs/deprecations";
const GOOGLE = "https://ai.google.dev/gemini-api/docs/deprecations";

/**
 * Announced ends, read in November 2026. Dated versions end with their model, unless they have an
 * entry of their own. Other hosts of the same models (Bedrock, Vertex, Azure) have dates of their
 * own.
 */
const ENDS: ReadonlyMap<string, ModelEnd> = new Map([
  ["openai/gpt-4", ends("2026-10-23", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/gpt-4-turbo", ends("2026-10-23", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/gpt-4o-2024-05-13", ends("2026-10-23", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/o1", ends("2026-10-23", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/o1-pro", ends("2026-10-23", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/o3-mini", ends("2026-10-23", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/o4-mini", ends("2026-10-23", "openai/gpt-5.6-terra", OPENAI)],
  ["openai/gpt-4.1-nano", ends("2026-10-23", "openai/gpt-5.6-luna", OPENAI)],
  ["anthropic/claude-sonnet-4-5", ends("2026-11-30", "anthropic/claude-sonnet-5-5", ANTHROPIC)],
  ["google/gemini-2.5-pro", ends("2026-12-01", "google/gemini-3.8-flash", GOOGLE)],
  ["google/gemini-2.5-flash", ends("2026-12-01", "google/gemini-3.5-flash-lite", GOOGLE)],
  ["openai/gpt-5", ends("2026-12-11", "openai/gpt-6.1-sol", OPENAI)],
  ["openai/gpt-5-mini", ends("2026-12-11", "openai/gpt-6.1-terra", OPENAI)],
  ["openai/gpt-5-nano", ends("2026-12-11", "openai/gpt-5.6-luna", OPENAI)],
  ["openai/gpt-5-pro", ends("2026-12-11", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/o3", ends("2026-12-11", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/o3-pro", ends("2026-12-11", "openai/gpt-5.6-sol", OPENAI)],
  ["openai/gpt-4o", ends("2027-01-14", "openai/gpt-6-luna", OPENAI)],
  ["openai/gpt-4o-mini", ends("2027-01-14", "openai/gpt-6-luna", OPENAI)],
  ["openai/gpt-4.1", ends("2027-01-14", "openai/gpt-6-luna", OPENAI)],
  ["openai/gpt-4.1-mini", ends("2027-01-14", "openai/gpt-6-luna", OPENAI)],
]);

/** The version that some names end with: `-20250929`, `-2025-08-07`. */
const DATED = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/;

/** The end that the provider has announced for a model, `provider/id`. */
export function endOf(model: string): ModelEnd | undefined {
  return ENDS.get(model) ?? ENDS.get(model.replace(DATED, ""));
}

const DAY_MS = 86_400_000;
const WARNED_MS = 60 * DAY_MS;

/**
 * Says that a model has ended or soon ends, and what its provider names in its place; null if it
 * does neither, or if there is no model. The model is asked all the same: its provider decides.
 *
 * @param now ms since 1970
 */
export function endSentence(model: string | null = null, now = Date.now()): string | null {
  const announced = endOf(model ?? "");
  if (!announced) return null;
  const { date, successor, source } = announced;
  const left = Date.parse(date) + DAY_MS - now;
  if (left > WARNED_MS) return null;
  if (left > 0) return `${model} ends on ${date}, and its provider names ${successor} as the successor (${source})`;
  return `${model} ended on ${date}, and its provider may refuse it: ask its successor ${successor} (${source})`;
}
