import { RlmError } from "../../index.ts";
import { displayName } from "../../platform/ids.ts";
import { LAST_SESSION } from "../../platform/session-name.ts";
import { shownPlace } from "../../platform/store-place.ts";
import { jsonText } from "../../platform/visible.ts";
import {
  describeSession,
  type SessionDescription,
  sessionNamed,
  type TextBounds,
  withBoundedTexts,
} from "../../session/index.ts";
import type { ShowFlags } from "../commands/show.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { damageError, outcomeOf, passedOver } from "../render/damage.ts";
import { showFailure } from "../render/failure.ts";
import { sessionMeant } from "./job-session.ts";
import { onlyName, showingFailures, withStore } from "./opened-store.ts";
import { showSession } from "./session-page.ts";
import { type Detail, detailOf, showCall, showExec } from "./show-exec.ts";

/** `belay show`: the execs, calls and checkpoints of one session. Gives the exit code: 1 also if some of it is damaged. */
export async function showCommand(args: Arguments, host: Host, own: ShowFlags): Promise<number> {
  const isNamed = args.positionals.length > 0;
  const name = isNamed ? onlyName(args, "show") : LAST_SESSION;
  let isWhole = true;
  const code = await showingFailures(args, async (terminal) => {
    const { stdout, stderr } = terminal;
    const place = storePlace(args);
    const found = await withStore(place, host, async (store) => {
      const meant = await sessionNamed(store, await sessionMeant(store, name), passedOver(stderr)).catch(
        (error: unknown) => {
          const isNone = !isNamed && error instanceof RlmError && error.code === "session_not_found";
          throw isNone ? noSessionYet(shownPlace(place)) : error;
        },
      );
      const children = own.all || args.get(JSON_OUTPUT) ? ALL_CHILDREN : CHILDREN;
      return describeSession(store, meant.id, { children, partly: true });
    });
    if (!isNamed) stderr.write(`${displayName(found)} is the session changed last\n`, "dim");
    const damage = damageError(damagedIn(found));
    isWhole = damage === null;
    // An exec or call that is named may be one that cannot be read.
    if (damage && !args.get(JSON_OUTPUT)) showFailure(damage, terminal);
    const detail = detailOf(own, found);
    if (args.get(JSON_OUTPUT)) stdout.writeRaw(`${jsonText({ ...outcomeOf(damage), ...jsonOf(found, detail) })}\n`);
    else if (!detail) showSession(found, { now: Date.now(), all: own.all === true }, stdout);
    else if ("call" in detail) showCall(detail, displayName(found), Date.now(), stdout);
    else showExec(detail.exec, displayName(found), Date.now(), stdout);
  });
  return isWhole ? code : 1;
}

/** What is damaged of the session, and of those that answer its calls. */
function damagedIn({ damaged = [], execs }: SessionDescription): string[] {
  const below = execs.flatMap(({ calls }) => calls.map(({ child }) => child?.description ?? null));
  return [...damaged, ...below.flatMap((child) => (child ? damagedIn(child) : []))];
}

/** How many sessions are described that answer calls: each is read from the store. */
const CHILDREN = 50;
const ALL_CHILDREN = 1000;

function noSessionYet(store: string): RlmError {
  return new RlmError("session_not_found", `no session found in ${store}`, {
    suggestion: "Make one: `belay exec FILE -c PATH --session NAME`.",
  });
}

function jsonOf(session: SessionDescription, detail: Detail | null): object {
  if (!detail) return { session: withBoundedTexts(session) };
  const { id, name } = session;
  if ("call" in detail) return { session: { id, name }, exec: detail.exec.number, call: detail.call };
  const [exec] = withBoundedTexts({ ...session, execs: [detail.exec] }, WHOLE_TEXTS).execs;
  return { session: { id, name }, exec };
}

/** An exec that is named is whole, unless it would not fit into one string of JavaScript. */
const WHOLE_TEXTS: TextBounds = { each: Number.MAX_SAFE_INTEGER, all: 128 * 2 ** 20, little: 200 };
