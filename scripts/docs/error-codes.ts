import type { ErrorCode } from "../../runtime/index.ts";

/** What each error code means and what cures it (RLM spec §8, then what this runtime adds). */
export const ERROR_CODE_NOTES: Readonly<Record<ErrorCode, { meaning: string; cure: string }>> = {
  context_not_loaded: {
    meaning: "The cell reads a context and none is loaded.",
    cure: "Load one first: `-c PATH` on the command line, `session.load(path)` in the library.",
  },
  path_outside_sandbox: {
    meaning: "The path, or what its symlink leads to, is not under an allowed root.",
    cure: "Use a path within the roots, or name the folder with `--root` (library: `roots`).",
  },
  path_not_found: {
    meaning: "The file or folder does not exist, or it cannot be read.",
    cure: "Check the spelling; relative paths start at the working directory.",
  },
  context_too_large: {
    meaning: "The context has too many files or bytes; the message has the numbers.",
    cure: "Load less, or leave files out with a .gitignore.",
  },
  js_error: {
    meaning: "The cell threw an error, or is not valid JavaScript.",
    cure: "Read the traceback, and change the cell.",
  },
  js_timeout: {
    meaning: "The cell ran longer than `max_execution_ms`.",
    cure: "Use find and search instead of loops over P, or raise the limit.",
  },
  sandbox_violation: {
    meaning: "The cell used `import`, `import()` or `require`.",
    cure: "Use the builtins: they are globals.",
  },
  budget_exceeded: {
    meaning: "The session's tokens, sub-calls or time are spent.",
    cure: "Finish, or load the context again, which begins a new budget.",
  },
  cancelled: {
    meaning: "The exec was cancelled from outside.",
    cure: "Run the cell again, or end the session.",
  },
  policy_violation: {
    meaning: "Policy does not allow it, such as a helper under a reserved name.",
    cure: "Leave it out, choose another name, or ask for approval.",
  },
  reentrancy_error: {
    meaning: "A sub-agent tried to use the runtime that runs it.",
    cure: "Restructure so that calls do not nest.",
  },
  helper_limit_exceeded: {
    meaning: "The helpers together would go over their limit.",
    cure: "Remove helpers that are no longer used: `helpers.remove(name)`.",
  },
  memory_limit_exceeded: {
    meaning: "The guest's heap or the memory is full; the message says which.",
    cure: "Delete keys (`memory.delete`, `memory.clear`), drop large variables, or raise `--memory-mb`.",
  },
  invalid_argument: {
    meaning: "An argument of the caller is out of range or of the wrong type.",
    cure: "Correct it as the message says.",
  },
  source_too_large: {
    meaning: "The source of a cell or helper is over its limit.",
    cure: "Keep data in the context or in memory, not in the source.",
  },
  machine_lost: {
    meaning: "The machine that ran the guest ended unexpectedly.",
    cure: "Run the cell again; a warning says what was lost.",
  },
  search_unavailable: {
    meaning: "The search index could not be written or opened.",
    cure: "Free space, or choose another folder; find works without an index.",
  },
  checkpoint_failed: {
    meaning: "The exec could not be recorded; no call was sent without a record.",
    cure: "Free space or check the store's folder.",
  },
  no_model_configured: {
    meaning: "No model is configured, or the one that was named is not known.",
    cure: "Name one: `--model PROVIDER/ID`, and `--base-url URL` for a server of your own.",
  },
  auth_expired: {
    meaning: "Pi's login for this provider has expired; Belay never refreshes it.",
    cure: "Run `pi` and `/login`, or set the provider's API key.",
  },
  invalid_config: {
    meaning: "A file, variable or setting cannot be used; the message names it.",
    cure: "Correct it as the message says.",
  },
  timeout: {
    meaning: "A sub-call took longer than its `timeout_ms`.",
    cure: "Ask for less, or raise `timeout_ms`.",
  },
  sub_agent_error: {
    meaning: "A sub-agent gave no answer, for instance within its turns.",
    cure: "Ask a smaller question, or with `tools: []`.",
  },
  empty_answer: { meaning: "The model answered with nothing.", cure: "Make the call again, or ask differently." },
  truncated_answer: {
    meaning: "The answer was cut at `max_tokens` (thinking included), or is too long.",
    cure: "Raise `max_tokens`, or ask for a shorter answer.",
  },
  window_full: {
    meaning: "The prompt and its answer have more tokens than the window of the model.",
    cure: "Send less in one call, or give the model a larger window: `-c` of llama-server, which its `-np` slots share, `num_ctx` of Ollama.",
  },
  content_filtered: {
    meaning: "The provider refused or filtered the answer.",
    cure: "Ask differently, or use another model.",
  },
  rate_limited: {
    meaning: "The provider limits requests for longer than the call may take.",
    cure: "Make the call again later, or lower the concurrency.",
  },
  provider_error: {
    meaning: "The provider failed: no connection, a broken answer, a server error.",
    cure: "Check `--base-url` and the network, and make the call again.",
  },
  auth_failed: { meaning: "The provider refused the key.", cure: "Check the key of the provider." },
  no_credit: {
    meaning: "The provider refuses calls until somebody pays: the account has no credit, or no plan.",
    cure: "Check the plan and the credit at the provider. A run pauses, and its line goes on with it.",
  },
  schema_mismatch: {
    meaning: "The answer did not fit `schema`, also after one repair.",
    cure: "Simplify the schema, or describe it in the prompt. Ask for figures of more than 15 digits as texts.",
  },
  not_awaited: {
    meaning: "The cell ended before this call was awaited.",
    cure: "Await every call: `await Promise.all(calls)`.",
  },
  session_closed: {
    meaning: "The session was closed before the call.",
    cure: "Open another session.",
  },
  process_restarted: {
    meaning: "The process ended during this call, and it was not to be sent again.",
    cure: "Catch it, and make the call again or go on without it.",
  },
  checkpoint_not_found: {
    meaning: "No checkpoint of the session, or more than one, fits this id.",
    cure: "`belay show SESSION` lists them.",
  },
  checkpoint_lost: {
    meaning: "A checkpoint is missing, damaged, of another build, or does not fit its records.",
    cure: "Use `--discard`, fork an earlier checkpoint, or load the context again.",
  },
  context_lost: {
    meaning: "The store has lost the context, and its sources are gone or have changed.",
    cure: "Restore the sources, or load the context again.",
  },
  context_changed: {
    meaning: "The sources of `-c` are not those that the session has loaded.",
    cure: "`--reload` begins anew with them, `--append` adds what is new or changed; or leave `-c` out.",
  },
  exec_running: {
    meaning: "An exec of this session still runs in the MCP server, and no other can begin.",
    cure: "Call `rlm_wait` for its answer, or with `discard: true` to give it up.",
  },
  exec_unfinished: {
    meaning: "The session has an exec that was interrupted.",
    cure: "Finish it with `belay resume SESSION`, or give it up with `--discard` on the next `belay exec -s SESSION`.",
  },
  session_not_found: {
    meaning: "No session has this name or id.",
    cure: "`belay sessions` lists them; `--store` names another folder.",
  },
  session_exists: { meaning: "A session with this name already exists.", cure: "Choose another name, or continue it." },
  session_busy: {
    meaning: "Another process has the session open.",
    cure: "Wait for that process, or end it; the message names its pid.",
  },
  worktrees_changed: {
    meaning: "Agents of a workflow have changed something in worktrees of the session that is to be dropped.",
    cure: "Take over what you want of them, such as with git; `belay rm SESSION --discard` drops them too.",
  },
  store_failed: {
    meaning: "The store could not be read or written.",
    cure: "Free space, check permissions, or use `--store` or `--no-store`.",
  },
  store_full: {
    meaning: "The session would take more space in the store than it may. The state is as before.",
    cure: "Drop variables that are not needed, raise `--max-session-mb`, or begin another session; `belay rm SESSION` drops one.",
  },
  store_corrupt: {
    meaning: "A row does not have its checksum, or SQLite cannot read the file.",
    cure: "`belay doctor` names the damage; move the file away to begin anew.",
  },
  store_too_new: {
    meaning: "The store was written by a newer Belay.",
    cure: "Update Belay, or name another folder with `--store`.",
  },
  settings_untrusted: {
    meaning: "Another user recorded the session's settings, or its store has moved.",
    cure: "Type the flags that the message names.",
  },
  no_match: {
    meaning: "A query found no section that helps to answer the question.",
    cure: "Use words of the context, raise `--max-sections` (library: `maxSections`), or explore with a cell.",
  },
  no_answer: {
    meaning: "The model of an ask gave no usable answer: its turns are spent, or its replies failed.",
    cure: "Ask a narrower question, raise `--max-turns`, or name another model; `belay show` has its turns.",
  },
  depth_exceeded: {
    meaning: "A sub-call with a context of its own would go deeper than the session allows.",
    cure: "Call without `context`, or raise `max_depth` (`--depth`).",
  },
  object_not_found: {
    meaning: "No document of this branch's conversation or context has this id.",
    cure: "Find the text with `rlm_search`: each hit has the id of its object.",
  },
  object_ambiguous: {
    meaning: "The beginning of an id fits several objects; the message names them.",
    cure: "Give more digits, or the id of the document.",
  },
  declined: {
    meaning: "The user did not allow that models read so many texts. Nothing was sent.",
    cure: "Read fewer texts at a time, or raise `confirm_calls` in `belay.json`.",
  },
  lease_lost: {
    meaning: "Another process took the session over after this one was silent for too long.",
    cure: "Nothing was lost: the other process goes on. Read the session again.",
  },
  run_differs: {
    meaning: "A run of this name has another script, model, limits or contexts.",
    cure: "Choose another name, or submit the same as before.",
  },
  run_not_found: { meaning: "The store has no run of this name.", cure: "`belay jobs` lists the runs." },
  job_crashed: {
    meaning: "The processes that tried the job died again and again.",
    cure: "Check the job's use of memory, then `belay jobs retry RUN ID`.",
  },
  host_incompatible: {
    meaning: "The host lacks a function of Pi; the message names it.",
    cure: "Update the host, or use a Pi that [pi.md](pi.md) names.",
  },
  answer_lost: {
    meaning: "A provider batch ran the request and it was paid for, but the provider no longer keeps the answer.",
    cure: "`--retry-failed` asks again, and pays again.",
  },
  waits_for_provider: {
    meaning: "The exec is not over: all that is left waits for a provider batch.",
    cure: "`belay resume SESSION` goes on when the answers are there.",
  },
  otlp_failed: {
    meaning: "A collector did not take the spans that `belay show --otlp URL` sent.",
    cure: "Check the URL and `OTEL_EXPORTER_OTLP_HEADERS`; `belay show SESSION --otlp FILE` keeps the spans.",
  },
  document_unreadable: {
    meaning:
      "No text could be made of a document: it is a scan, encrypted, damaged, too slow to read, or of a kind that is not read.",
    cure: "The suggestion has a line to type, if a program can help.",
  },
  search_too_large: {
    meaning: "The index for search would take more disk than its limit.",
    cure: "`find` needs no index; or load fewer files.",
  },
  function_failed: {
    meaning: "A function of the program threw, or its result is no JSON or larger than 1 MB.",
    cure: "Look at the message: it is the function's own.",
  },
  function_missing: {
    meaning: "A cell calls a function that the program does not lend, or an interrupted exec has called it.",
    cure: "Pass the function to `openSession` again, or discard the exec.",
  },
  output_failed: {
    meaning: "The result could not be written to its file; the exec is not over.",
    cure: "`belay resume SESSION --output FILE` writes it to another one.",
  },
};
