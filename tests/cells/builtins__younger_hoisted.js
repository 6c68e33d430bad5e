if (false) {
  var help = 1;
}
typeof help;
//=> {"success":true,"result_json":"undefined","warnings":["builtin_shadowed: help"]}
