// Stands in for `readLines` of deno.land/std 0.186, the one thing that dspy's runner takes from there: the rest comes from npm.

/** The lines of a reader of Deno, without their ends. */
export async function* readLines(reader) {
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(65536);
  let rest = "";
  for (let read = await reader.read(bytes); read !== null; read = await reader.read(bytes)) {
    const lines = (rest + decoder.decode(bytes.subarray(0, read), { stream: true })).split("\n");
    rest = lines.pop();
    yield* lines;
  }
  if (rest !== "") yield rest;
}
