const codes = {};
for (const name of ["__proto__", "__secret", "find", "P", "result", "result_meta", "Map", "undefined", "memory", "rlm_memory_put", "print", "class", "await", "eval", "1st", "", "a b", "../x", "x".repeat(65)]) {
  try {
    helpers.add(name, "const ok = 1;");
    codes[name || "empty"] = "added";
  } catch (error) {
    if (error.code !== "policy_violation") codes[name || "empty"] = error.code;
  }
}
[codes, helpers.list()];
//=> {"result_json":[{},[]]}
//---
helpers.add("find", "const ok = 1;");
//=> {"success":false,"error_code":"policy_violation","suggestion":"/another name/"}
//---
for (const name of ["ok", "$", "_x", "with-dash", "x".repeat(64)]) helpers.add(name, "const ok = 1;");
helpers.list().length;
//=> {"result_json":5}
//---
helpers.add("help", "const ok = 1;");
helpers.list().at(-1).name;
//=> {"success":true,"result_json":"help","warnings":[]}
