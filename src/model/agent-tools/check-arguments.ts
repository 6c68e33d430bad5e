import type { Json } from "../../../runtime/index.ts";
import { isJsonObject, type JsonObject } from "../schema/pointer.ts";
import { violations } from "../schema/schema.ts";

/** Arguments as a tool takes them. A null for an optional argument is left out, because many models pass one. `problems` say in words where they do not conform. */
export function checkArguments(parameters: JsonObject, given: { readonly [name: string]: Json }) {
  const required: Json = parameters.required ?? [];
  const properties = isJsonObject(parameters.properties) ? parameters.properties : {};
  const isLeftOut = (name: string, value: Json) =>
    value === null &&
    !(Array.isArray(required) && required.includes(name)) &&
    violations(properties[name] ?? true, null, parameters).length > 0;
  const args = Object.fromEntries(Object.entries(given).filter(([name, value]) => !isLeftOut(name, value)));
  return { args, problems: violations(parameters, args) };
}
