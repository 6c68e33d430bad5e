//limits {"max_find_results":2}
const found = find("e");
[found.capped, found.matches.length];
//=> {"success":true,"result_json":[true,2],"warnings":["find_results_capped"],"limits_applied":{"max_find_results":2}}
//---
//limits {"max_find_results":3}
[find("FIXME|TODO|todo").capped, find("a").capped, find("e").capped];
//=> {"result_json":[false,true,true],"warnings":["find_results_capped"]}
//---
find("e").capped;
//=> {"result_json":false,"warnings":[]}
