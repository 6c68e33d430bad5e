const before = help("peek").length > 0;
help = 5;
[before, help];
//=> {"success":true,"result_json":[true,5],"warnings":["builtin_shadowed: help"]}
//---
delete globalThis.help;
//=> {"success":true,"result_json":true}
//---
typeof help;
//=> {"success":true,"result_json":"function","warnings":[]}
//---
{
  const help = 1;
}
((help) => help)(1);
typeof help;
//=> {"success":true,"result_json":"function","warnings":[]}
