/**
 * A model that is asked again after its instance died says again what was already streamed. As long as it repeats it word
 * for word, nothing is streamed; from the first difference on, its new text follows whole, after `separator`.
 */
export function skipSent(said: string, separator: string, emit: (delta: string) => void): (delta: string) => void {
  let repeated = '';
  let left = said;
  return (delta) => {
    if (left === '') {
      emit(delta);
      return;
    }
    const common = left.startsWith(delta) ? delta : delta.startsWith(left) ? left : undefined;
    if (common === undefined) {
      left = '';
      emit(separator + repeated + delta);
      return;
    }
    repeated += common;
    left = left.slice(common.length);
    if (delta.length > common.length) emit(delta.slice(common.length));
  };
}
