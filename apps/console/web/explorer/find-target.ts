/** The page of the explorer that shows what a text names; undefined for what may be a name. */
export function findTarget(text: string): string | undefined {
  const value = text.trim();
  const to = (page: string, name: string) => `/explorer?page=${page}&${name}=${encodeURIComponent(value)}`;
  if (/^did:[a-z0-9]+:\S+$/.test(value)) return to('entities', 'id');
  if (/^\d{1,15}$/.test(value)) return to('block', 'id');
  if (/^[0-9a-f]{64}$/i.test(value)) return to('tx', 'id');
  if (/^[a-z]{1,20}1[02-9ac-hj-np-z]{38,58}$/.test(value)) return to('account', 'id');
  // Claims are named by the CID of what they state.
  if (/^(?:bafy|bafk|Qm|z)[a-zA-Z0-9]{20,100}$/.test(value)) return to('claim', 'id');
  return undefined;
}
