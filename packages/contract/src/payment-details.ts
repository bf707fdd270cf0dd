/** The extras of a `PAYMENT_REQUIRED` error; existing clients read the claim ids under either of the older names. */
export function toPaymentDetails(claimIds: readonly string[]) {
  return { claimIds, claims: claimIds, outstandingClaims: claimIds };
}
