// Errors caught across an await: of sub-calls, of the cell, in finally, with a cause.
const ask = (text) => llm_query(text, { tools: [] });
const log = [];
async function attempt(name) {
  try {
    log.push(await ask(`errors: ${name}; refuse`));
  } catch (error) {
    log.push([name, error.name, error.code, error.message, error.retriable]);
    print("caught", name);
    const cure = await ask(`errors: cure for ${name}`);
    throw new Error(cure, { cause: error });
  } finally {
    log.push(`finally ${name}: ${await ask(`errors: finally ${name}`)}`);
  }
}
const kept = [];
for (const name of ["first", "second"]) {
  try {
    await attempt(name);
  } catch (error) {
    kept.push(error);
    console.error("kept", error.message);
  }
}
const later = ask("errors: nobody looks yet; refuse");
const between = await ask("errors: between");
const late = await later.catch((error) => error.code);
try {
  null.property;
} catch (error) {
  kept.push(error);
}
await ask("errors: last");
result = { log, between, late, kept: kept.map(({ name, message, cause }) => [name, message, cause?.code ?? null]) };
