// The server is busy at first: the call is sent again, by the same process or by the next.
const ask = (text) => llm_query(text, { tools: [] });
const before = await ask("retried: before");
const answers = await Promise.all([ask("retried: one; busy once"), ask("retried: two")]);
print(answers.length);
result = { before, answers, after: await ask("retried: after") };
