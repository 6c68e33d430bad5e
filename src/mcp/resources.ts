import { describeSession } from "../history/index.ts";
import { jsonText } from "../platform/visible.ts";
import { fitted } from "../tools/index.ts";
import type { Calls } from "./calls.ts";
import { SESSION_RESOURCE } from "./listed-resources.ts";
import { answerOfExec, statusOf } from "./status.ts";

const EXEC = /^belay:\/\/exec\/([0-9A-Za-z]+)$/;
const RESOURCE_BYTES = 1_000_000;
const EXECS_LISTED = 200;

/** The text of a resource; null if there is none at this address. @throws RlmError */
export async function readResource(uri: string, { connection, runner }: Calls): Promise<string | null> {
  const [, exec_id] = EXEC.exec(uri) ?? [];
  if (exec_id !== undefined) {
    const { answer } = await answerOfExec(connection, exec_id);
    return jsonText(
      fitted(answer, "The rest of it is in the store: the user has it with `belay show`.", RESOURCE_BYTES),
    );
  }
  if (uri !== SESSION_RESOURCE.uri) return null;
  const status = await statusOf(connection, runner);
  const { execs, checkpoints } = await describeSession(await connection.store(), status.session_id);
  const listed = execs.slice(-EXECS_LISTED).toReversed();
  return jsonText({
    ...status,
    checkpoints: checkpoints.length,
    execs: listed.map(({ exec_id, number, kind, input, status, error_code, time_ms, tokens, cost_usd, calls }) => {
      return { exec_id, number, kind, input, status, error_code, time_ms, tokens, cost_usd, sub_calls: calls.length };
    }),
  });
}
