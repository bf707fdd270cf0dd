export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && startsWithBytes(left, right);
}

export function startsWithBytes(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let index = 0; index < prefix.length; index += 1) if (bytes[index] !== prefix[index]) return false;
  return true;
}
