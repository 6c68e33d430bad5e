import type { Json } from "../../runtime/index.ts";
import { jsonOf } from "../platform/json.ts";

/** JSON Schema of a parameter: the words that the tools use of it. */
export interface ParameterSchema {
  readonly type?: "string" | "integer" | "boolean" | "array" | "object";
  readonly enum?: readonly string[];
  readonly anyOf?: readonly ParameterSchema[];
  readonly items?: ParameterSchema;
  readonly properties?: Readonly<Record<string, ParameterSchema>>;
  readonly required?: readonly string[];
  readonly default?: string | number;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** JSON Schema of a tool's arguments. */
export interface Parameters extends ParameterSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, ParameterSchema>>;
}

/**
 * JSON Schema of a parameter as programs get it: plain data of their own. It is a type and no interface, since only types go where a
 * framework's schema may have further words.
 */
export type ToolParameter = {
  type?: "string" | "integer" | "boolean" | "array" | "object";
  enum?: string[];
  items?: ToolParameter;
  properties?: { [name: string]: ToolParameter };
  required?: string[];
  default?: string | number;
  description?: string;
  minimum?: number;
  maximum?: number;
};

/** JSON Schema of a tool's arguments as programs get it. */
export type ToolParameters = {
  type: "object";
  properties: { [name: string]: ToolParameter };
  required: string[];
  /** Some frameworks ask for the word. A parameter that there is not is refused when the tool is called. */
  additionalProperties: true;
};

/** The type of the values that fit a schema; `unknown` for one without a type. */
export type Arguments<S> = S extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : S extends { readonly anyOf: readonly (infer Branch)[] }
    ? Arguments<Branch>
    : S extends { readonly type: "array"; readonly items: infer Item }
      ? readonly Arguments<Item>[]
      : S extends { readonly type: "object"; readonly properties: infer Properties }
        ? ObjectOf<Properties, S extends { readonly required: readonly (infer Name)[] } ? Name : never>
        : S extends { readonly type: infer Type extends keyof Simple }
          ? Simple[Type]
          : unknown;

interface Simple {
  readonly string: string;
  readonly integer: number;
  readonly boolean: boolean;
}

type ObjectOf<Properties, Required> = {
  readonly [Name in keyof Properties as Name extends Required ? Name : never]: Arguments<Properties[Name]>;
} & {
  readonly [Name in keyof Properties as Name extends Required ? never : Name]?: Arguments<Properties[Name]>;
};

/** A parameter that takes any JSON value. */
export const JSON_VALUE = { description: "any JSON value; a string stays a string" } as const;

/** A copy of a value as JSON; undefined if it is none: cyclic, nested too deep, with a BigInt or a getter that throws. */
export function plainJson(value: unknown): Json | undefined {
  try {
    return jsonOf(value);
  } catch {
    return undefined;
  }
}
