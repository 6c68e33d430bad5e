const before = typeof help;
function help() {
  return "mine";
}
[before, help()];
//=> {"success":true,"result_json":["function","mine"],"warnings":["builtin_shadowed: help"]}
