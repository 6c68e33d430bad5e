// FIXME: retry only what is idempotent
const MAX_RETRIES = 3;

async function chargeCustomer(customer_id, amount) {
  for (let attempt = 1; attempt <= MAX_RETRIES; attempt++) {
    try {
      return await gateway.charge(customer_id, amount);
    } catch (error) {
      if (!error.retriable) throw error;
    }
  }
  throw new Error("payment failed");
}
