import { parentPort } from "node:worker_threads";
import { channelOfPort, type Json, serveCaller } from "../../../runtime/index.ts";
import { findInDocuments } from "../../context/index.ts";
import { isRecord } from "../../platform/json.ts";
import { type ReadableRoots, readOnlyTools, type ToolAnswer } from "../agent-tools/index.ts";
import { readValue } from "../replies/value-in-text.ts";
import type { JsonObject } from "../schema/compare.ts";
import { placeholderFor } from "../schema/placeholder.ts";
import { checkSchema, violations } from "../schema/schema.ts";

/**
 * Work whose time a model, a guest or a file decides: it runs in the thread of `thread-entry.ts`,
 * which can be ended. Arguments and answers are sent between threads, so they are plain data.
 */
const TASKS = {
  /** Answers once the thread has loaded its modules. */
  begin: () => null,
  /** Runs one of the read-only tools. */
  tool: runTool,
  /** Finds a pattern in documents. */
  find: findInDocuments,
  /** Compares a tool's arguments with its parameters. */
  arguments: checkArguments,
  /** Throws why a schema is refused. */
  schema: checkSchema,
  /** Takes the value out of an answer. */
  value: readValue,
  /** Makes a value for a dry run. */
  placeholder: placeholderFor,
};

/**
 * Arguments as a tool takes them. A null for an optional argument is left out, because many models
 * pass one. `problems` say in words where they do not conform.
 */
function checkArguments(parameters: JsonObject, given: { readonly [name: string]: Json }) {
  const required: Json = parameters.required ?? [];
  const properties = isRecord(parameters.properties) ? parameters.properties : {};
  const isLeftOut = (name: string, value: Json) =>
    value === null &&
    !(Array.isArray(required) && required.includes(name)) &&
    violations(properties[name] ?? true, null, parameters).length > 0;
  const args = Object.fromEntries(Object.entries(given).filter(([name, value]) => !isLeftOut(name, value)));
  return { args, problems: violations(parameters, args) };
}

export type Tasks = typeof TASKS;
export type TaskName = keyof Tasks;

type TaskArguments = { [Name in TaskName]: Parameters<Tasks[Name]> };

/** The host's request to the thread. */
type TaskRequest<Name extends TaskName = TaskName> = {
  [One in Name]: { readonly name: One; readonly args: TaskArguments[One] };
}[Name];

/** Carries out a request. */
function perform<Name extends TaskName>({ name, args }: TaskRequest<Name>): unknown {
  const tasks: { readonly [One in TaskName]: (...args: TaskArguments[One]) => unknown } = TASKS;
  return tasks[name](...args);
}

async function runTool(
  readable: ReadableRoots,
  name: string,
  args: { readonly [name: string]: Json },
): Promise<ToolAnswer> {
  const tool = readOnlyTools(readable).find((one) => one.name === name);
  if (tool === undefined) throw new Error(`the tool ${name} does not exist`);
  return await tool.run(args, NEVER);
}

/** An abort ends the whole thread. */
const NEVER = new AbortController().signal;

// The thread of `task-thread.ts`: carries out one task at a time, and is ended when one takes too
// long.
serveCaller<TaskRequest, unknown>(channelOfPort(parentPort), { answer: perform });
