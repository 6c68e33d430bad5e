const { matches, capped } = find("TODO|FIXME|HACK", "i");
print(`Found ${matches.length} items (capped: ${capped})`);
const samples = matches.slice(0, 10).map(([s, e]) => peek(Math.max(0, s - 3), e + 12));
result = { total_count: matches.length, analyzed: samples.length, samples };
result_meta = { capped };
//=> {"success":true,"stdout":"Found 3 items (capped: false)\n","result_meta":{"capped":false},
//   "result_json":{"total_count":3,"analyzed":3,"samples":["// todo: expire tok","// TODO: round half","// FIXME: retry only"]}}
