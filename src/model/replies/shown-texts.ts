import type { ModelRequest } from "../port.ts";

/** The texts that a request shows to the model: all but its own replies. */
export function shownTexts({ system, messages }: Pick<ModelRequest, "system" | "messages">): readonly string[] {
  const said = messages.flatMap((message) => (message.role === "assistant" ? [] : [message.text]));
  return system === null ? said : [system, ...said];
}
