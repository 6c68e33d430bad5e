import type { Api, Model as PiModel } from "belay-pi-ai";
import type { Json } from "../../../runtime/index.ts";
import type { ModelRequest } from "../port.ts";
import { type NativeRules, nativeSchema } from "../schema/native.ts";

/** A model as its requests are shaped for it. */
export interface AskedModel {
  readonly model: PiModel<Api>;
  /** The address of the model came from --base-url. */
  readonly isNamed: boolean;
  /** Parts of requests that the user has taken away: `schema`, `cache`. */
  readonly leavesOut: readonly string[];
}

/**
 * A schema as a part that a server may refuse. Servers refuse some schemas and take others, so it
 * is a part by its text.
 */
export type FormPart = "schema" | `schema ${string}` | "schema beside tools" | "schema of no object";

/** The form that a request asks for. */
interface Form {
  readonly fields: { readonly [place: string]: Json };
  readonly part: FormPart;
  readonly tools: ModelRequest["tools"];
  readonly isRefused: boolean;
  /** It is not asked for as long as the request has its tools. */
  readonly waits: boolean;
}

/** The form of a request's answer; null: the API has none, or the schema has no such form. */
export function formOf(asked: AskedModel, request: ModelRequest, refused: ReadonlySet<string>): Form | null {
  const { model, isNamed, leavesOut } = asked;
  const { schema, tools, mayDropTools } = request;
  const api = FORMS[model.api];
  if (!api || schema === undefined || leavesOut.includes("schema")) return null;
  const isBeside = tools.length > 0 && api.takesTools(model);
  const waits = tools.length > 0 && !isBeside && !mayDropTools;
  const native = nativeSchema(schema, { ...api, takesPlain: isNamed });
  if (native === null) return null;
  const ofSchema = native.type === "object" ? (`schema ${JSON.stringify(native)}` as const) : "schema of no object";
  const part = isBeside ? "schema beside tools" : ofSchema;
  const isRefused = refused.has("schema") || refused.has(ofSchema) || refused.has(part);
  const keepsTools = isBeside || isRefused || waits;
  return { fields: api.fields(native), part, tools: keepsTools ? tools : [], isRefused, waits };
}

/** The way of an API to ask for the form of an answer. */
interface FormApi extends Omit<NativeRules, "takesPlain"> {
  /** The fields of the body, by their places in it. */
  fields(schema: Json): { readonly [place: string]: Json };
  /** True if the model can call tools while its text is kept to a schema. */
  takesTools(model: PiModel<Api>): boolean;
}

const named = (schema: Json) => ({ name: "answer", strict: true, schema });

/**
 * Servers that imitate OpenAI's keep every reply to the schema, so that their models could call no
 * tool.
 */
const CHAT: FormApi = {
  requiresAll: true,
  isClosed: true,
  fields: (schema) => ({ response_format: { type: "json_schema", json_schema: named(schema) } }),
  takesTools: ({ baseUrl }) => /(?:^|\.)openai\.(?:azure\.)?com$/.test(URL.parse(baseUrl)?.hostname ?? ""),
};
const RESPONSES: FormApi = {
  requiresAll: true,
  isClosed: true,
  fields: (schema) => ({ "text.format": { type: "json_schema", ...named(schema) } }),
  takesTools: () => true,
};
const ANTHROPIC: FormApi = {
  requiresAll: false,
  isClosed: true,
  fields: (schema) => ({ "output_config.format": { type: "json_schema", schema } }),
  takesTools: () => true,
};
const GOOGLE: FormApi = {
  requiresAll: false,
  isClosed: false,
  fields: (schema) => ({ "config.responseMimeType": "application/json", "config.responseJsonSchema": schema }),
  takesTools: ({ id }) => /gemini-(?:[3-9]|\d\d)/.test(id),
};

const FORMS: Readonly<Record<string, FormApi>> = {
  "openai-completions": CHAT,
  "openai-responses": RESPONSES,
  "azure-openai-responses": RESPONSES,
  "openai-codex-responses": RESPONSES,
  "anthropic-messages": ANTHROPIC,
  "google-generative-ai": GOOGLE,
  "google-vertex": GOOGLE,
};
