import type { Json } from "../../../runtime/index.ts";
import { isRecord } from "../../platform/json.ts";
import type { ModelRequest } from "../port.ts";

const NAMES = ["temperature", "top_p", "seed", "stop"] as const;
type Name = (typeof NAMES)[number];

/**
 * A parameter as a model refuses it: `seed` is refused with every value, `seed=7` with this one,
 * `top_p beside temperature` only together, and `top_p while it thinks` only then.
 */
export type ParameterPart = `${Name}${string}`;
const BOTH = "top_p beside temperature";

/** The place of a parameter in the body of an API. */
interface Place {
  readonly at: string;
  /** True if the API takes the value. Absent: it takes each. */
  takes?(value: Value, isThinking: boolean): boolean;
}

type Value = number | readonly string[];

const INT32 = 2 ** 31;

/** The values that models of Anthropic take. */
const cool = (value: Value, isThinking: boolean) => (isThinking ? value === 1 : Number(value) <= 1);
const wide = (value: Value, isThinking: boolean) => !isThinking || Number(value) >= 0.95;
const hasWords = (value: Value) => typeof value === "object" && value.every((text) => text.trim() !== "");

const CHAT: Places = { temperature: { at: "temperature" }, top_p: { at: "top_p" } };
const GOOGLE: Places = {
  temperature: { at: "config.temperature" },
  top_p: { at: "config.topP" },
  seed: { at: "config.seed", takes: (seed) => Number(seed) >= -INT32 && Number(seed) < INT32 },
  stop: { at: "config.stopSequences" },
};

type Places = { readonly [name in Name]?: Place };

/** The places of parameters by API. What is absent the API does not have. */
const PLACES: Readonly<Record<string, Places>> = {
  "openai-completions": { ...CHAT, seed: { at: "seed" }, stop: { at: "stop" } },
  "openai-responses": CHAT,
  "azure-openai-responses": CHAT,
  "anthropic-messages": {
    temperature: { at: "temperature", takes: cool },
    top_p: { at: "top_p", takes: wide },
    stop: { at: "stop_sequences", takes: hasWords },
  },
  "google-generative-ai": GOOGLE,
  "google-vertex": GOOGLE,
  "mistral-conversations": {
    temperature: { at: "temperature", takes: (value) => Number(value) <= 1.5 },
    top_p: { at: "topP" },
    seed: { at: "randomSeed", takes: (seed) => Number(seed) >= 0 },
    stop: { at: "stop" },
  },
  "bedrock-converse-stream": {
    temperature: { at: "inferenceConfig.temperature", takes: cool },
    top_p: { at: "inferenceConfig.topP", takes: wide },
    stop: { at: "inferenceConfig.stopSequences" },
  },
};

/** The parameters of a request as its API has them. */
interface PlacedParameters {
  /** Values by their places in the body. */
  readonly fields: { readonly [place: string]: Json };
  /** The parts that the model may refuse. */
  readonly parts: readonly ParameterPart[];
  /**
   * Names of those that are left out: the API does not have them, or the model has refused them.
   */
  readonly ignored: readonly Name[];
}

/** Places a request's parameters in the body that pi-ai has written. */
export function placedParameters(
  api: string,
  body: Readonly<Record<string, unknown>>,
  { sampling = {}, thinking = "off" }: Pick<ModelRequest, "sampling" | "thinking">,
  refused: ReadonlySet<string>,
): PlacedParameters {
  const fields: { [place: string]: Json } = {};
  const parts: ParameterPart[] = [];
  const ignored: Name[] = [];
  for (const name of NAMES) {
    const value = sampling[name];
    if (value === undefined) continue;
    const part: ParameterPart = thinking === "off" ? name : `${name} while it thinks`;
    const own: ParameterPart[] = [part, `${part}=${value}`];
    if (name === "top_p" && parts.some((one) => one.startsWith("temperature"))) own.push(BOTH);
    const place = PLACES[api]?.[name];
    const isRefused = own.some((one) => refused.has(one));
    if (!place || isRefused || place.takes?.(value, isThinking(body)) === false) ignored.push(name);
    else {
      fields[place.at] = typeof value === "object" ? [...value] : value;
      parts.push(...own);
    }
  }
  return { fields, parts, ignored };
}

/**
 * True for a body that asks a model of Anthropic to think. In that of Bedrock the field stands
 * deeper.
 */
function isThinking({ thinking, additionalModelRequestFields: more }: Readonly<Record<string, unknown>>): boolean {
  const given = isRecord(more) ? more.thinking : thinking;
  return isRecord(given) && given.type !== "disabled";
}

/** The names of parameters in refusals, by all APIs. */
const WORDS: Readonly<Record<Name, RegExp>> = {
  temperature: /\btemperature\b/i,
  top_p: /\btop_?p\b/i,
  seed: /\b(?:random_?)?seed\b/i,
  stop: /\bstop(?:[_ ]?sequences?)?\b/i,
};
/** Words of servers that refuse something. */
const REFUSING: readonly RegExp[] = [
  /un(?:supported|recognized|known|expected)|not (?:be )?(?:support|permit|allow|accept|available|compatible)/i,
  /n't support|(?:does|do|may|can) ?not|extra (?:inputs|fields)|only|deprecated|invalid|must|should|range|between/i,
];
const IS_PAIR = /\bboth\b|\beither\b|only one|mutually/i;
/** The refusal is of the value. */
const OF_VALUE = /\brange\b|between|less than|greater than|at most|at least|maximum|minimum|exceed/i;

/**
 * The part that a refusal in these words is about: of what is named first. undefined: it is about
 * something else.
 */
export function refusedParameter(said: string, parts: readonly ParameterPart[]): ParameterPart | undefined {
  if (!REFUSING.some((words) => words.test(said))) return undefined;
  const named = NAMES.map((name) => ({ name, at: said.search(WORDS[name]) }))
    .filter(({ name, at }) => at >= 0 && parts.some((part) => part.startsWith(name)))
    .toSorted((one, other) => one.at - other.at);
  const [first, second] = named;
  if (first === undefined) return undefined;
  if (second && IS_PAIR.test(said) && parts.includes(BOTH)) return BOTH;
  const [part, withValue] = parts.filter((one) => one.startsWith(first.name));
  return OF_VALUE.test(said) ? withValue : part;
}
