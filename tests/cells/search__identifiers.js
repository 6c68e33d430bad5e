[search("parseInvoiceTotal")[0].start, search("invoiceparser").length, search("customer")[0].start, search("verify token")[0].start];
//=> {"result_json":[909,1,1207,551]}
