[search("検索")[0].text.includes("検索"), search("façade").length, search("facade").length, search("문서").length];
//=> {"result_json":[true,1,1,1]}
