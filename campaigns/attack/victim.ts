import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ATTACKS } from "./attacks.ts";
import { type Judging, runAttack } from "./run.ts";
import { openStage } from "./stage.ts";

// A process of its own for each attack: what earlier ones left in memory does not count, and who ends it is seen.

const { id, judging }: { id: string; judging: Judging } = JSON.parse(process.argv[2] ?? "{}");
const loose: string[] = [];
for (const event of ["uncaughtException", "unhandledRejection"])
  process.on(event, (error: unknown) => loose.push(`${event}: ${error}`));

const attack = ATTACKS.find((one) => one.id === id);
if (!attack) throw new Error(`there is no attack ${id}`);
const hostBytes = Math.max(judging.hostBytes, await warmUp());
const verdict = await runAttack(attack, { ...judging, hostBytes });
process.send?.({ ...verdict, fell: [...verdict.fell, ...loose] }, () => process.exit(0));

/**
 * Uses what sessions use, so that loading it counts neither as a delay nor as memory of the attack.
 * @returns bytes of the process while a session is open and does nothing
 */
async function warmUp(): Promise<number> {
  await using stage = openStage(judging);
  await stage.model(() => ({ text: "ok" }));
  const session = await stage.open({ store: join(stage.folder, "store"), session: "s" });
  writeFileSync(join(stage.folder, "a.txt"), "text");
  await stage.load(session, "a.txt");
  // V8 compiles the engine's interpreter once it is hot, and keeps the 11 MB that this takes.
  await stage.exec(session, 'for (let n = 0; n < 1e6; n++); await llm_query("q", { tools: [] })');
  return process.memoryUsage.rss();
}
