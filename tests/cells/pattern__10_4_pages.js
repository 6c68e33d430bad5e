const { matches, capped } = find("error|exception|fail", "i");
const page_size = 3;
const page = 0;
const items = matches.slice(page * page_size, (page + 1) * page_size).map(([s, e]) => ({ start: s, end: e, text: peek(s, e) }));
result = { items };
result_meta = {
  page,
  page_size,
  total_items: matches.length,
  has_more: matches.length > (page + 1) * page_size,
  find_capped: capped,
};
//=> {"success":true,"result_meta":{"page":0,"page_size":3,"total_items":10,"has_more":true,"find_capped":false},
//   "result_json":{"items":[{"start":459,"end":464,"text":"error"},{"start":664,"end":669,"text":"Error"},{"start":857,"end":861,"text":"fail"}]}}
