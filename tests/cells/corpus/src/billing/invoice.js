// TODO: round half even
class InvoiceParser {
  parseInvoiceTotal(lines) {
    return lines.reduce((sum, line) => sum + line.amount, 0);
  }
}

class InvoiceError extends Error {}

function formatInvoice(invoice) {
  return `${invoice.id}: ${invoice.total}`;
}
