import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

// Another extension beside Belay's: a reader of its own, which numbers lines of `numbered.txt`; a redactor of what is read
// of `redacted.txt`; and a pruner of what was read of `pruned.txt`.

interface Block {
  type: "text";
  text: string;
}

export default function (pi: ExtensionAPI): void {
  pi.registerTool({
    name: "read",
    label: "read",
    description: "Read a file",
    parameters: Object({ type: "object", properties: { path: { type: "string" } }, required: ["path"] }),
    async execute(_id, params, _signal, _update, { cwd }) {
      const path: unknown = Reflect.get(Object(params), "path");
      const text = readFileSync(resolve(cwd, String(path)), "utf8");
      return { content: texts(String(path).includes("numbered") ? numbered(text) : text), details: {} };
    },
  });
  pi.on("tool_result", ({ input, content }) => {
    if (!String(input.path).includes("redacted")) return {};
    return {
      content: content.map((block) => (block.type === "text" ? { ...block, text: redacted(block.text) } : block)),
    };
  });
  pi.on("context", ({ messages }) => ({
    messages: messages.map((message) =>
      message.role === "toolResult" && JSON.stringify(message.content).includes("pruned.txt line")
        ? { ...message, content: texts("(pruned)") }
        : message,
    ),
  }));
}

const texts = (text: string): Block[] => [{ type: "text", text }];
const redacted = (text: string) => text.replaceAll(/secret-\w+/g, "[redacted]");

function numbered(text: string): string {
  return text
    .split("\n")
    .map((line, n) => `${n + 1}:${line}`)
    .join("\n");
}
