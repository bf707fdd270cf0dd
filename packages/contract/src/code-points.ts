/** Characters as the contract counts them: an emoji is one, not the two of `text.length`. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
