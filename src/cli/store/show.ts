import { displayName } from "../../ids.ts";
import { RlmError } from "../../index.ts";
import { describeSession, type SessionDescription } from "../../session/index.ts";
import { LAST_SESSION } from "../../session-name.ts";
import type { ShowFlags } from "../commands/show.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { storeFolder } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { onlyName, showingFailures, withStore } from "./opened-store.ts";
import { showSession } from "./session-page.ts";
import { type Detail, detailOf, showCall, showExec } from "./show-exec.ts";

/** `belay show`: the execs, calls and checkpoints of one session. Gives the exit code. */
export function showCommand(args: Arguments, host: Host, own: ShowFlags): Promise<number> {
  const isNamed = args.positionals.length > 0;
  const name = isNamed ? onlyName(args, "show") : LAST_SESSION;
  return showingFailures(args, async ({ stdout, stderr }) => {
    const folder = storeFolder(args);
    const found = await withStore(folder, host, async (store) => {
      if (!isNamed && !(await store.list()).some(({ origin }) => origin !== "pi")) throw noSessionYet(folder);
      return describeSession(store, name);
    });
    if (!isNamed) stderr.write(`${displayName(found)} is the session changed last\n`, "dim");
    const detail = detailOf(own, found);
    if (args.get(JSON_OUTPUT)) stdout.writeRaw(`${JSON.stringify({ success: true, ...jsonOf(found, detail) })}\n`);
    else if (!detail) showSession(found, Date.now(), stdout);
    else if ("call" in detail) showCall(detail, displayName(found), stdout);
    else showExec(detail.exec, displayName(found), Date.now(), stdout);
  });
}

function noSessionYet(folder: string): RlmError {
  return new RlmError("session_not_found", `no session found in ${folder}`, {
    suggestion: "Make one: `belay exec FILE -c PATH --session NAME`.",
  });
}

function jsonOf(session: SessionDescription, detail: Detail | null): object {
  if (!detail) return { session };
  const { id, name } = session;
  return { session: { id, name }, ...("call" in detail ? { exec: detail.exec.number, call: detail.call } : detail) };
}
