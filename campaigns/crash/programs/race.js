// Promise.race: the loser is answered only once the winner's answer has led to another call.
const ask = (text) => llm_query(text, { tools: [] });
const rounds = [];
for (const round of [1, 2, 3]) {
  const loser = ask(`race: slow ${round}; until race: release ${round}`);
  const winner = await Promise.race([loser, ask(`race: fast ${round}`)]);
  print(`round ${round}:`, winner);
  const release = await ask(`race: release ${round}`);
  rounds.push({ winner, release, loser: await loser });
  console.error(`round ${round} over`);
}
const never = new Promise(() => {});
result = { rounds, last: await Promise.race([never, ask("race: against nothing")]) };
