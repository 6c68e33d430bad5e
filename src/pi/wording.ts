import { type Wording, worded } from "../../runtime/index.ts";
import { MODEL_CURES } from "../tools/index.ts";

export const PI: Wording = {
  ...MODEL_CURES,
  addRoot: "ask the user to add the folder to roots in belay.json",
  raiseMemory: "ask the user to raise memory_mb in belay.json",
  resume: "start Pi on this session again, which finishes it",
  discard: "go back to an earlier state with /rlm checkpoints",
  listSessions: "/rlm sessions lists those there are",
  listCheckpoints: "/rlm checkpoints lists them",
  keepSteps: "those within a call are not kept",
  fork: "pick an earlier state with /rlm checkpoints",
  removeSession: "ask the user to drop one with `npx belay-rlm rm *`",
  verify: "ask the user to run `npx belay-rlm doctor`",
  moreSubCalls: "ask the user to raise max_sub_calls in belay.json",
  renewSession: "load the context again with rlm_load, which begins the session's budget anew",
  raiseTokens: "ask the user to raise `max_tokens: *` in belay.json",
  raiseDollars: "ask the user to raise `max_cost_usd: *` in belay.json",
  anotherRun: "ask the user to begin another run",
  moreBudget: "ask the user to raise max_sub_calls, max_tokens, max_time_ms or max_cost_usd in belay.json",
  raiseDepth: "ask the user to raise max_depth in belay.json",
  raiseSpace: "ask the user to raise max_session_mb in belay.json",
  raiseContext: "ask the user to set `max_context_mb` to * in belay.json",
  folderStore: "load it with the command `belay`, whose store is in a folder",
  raiseFiles: "ask the user to set `max_files` to * in belay.json",
  beginAnew: "load the context again with rlm_load",
  removeHelper: "remove it with rlm_helpers_remove",
  addFlags: "ask the user to continue in the terminal, with `*`",
  nameModel: "choose a model with /model",
  nameModels: "ask the user to log in to its provider with /login (*)",
  nameServer: "add the server to Pi's models.json",
  setKeyOf: "set *",
  nameKey: "run /login",
  setKey: "log in to a provider with /login (*)",
  login: "run /login",
  tellPrice: "give it a cost in Pi's models.json",
  checkServer: "check the address in Pi's models.json",
  resendDoubtful: "ask the user to leave Pi and run `npx belay-rlm resume SESSION --resend-doubtful`",
  makeAllPhases: "ask the user to finish the run with the command",
  trustWorkflow: "ask the user to run `npx belay-rlm workflow * --trust`",
  lendAgent:
    "ask the user to add it to `agents` of belay's configuration, or to leave Pi and run `npx belay-rlm resume SESSION`",
  giveUpCalls: "ask the user to leave Pi and give the calls up with `npx belay-rlm rm SESSION --discard`",
};

/** A suggestion in the words of Pi: what its model or its user can do. */
export function inPi(suggestion: string): string {
  return worded(suggestion, PI);
}
