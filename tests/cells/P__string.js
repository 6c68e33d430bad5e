[typeof P, P.length, P === P, P.startsWith("\n===== AGENTS.md =====\n"), P.at(-1), `${P.slice(0, 6)}`];
//=> {"result_json":["string",1563,true,true,"\n","\n====="]}
//---
let units = 0;
for (const character of P) units += character.length;
units === P.length;
//=> {"result_json":true}
//---
[P.match(/TODO/g).length, P.split("\n").length - 1, P.indexOf("検索"), P.codePointAt(P.indexOf("😀"))];
//=> {"result_json":[1,66,293,128512]}
