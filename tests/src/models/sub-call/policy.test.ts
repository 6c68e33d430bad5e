import { expect, test } from "vitest";
import { READ_TOOLS } from "../../../../src/models/agent-tools/index.ts";
import { decideTools } from "../../../../src/models/sub-call/policy.ts";

type ToolPolicy = Parameters<typeof decideTools>[1];

const READ_NAMES = READ_TOOLS.map(({ name }) => name);

const POLICY: ToolPolicy = {
  ...{ prompt: "Fix it.", grantable: [{ name: "shell" }, { name: "write_file" }] },
  ...{ allowed_tool_overrides: ["shell"], require_approval: false },
};

test("the default set, plain completions and Pi's names need no policy and leave no event", async () => {
  const granted = async (requested?: readonly string[]) => decideTools(requested, POLICY);
  expect(await granted()).toEqual({ ok: true, granted: READ_NAMES, event: null });
  expect(await granted([])).toEqual({ ok: true, granted: [], event: null });
  const readers = ["read_file", "glob", "list_dir", "grep"];
  expect(await granted(["read", "find", "ls", "grep", "grep"])).toEqual({ ok: true, granted: readers, event: null });
});

test("an allowed tool is granted beside default ones, and logged", async () => {
  expect(await decideTools(["read", "shell"], POLICY)).toEqual({
    ok: true,
    granted: ["read_file", "shell"],
    event: {
      ...{ builtin: "llm_query", requested_tools: ["read", "shell"], granted_tools: ["read_file", "shell"] },
      ...{ denied_tools: [], reason: "allowed by policy" },
    },
  });
});

test("one denied tool denies the call: the event of the spec's example", async () => {
  const decision = await decideTools(["shell", "write_file"], POLICY);
  const error = { code: "policy_violation", retriable: false };
  expect(decision).toMatchObject({ ok: false, error });
  expect(decision.event).toEqual({
    ...{ builtin: "llm_query", requested_tools: ["shell", "write_file"], granted_tools: ["shell"] },
    ...{ denied_tools: ["write_file"], reason: "write_file not in allowed_tool_overrides policy" },
  });
});

test("what the host does not have cannot be granted, even if policy allows it", async () => {
  const decision = await decideTools(["bash"], { ...POLICY, allowed_tool_overrides: ["bash"] });
  expect(decision).toMatchObject({ ok: false, event: { reason: "bash is not a tool that this host can lend" } });
});

test("shell and write_file are names of what Pi lends, in calls and in the policy", async () => {
  const grantable = [{ name: "bash" }, { name: "write" }, { name: "edit" }];
  const policy = { ...POLICY, grantable, allowed_tool_overrides: ["shell", "write"] };
  expect(await decideTools(["shell", "write_file", "bash"], policy)).toMatchObject({
    ok: true,
    granted: ["bash", "write"],
    event: { requested_tools: ["shell", "write_file", "bash"], granted_tools: ["bash", "write"] },
  });
});

test("a refusal lists what can be lent", async () => {
  const suggestionOf = async (grantable: ToolPolicy["grantable"]) => {
    const decision = await decideTools(["apply_patch"], { ...POLICY, grantable });
    return decision.ok ? "" : decision.error.suggestion;
  };
  expect(await suggestionOf([{ name: "bash" }, { name: "edit" }])).toBe(
    `Leave out tools (default: ${READ_NAMES.join(", ")}). This host can also lend bash, edit, if the user's allowed_tool_overrides names them.`,
  );
  expect(await suggestionOf([])).toBe(
    `Leave out tools (default: ${READ_NAMES.join(", ")}). This host lends no others.`,
  );
});

test.each(["rlm_exec", "rlm_load", "RLM_Exec", "llm_query", "llm_query_batch", "rlm_query"])(
  "%s is a reentrancy error, whatever the policy says",
  async (name) => {
    const policy = { ...POLICY, grantable: [{ name }], allowed_tool_overrides: [name] };
    const decision = await decideTools([name], policy);
    expect(decision).toMatchObject({ ok: false, event: { denied_tools: [name] }, error: { code: "reentrancy_error" } });
  },
);

test("approval is asked once, with what is beyond the default set", async () => {
  const asked: unknown[] = [];
  const policy = {
    ...POLICY,
    require_approval: true,
    approve: async (request: unknown) => {
      asked.push(request);
      return true;
    },
  };
  const event = { reason: "allowed by policy and approved" };
  expect(await decideTools(["grep", "shell"], policy)).toMatchObject({ ok: true, event });
  expect(asked).toEqual([{ builtin: "llm_query", tools: ["shell"], prompt: "Fix it." }]);
  expect(await decideTools(["shell", "write_file"], policy)).toMatchObject({ ok: false });
  expect(await decideTools(["grep"], policy)).toMatchObject({ ok: true });
  expect(asked).toHaveLength(1);
});

test("an approval that is refused, fails or cannot be asked for denies", async () => {
  const decide = (approve?: () => Promise<boolean>) =>
    decideTools(["shell"], { ...POLICY, require_approval: true, ...(approve ? { approve } : {}) });
  const event = { granted_tools: [], denied_tools: ["shell"], reason: "shell was not approved" };
  expect(await decide(async () => false)).toMatchObject({ ok: false, event });
  expect(await decide(() => Promise.reject(new Error("closed")))).toMatchObject({
    event: { reason: "shell was not approved: closed" },
  });
  expect(await decide()).toMatchObject({ event: { reason: "shell needs approval, and nobody can be asked" } });
});
