import { expect, test } from "vitest";
import { showDryRun } from "../../../src/cli/render/envelope.ts";
import type { DryRun, ExecEnvelope } from "../../../src/index.ts";
import { recorded } from "./recorded.ts";

const ENVELOPE: ExecEnvelope = {
  ...{ success: true, session_id: "s", exec_id: "e", stdout: "printed with placeholders\n", stderr: "" },
  ...{ result_json: "placeholder answer", result_meta: null, truncated: false, warnings: ["unawaited_sub_calls: 1"] },
  execution_time_ms: 1,
  limits_applied: { max_output_bytes: 1, max_execution_ms: 1, max_find_results: 1, max_result_bytes: 1 },
  ...{ tool_override_events: [], budget: { remaining_tokens: 1, remaining_sub_calls: 1, remaining_time_ms: 1 } },
  ...{ resumed: 0, replayed_sub_calls: 0 },
};

/** What is written to stdout and stderr. */
function shown(estimate: DryRun["estimate"], envelope: ExecEnvelope = ENVELOPE): [string, string] {
  const [stdout, stderr] = [recorded(), recorded()];
  showDryRun({ envelope, estimate }, { stdout: stdout.output, stderr: stderr.output });
  return [stdout.text(), stderr.text()];
}

const flat = { children: 0, child_sub_calls: 0, unpriced: 0, uncounted: 0 };
const two = { ...flat, sub_calls: 2, input_tokens: 3000, max_output_tokens: 8192, max_requests: 20, cost_usd: 0.132 };
const one = { ...flat, sub_calls: 1, input_tokens: 10, max_output_tokens: 100, max_requests: 1, cost_usd: 0 };

test("an estimate has a line for each site and one for all, and not what the cell made of placeholders", () => {
  const sites = [
    { site: "<cell 1>:3", ...two },
    { site: "<cell 1>:12", ...one },
  ];
  const all = { ...flat, sub_calls: 3, input_tokens: 3010, max_output_tokens: 8292, max_requests: 21, cost_usd: 0.132 };
  expect(shown({ ...all, sites, partial: false })).toEqual([
    `<cell 1>:3   2 sub-calls  ~3.0k tokens in  up to 8.2k out  up to ~$0.132
<cell 1>:12  1 sub-call   ~10 tokens in    up to 100 out   price not known
all          3 sub-calls  ~3.0k tokens in  up to 8.3k out  up to ~$0.132
of first requests: with all turns of sub-agents and repairs there may be up to 21 requests
`,
    "warning: 1 sub-call ended with the cell before an answer came; await every call\n",
  ]);
  expect(shown({ ...one, sites: sites.slice(1), partial: false })[0].split("\n")).toHaveLength(2);
});

test("calls with a context of their own are counted apart, since what they take is not known before", () => {
  const nothing = { sub_calls: 2, input_tokens: 0, max_output_tokens: 0, max_requests: 0, cost_usd: 0 };
  const children = { ...flat, ...nothing, children: 2, child_sub_calls: 13 };
  const sites = [
    { site: "<cell 1>:3", ...two },
    { site: "<cell 1>:12", ...children },
  ];
  expect(shown({ ...two, sub_calls: 4, children: 2, child_sub_calls: 13, sites, partial: false })[0]).toBe(
    `<cell 1>:3   2 sub-calls  ~3.0k tokens in   up to 8.2k out  up to ~$0.132
<cell 1>:12  2 sub-calls  not known before
all          4 sub-calls  ~3.0k tokens in   up to 8.2k out  up to ~$0.132
of first requests: with all turns of sub-agents and repairs there may be up to 20 requests
not in these figures: 2 calls with a context of their own, with up to 13 further sub-calls; what they take depends on what their models find
`,
  );
});

test("agents without a price are named", () => {
  const sites = [{ site: "Find", ...one, unpriced: 1, uncounted: 0 }];
  expect(shown({ ...one, unpriced: 1, uncounted: 0, sites, partial: false })[0]).toContain(
    "not in these figures: the dollars of 1 call of an agent; max_usd in the entry of an agent says what one may cost",
  );
});

test("a cell that threw has an estimate of what came before, and its error", () => {
  const failed: ExecEnvelope = {
    ...ENVELOPE,
    ...{ success: false, error_code: "js_error", error_message: "TypeError: no", error_name: "TypeError", line: 1 },
    ...{ column: 1, traceback: "TypeError: no\n    at <cell 1>:1:1", suggestion: "Guard it.", warnings: [] },
  };
  const nothing = { ...flat, sub_calls: 0, input_tokens: 0, max_output_tokens: 0, max_requests: 0, cost_usd: 0 };
  expect(shown({ ...nothing, sites: [], partial: true }, failed)).toEqual([
    "no sub-calls\npartial: the cell did not come to its end, so the real run may take more\n",
    "TypeError: no\n    at <cell 1>:1:1\nsuggestion: Guard it.\n",
  ]);
});
