export function toQuery(values: Record<string, string | number | undefined>): string {
  // React Native's `URLSearchParams` has neither `size` nor every method.
  const query = Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(`${value}`)}`);
  return query.length > 0 ? `?${query.join('&')}` : '';
}
