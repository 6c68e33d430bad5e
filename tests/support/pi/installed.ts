import { mustRun } from "../../../scripts/process.ts";
import { envelopeOf, resultTo } from "./model.ts";
import { type PiLine, type PiPrinted, printPi } from "./process.ts";
import { exec, piScene } from "./scene.ts";
import { piTerminal } from "./terminal.ts";

/** Someone who has installed a package in Pi by its folder, and uses it for the first time. */
export interface NewUser extends AsyncDisposable {
  /** Has the model load a file, search it and ask a sub-call, in print mode. */
  prompt(): Promise<{ readonly prompt: string; readonly printed: PiPrinted; readonly envelope: object }>;
  /** What Pi shows in a terminal when it has started. */
  startScreen(): Promise<string>;
}

export async function newUserOf(line: PiLine, installed: string): Promise<NewUser> {
  const files = { "notes.txt": "TODO: the first\nTODO: the second\n" };
  const scene = await piScene(line, { files, piSettings: { quietStartup: false } });
  const { model, home } = scene;
  await mustRun(process.execPath, [line.command, "install", installed], { cwd: home.project, env: home.env });
  return {
    async prompt() {
      const prompt = model.plan(
        "count what is to do",
        { tool: "rlm_load", args: { path: home.project } },
        exec(`result = [find("TODO").matches.length, await llm_query("how many?", { tools: [] })]`),
      );
      const printed = await printPi(line, prompt, { home, extensions: [] });
      return { prompt, printed, envelope: envelopeOf(resultTo(model.turns().at(-1), prompt, 1)) };
    },
    async startScreen() {
      await using pi = piTerminal(line, { home });
      await pi.start();
      return await pi.until(/\[Extensions\]/);
    },
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}
