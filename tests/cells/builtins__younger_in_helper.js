helpers.add("mine", "const help = () => 'mine'; const call = () => help();");
typeof help("peek");
//=> {"success":true,"result_json":"string","warnings":[]}
//---
[help(), call()];
//=> {"success":true,"result_json":["mine","mine"],"warnings":["builtin_shadowed: help"]}
//---
[help(), helpers.remove("mine")];
//=> {"success":true,"result_json":["mine",true],"warnings":[]}
//---
help("peek").split("\n")[0];
//=> {"success":true,"result_json":"function peek(start: number, end: number): string"}
