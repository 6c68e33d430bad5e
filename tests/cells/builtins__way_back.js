const expected = count("TODO");
//=> {"success":true}
//---
const count = 5;
[count, builtins.count("TODO") === expected, Object.keys(builtins).includes("find"), builtins.find === find]
//=> {"result_json":[5,true,true,true],"warnings":["builtin_shadowed: count"]}
//---
function answer() {}
builtins.answer(1);
builtins.peek(0, 1).length
//=> {"result_json":1,"warnings":["builtin_shadowed: answer"]}
//---
let refused = [];
for (const change of [() => delete builtins.count, () => (builtins.count = 1), () => (builtins.more = 1)]) change();
[typeof builtins.count, typeof builtins.more]
//=> {"result_json":["function","undefined"]}
//---
const builtins = "mine";
builtins
//=> {"result_json":"mine","warnings":["builtin_shadowed: builtins"]}
