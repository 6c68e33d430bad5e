const { sources, ...rest } = stats();
result = { sources: sources.length, ...rest };
//=> {"result_json":{"sources":1,"chars":1563,"tokens":390,"docs":8,"context_hash":"a4d8708a2061a7c258a613437a113ff53018ba8ea741270454a87ef8ceade80d"}}
//---
stats(1);
//=> {"success":false,"error_message":"TypeError: stats takes no arguments"}
