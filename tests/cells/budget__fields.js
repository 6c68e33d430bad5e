const left = budget();
[left.tokens, left.sub_calls, left.time_ms > 0, left.time_ms <= 300000, left.time_ms === left.remaining_time_ms];
//=> {"result_json":[500000,50,true,true,true],"budget":{"remaining_tokens":500000,"remaining_sub_calls":50}}
//---
let began = budget().time_ms;
for (let i = 0, from = Date.now(); Date.now() - from < 30; i++);
began - budget().time_ms >= 25;
//=> {"result_json":true}
