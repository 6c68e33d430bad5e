peek(0, 24);
//=> {"result_json":"\n===== AGENTS.md =====\n#"}
//---
[0, 1, 300, 311, 350, 1562].every((at) => peek(at, at + 40) === P.slice(at, at + 40));
//=> {"result_json":true}
