import type { Wording } from "../../runtime/index.ts";

/** The words of the server: what a client's model can do, or can ask its user for. */
export const MCP: Wording = {
  load: "load one with rlm_load",
  addRoot: "ask the user to add `--root DIR` to the arguments of this server",
  raiseMemory: "ask the user to add `--memory-mb N` to the arguments of this server",
  raiseTime: "raise max_execution_ms in limits_override",
  resume: "call rlm_wait, which finishes it",
  discard: "give it up with rlm_wait and discard: true",
  listSessions: "rlm_status lists those of this folder",
  listCheckpoints: "`belay show *` lists them",
  keepSteps: "those within a call are kept with `--keep-steps`",
  fork: "ask the user to make a copy with `belay fork *`",
  removeSession: "`belay rm *` drops one",
  verify: "ask the user to run `belay doctor`",
  moreSections: "let more sections be read with max_sections",
  fewerSections: "ask again with a smaller max_sections",
  moreSubCalls: "ask the user to add `--max-sub-calls N` to the arguments of this server",
  renewSession:
    "rlm_load with reset: true, or rlm_wait with another session, begins anew; the user can raise `--max-session-budgets N` among the arguments of this server",
  raiseTokens: "ask the user to add `--max-tokens *` to the arguments of this server",
  raiseDollars: "ask the user to add `--max-cost-usd *` to the arguments of this server",
  anotherRun: "ask the user to begin another run",
  moreBudget:
    "ask the user for a larger budget: `--max-sub-calls N` and its like among the arguments of this server; each call has the whole of it",
  raiseDepth: "ask the user to add `--depth N` to the arguments of this server",
  giveFunction: "ask the user to go on in the program that lends `*`",
  raiseSpace: "ask the user to add `--max-session-mb N` to the arguments of this server",
  beginAnew: "go over to a new session with rlm_wait and session: NAME, or load the context again with rlm_load",
  removeHelper: "remove it in a cell with helpers.remove(*)",
  nameModel:
    "ask the user to put `--model PROVIDER/ID` into the arguments of this server, and the variable of its key into its `env`",
  nameModels: "ask the user to add `--models *` to the arguments of this server",
  nameServer: "ask the user to put `--base-url URL` into the arguments of this server",
  nameKey:
    "ask the user to put the variable of the key into the `env` of this server's entry, or name another with `--api-key-env NAME`",
  tellPrice: "ask the user to add `--price IN/OUT` to the arguments of this server",
  checkServer: "ask the user to check `--base-url`",
  sendNow: 'pass delivery: "now"',
  resendDoubtful: "ask the user to run `belay resume SESSION --resend-doubtful`",
  giveUpCalls: "ask the user to give the calls up with `belay rm SESSION --discard`",
  thenLoad: "then load `*` with rlm_load",
  ownConverter: "ask the user to name a converter in `convert` in ~/.belay/config.json",
  correctConverter: "ask the user to correct `convert.*` in ~/.belay/config.json",
  nameEncoding: 'name its encoding in rlm_load, such as encoding: "*"',
  readLossily: "pass latin1 if nothing tells, which takes every byte",
};
