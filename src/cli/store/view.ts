import { RlmError } from "../../index.ts";
import { amount, size } from "../../platform/figures.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { shownPlace, withoutPasswords } from "../../platform/store-place.ts";
import { version } from "../../platform/version.ts";
import { jsonText } from "../../platform/visible.ts";
import { figuresOf, fileOf, isReplaceable, lookAt, pageSource, serveView, type Trace } from "../../view/index.ts";
import type { ViewFlags } from "../commands/view.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { damageError, outcomeOf } from "../render/failure.ts";
import type { Terminal } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";
import { onSignals } from "../stop.ts";
import { openBrowser } from "./browser.ts";
import { sessionAsked, showingDamage, withStore } from "./opened-store.ts";

const MAX_MB = 32;
/** The page holds texts of a session: it is its owner's alone. */
const MODE = 0o600;

/** ms without a visitor after which the server ends. */
const IDLE = 3_600_000;

/** `belay view`: a session as a page. Gives the exit code: 1 also if some of the session is damaged. */
export function viewCommand(args: Arguments, host: Host, own: ViewFlags): Promise<number> {
  const [name, against] = sessionsAsked(args);
  const { output } = own;
  if (output !== undefined && output !== "-") checkReplaced(output);
  const maxBytes = (own.maxMb ?? MAX_MB) * 2 ** 20;
  const tracing = { texts: !own.noTexts, maxBytes, belay: version() };
  return showingDamage(args, async (terminal, tell) => {
    const place = storePlace(args);
    await withStore(place, host, async (store) => {
      const { id } = await sessionAsked(store, name, shownPlace(place), terminal.stderr).catch(
        async (error: unknown) => {
          throw name !== null && (await store.jobs.run(name)) ? ofJobs(name) : error;
        },
      );
      const other =
        against === null ? null : (await sessionAsked(store, against, shownPlace(place), terminal.stderr)).id;
      if (output === undefined && !args.get(JSON_OUTPUT)) {
        await serve({ ...{ store, id, other, tracing, source: await pageSource() }, ...SERVER }, own, terminal, tell);
        return;
      }
      const { trace, damaged } = await lookAt(store, id, { ...tracing, now: Date.now() }, other);
      const damage = damageError(damaged);
      tell(damage);
      if (output === undefined) printFigures(trace, damage, terminal);
      else await writePage(output, trace, terminal);
    });
  });
}

/** The session and the one that it is compared with; null: the one changed last, and none. @throws UsageError for more */
function sessionsAsked(args: Arguments): readonly [name: string | null, other: string | null] {
  const [name = null, other = null, ...more] = args.positionals;
  if (more.length === 0) return [name, other];
  throw new UsageError(
    "view takes a session, and one to compare it with",
    commandLine(["view", `${name}`, `${other}`]),
  );
}

/** The error for a run: each of its jobs has a session, and a page. */
function ofJobs(run: string): RlmError {
  return new RlmError("session_not_found", `${run} is a run, and no session`, {
    suggestion: `\`belay view ${run}/ID\` shows one of its jobs, and \`belay jobs ${run}\` lists them.`,
  });
}

const SERVER = {
  now: Date.now,
  wording: ({ message, suggestion }: RlmError) => withoutPasswords(`${message}. ${inFlags(suggestion)}`),
  idleMs: IDLE,
};

/** Serves the page until a signal or the end of an idle hour. */
async function serve(
  serving: Parameters<typeof serveView>[0],
  own: ViewFlags,
  { stdout, stderr }: Terminal,
  tell: (damage: RlmError | null) => void,
): Promise<void> {
  const served = await serveView(serving);
  using _signals = onSignals(served.close);
  tell(damageError(served.damaged));
  stdout.write(`${served.url}\n`);
  stderr.write("Whoever has this address sees the session. Ctrl-C ends it.\n", "dim");
  using _opened = own.noOpen || !stdout.isTerminal ? null : openBrowser(served.url);
  await served.ended;
}

function printFigures(trace: Trace, damage: RlmError | null, { stdout }: Terminal): void {
  stdout.writeRaw(`${jsonText({ ...outcomeOf(damage), trace: figuresOf(trace) })}\n`);
}

async function writePage(output: string, trace: Trace, { stdout, stderr }: Terminal): Promise<void> {
  const pieces = fileOf(trace, await pageSource());
  if (output === "-") {
    for (const piece of pieces) stdout.writeRaw(piece);
    return;
  }
  const bytes = await writeResultFile(output, pieces, String(process.pid), MODE);
  const { calls, texts, cut_texts, redacted } = trace.head;
  const facts = [amount(calls, "sub-call"), size(bytes)];
  if (texts === "none") facts.push("texts left out");
  else facts.push(texts === "all" ? "texts included" : `${amount(cut_texts, "text")} cut`);
  if (redacted > 0) facts.push(`${amount(redacted, "key")} redacted`);
  const warning = " It holds prompts, answers and passages of P; --no-texts leaves them out.";
  stderr.write(`${output}: ${facts.join(", ")}.${texts === "none" ? "" : warning}\n`);
}

/** @throws UsageError for a file that is there and was not written by this command */
function checkReplaced(path: string): void {
  if (isReplaceable(path)) return;
  throw new UsageError(`${path} is there, and is no page of belay view`, commandLine(["view", "-o", "trace.html"]));
}
