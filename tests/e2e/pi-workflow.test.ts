import { join } from "node:path";
import { expect, vi } from "vitest";
import { readWorkflow, trustWorkflow } from "../../src/workflow/index.ts";
import { doing, scriptedAgent, startsIn } from "../support/agents/agents.ts";
import { TEST_EXTENSION } from "../support/command.ts";
import { envelopeOf, resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { NEWEST_PI, type Pi, printPi } from "../support/pi/process.ts";
import { piScene } from "../support/pi/scene.ts";

/** A prompt that is a script of a command goes to the user's agent, others to Pi's model. */
const SCRIPT = `export const meta = { name: "audit", description: "looks", phases: [{ title: "Find" }] };
phase("Find");
const options = (one) => (one.startsWith("{") ? { agentType: "first" } : { tools: [] });
return await parallel(args.map((one) => () => agent(one, options(one))));`;

const SAVED = ".belay/workflows/audit.js";

played(
  NEWEST_PI,
  "a workflow asks Pi's model and an agent of the user's, which is allowed once, and started once though Pi is killed, left and ended",
  async (line) => {
    const settings = { agents: { first: scriptedAgent() } };
    await using scene = await piScene(line, { files: { [SAVED]: SCRIPT }, settings });
    const { model, home, start } = scene;
    const log = join(home.belay, "log");
    const env = { BELAY_AGENT_LOG: log };
    const begin = (prompt: string, ...args: readonly string[]) =>
      model.plan(prompt, { tool: "rlm_workflow", args: { name: "audit", args } });
    const told = (prompt: string) => envelopeOf(resultTo(model.turns().at(-1), prompt));
    const isBegun = (agents: number, call: string) =>
      vi.waitFor(() => expect([startsIn(log).size, model.subCalls().includes(call)]).toEqual([agents, true]), 30_000);
    const questions = ({ events }: Pi) => events.filter(({ method }) => method === "confirm").map(({ title }) => title);
    const allow = async (pi: Pi) => {
      const { id } = await pi.until(({ method }) => method === "confirm");
      pi.send({ type: "extension_ui_response", id, confirmed: true });
    };
    const QUESTION = "A workflow wants to run the agent first";

    const first = start(undefined, env);
    await first.prompt(begin("not trusted", "one"));
    expect(told("not trusted")).toMatchObject({
      error_code: "policy_violation",
      suggestion: expect.stringContaining(`npx belay-rlm workflow ${join(home.project, SAVED)} --trust`),
    });
    const saved = join(home.project, SAVED);
    const places = { cwd: home.project, home: home.project, belayHome: home.belay };
    trustWorkflow(places, { file: saved, isTrusted: false, script: readWorkflow(SCRIPT, saved) });
    void allow(first);
    await first.prompt(begin("trusted", "one", doing({ says: "a" }), doing({ says: "b" })));
    expect(told("trusted")).toMatchObject({ success: true, result_json: ["answer to one", "a", "b"] });
    expect(questions(first)).toEqual([QUESTION]);
    const file = await first.sessionFile();

    const hold = model.hold("slow");
    first.send({ type: "prompt", message: begin("is killed", "slow", doing({ ms: 4000, says: "c" })) });
    await isBegun(3, "slow");
    await first.kill();
    hold.release();
    const second = start(file, env);
    await second.prompt(model.plan("after the kill"));
    expect(told("is killed")).toMatchObject({ success: true, result_json: ["answer to slow", "c"] });
    // It had been allowed.
    expect(questions(second)).toEqual([]);

    const held = model.hold("later");
    void allow(second);
    second.send({ type: "prompt", message: begin("is left", "later", doing({ ms: 500, says: "d" })) });
    await isBegun(4, "later");
    await second.ask("new_session");
    held.release();
    await second.until(({ method, message }) => method === "notify" && String(message).includes("its result waits"));
    await second.ask("switch_session", { sessionPath: file });
    await second.prompt(model.plan("after the return"));
    expect(told("is left")).toMatchObject({ success: true, result_json: ["answer to later", "d"] });

    // Pi loads the extension anew for each session that it goes to.
    const from = second.events.length;
    second.send({ type: "prompt", message: begin("is ended", "last", doing({ ms: 4000, says: "e" })) });
    const { id } = await second.until(({ method }) => method === "confirm", from);
    second.send({ type: "extension_ui_response", id, confirmed: true });
    await isBegun(5, "last");
    process.kill(second.pid, "SIGTERM");
    await second.ended;
    const options = { home, extensions: [TEST_EXTENSION], session: file, env };
    const printed = await printPi(line, model.plan("after the end"), options);
    expect(printed, printed.stderr).toMatchObject({ code: 0, stdout: "done: after the end\n" });
    expect(told("is ended")).toMatchObject({ success: true, result_json: ["answer to last", "e"] });
    expect([...startsIn(log).values()]).toEqual([1, 1, 1, 1, 1]);
    const errors = [first, second].flatMap(({ events }) => events.filter(({ type }) => type === "extension_error"));
    expect(errors).toEqual([]);
  },
);
