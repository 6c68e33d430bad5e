// flags: --max-execution-ms 1500
// fails: js_timeout
// A cell that comes back from its calls and then never ends.
const ask = (text) => llm_query(text, { tools: [] });
const answers = [await ask("timeout: one"), await ask("timeout: two")];
print("answers:", answers.length);
memory.put("answers", answers);
for (;;) {}
