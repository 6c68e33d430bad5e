let help;
[typeof help, delete globalThis.help];
//=> {"result_json":["undefined",false],"warnings":["builtin_shadowed: help"]}
