import * as v from "valibot";
import type { HistoryMessage } from "../../context/index.ts";
import { memoize } from "../../platform/memoize.ts";
import type { BranchEntry } from "../externalize/message.ts";

/** A message as Pi has it, as far as it is looked at. */
const RawSchema = v.looseObject({
  role: v.string(),
  content: v.optional(v.unknown()),
  toolCallId: v.exactOptional(v.string()),
});

/**
 * The messages that a branch has, raw, from its root to its leaf: those that a compaction summed up
 * are among them, and the compaction's own summary is not.
 */
export function messagesOn(entries: readonly BranchEntry[]) {
  return entries.flatMap((entry) => messageOn(entry) ?? []);
}

/** The message of an entry, raw: the same object each time. */
export const messageOn = memoize((entry: BranchEntry): Readonly<v.InferOutput<typeof RawSchema>> | null => {
  switch (entry.type) {
    case "message":
      return v.is(RawSchema, entry.message) ? entry.message : null;
    case "custom_message":
      return { role: "custom", content: entry.content };
    case "branch_summary":
      return { role: "branchSummary", content: entry.summary };
    default:
      return null;
  }
});

/**
 * A message of Pi as history has it: its text as models read it, without thinking. Returns null for
 * what is not a message, for what models are not sent, and for the system's messages, which later
 * versions keep on the branch and always send.
 */
export function historyMessage(message: unknown): HistoryMessage | null {
  const read = v.safeParse(MessageSchema, message);
  if (!read.success) return null;
  const { role, toolName, content, summary, excludeFromContext } = read.output;
  if (excludeFromContext || role === "system") return null;
  const said = role === "bashExecution" ? bashText(read.output) : summary;
  const blocks = content ?? [{ type: "text", text: said } as const];
  return {
    role,
    tool: role === "toolResult" ? toolName : null,
    text: blocks.flatMap((block) => (block?.type === "text" ? [block.text] : [])).join("\n"),
    calls: blocks.flatMap((block) => (block?.type === "toolCall" ? [{ name: block.name, args: block.arguments }] : [])),
    images: blocks.flatMap((block) =>
      block?.type === "image" ? [{ type: block.mimeType, bytes: Math.floor((block.data.length * 3) / 4) }] : [],
    ),
  };
}

const text = v.fallback(v.string(), "");

const BlockSchema = v.variant("type", [
  v.object({ type: v.literal("text"), text }),
  v.object({ type: v.literal("toolCall"), name: text, arguments: v.optional(v.unknown()) }),
  v.object({ type: v.literal("image"), data: text, mimeType: v.fallback(v.string(), "image") }),
]);

/** Thinking, for example, is null. */
const ContentSchema = v.union([
  v.pipe(
    v.string(),
    v.transform((given) => [{ type: "text", text: given } as const]),
  ),
  v.array(v.fallback(v.nullable(BlockSchema), null)),
]);

const MessageSchema = v.object({
  role: v.string(),
  toolName: v.fallback(v.string(), "tool"),
  content: v.fallback(v.optional(ContentSchema), undefined),
  /** The text of a summary. */
  summary: text,
  /** A command that the user ran. */
  command: text,
  output: text,
  exitCode: v.fallback(v.nullable(v.number()), null),
  cancelled: v.fallback(v.boolean(), false),
  truncated: v.fallback(v.boolean(), false),
  fullOutputPath: text,
  /** The user ran it with `!!`: no model is to see it. */
  excludeFromContext: v.fallback(v.boolean(), false),
});

/** The text that Pi sends for a command (its `bashExecutionToText`). */
function bashText(ran: v.InferOutput<typeof MessageSchema>): string {
  const { command, output, exitCode, cancelled, truncated, fullOutputPath } = ran;
  const head = `Ran \`${command}\`\n${output === "" ? "(no output)" : `\`\`\`\n${output}\n\`\`\``}`;
  const failed = exitCode !== null && exitCode !== 0 ? `\n\nCommand exited with code ${exitCode}` : "";
  const end = cancelled ? "\n\n(command cancelled)" : failed;
  const rest = truncated && fullOutputPath !== "" ? `\n\n[Output truncated. Full output: ${fullOutputPath}]` : "";
  return head + end + rest;
}
