const help = "mine";
help;
//=> {"success":true,"result_json":"mine","warnings":["builtin_shadowed: help"]}
//---
help;
//=> {"success":true,"result_json":"mine","warnings":[]}
//---
const help = 2;
const answer = help * 21;
answer;
//=> {"success":true,"result_json":42,"warnings":["builtin_shadowed: answer"]}
//---
session().helpers;
//=> {"success":true,"result_json":[]}
